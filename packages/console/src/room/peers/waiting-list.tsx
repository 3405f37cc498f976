// Waiting list: the peers that wait to be admitted to the room, and whether later ones wait.
import type { Peer } from '../../../../server-sdk/src/generated/schemas.ts';
import { CopyCurl } from '../../components/copy-curl.tsx';
import { FormProblem } from '../../components/page-title.tsx';
import { pluralize } from '../../format.ts';
import { useReadOnlyReason, useSessionContext } from '../../hooks/console-context.ts';
import { useAction } from '../../hooks/use-action.ts';
import { RequestButton } from '../components/request-button.tsx';
import type { LiveRoom } from '../use-room.ts';
import { peerName, UserText } from './names.tsx';

/** Number of shown peers; the others move up. */
const maxShown = 100;

export function WaitingList({ peers, live }: { peers: readonly Peer[]; live: LiveRoom }) {
  const { requests, refresh } = live;
  const action = useAction();
  if (peers.length === 0) return null;
  return (
    <section className="waiting" aria-label="Waiting to join" data-testid="waiting-list">
      <header className="waiting-line">
        <h2>{pluralize(peers.length, 'participant')} waiting</h2>
        <RequestButton
          request={requests.admitWaiting()}
          what="admit all waiting participants"
          action={action}
          onDone={refresh}
          testId="admit-all"
        >
          Admit all
        </RequestButton>
      </header>
      <ul>
        {peers.slice(0, maxShown).map((peer) => (
          <li key={peer.id} className="waiting-line" data-testid="waiting-peer" data-name={peerName(peer)}>
            <span className="entry-name">
              <UserText>{peerName(peer)}</UserText>
            </span>
            <RequestButton
              request={requests.admit(peer.id)}
              what={`admit ${peerName(peer)}`}
              action={action}
              onDone={refresh}
              className="button small primary"
              testId="admit"
            >
              Admit
            </RequestButton>
            <RequestButton request={requests.deny(peer.id)} what={`deny ${peerName(peer)}`} action={action} onDone={refresh} testId="deny">
              Deny
            </RequestButton>
          </li>
        ))}
      </ul>
      {peers.length > maxShown && <p className="empty">And {peers.length - maxShown} more.</p>}
      <FormProblem problem={action.problem} testId="waiting-problem" />
    </section>
  );
}

/** Whether peers that connect from now on wait. Unchecking it admits those who wait. */
export function AdmissionChoice({ live }: { live: LiveRoom }) {
  const { api } = useSessionContext();
  const refusal = useReadOnlyReason();
  const action = useAction();
  const { room, requests, refresh } = live;
  if (!room) return null;
  const manual = room.config.admission === 'manual';
  const changed = requests.setAdmission(manual ? 'automatic' : 'manual');
  const change = async () => {
    await action.run(() => api.send(changed));
    refresh();
  };
  return (
    <div className="waiting-line">
      <label className="tick">
        <input
          type="checkbox"
          data-testid="manual-admission"
          checked={manual}
          aria-disabled={refusal !== undefined || action.busy}
          title={refusal}
          onChange={() => {
            if (refusal === undefined && !action.busy) void change();
          }}
        />
        New participants wait to be admitted
      </label>
      <CopyCurl request={changed} what={manual ? 'admit all participants from now on' : 'let new participants wait'} compact />
      <FormProblem problem={action.problem} testId="admission-problem" />
    </div>
  );
}
