// Peer card: quality of one participant; expanded with stats, tracks, permissions and moderation.
import { memo, useState } from 'react';
import type { Peer, PeerStats } from '../../../../server-sdk/src/generated/schemas.ts';
import { FactList } from '../../components/fact-list.tsx';
import { Badge, FormProblem } from '../../components/page-title.tsx';
import { pluralize } from '../../format.ts';
import { type Action, useAction } from '../../hooks/use-action.ts';
import { ConfirmedRequest } from '../components/confirmed-request.tsx';
import { RequestButton } from '../components/request-button.tsx';
import { Chart } from '../stats/chart.tsx';
import { bitrateText, shareText, timeText } from '../stats/format-stats.ts';
import { kept, type PeerHistory, worse } from '../stats/stats-history.ts';
import type { LiveRoom } from '../use-room.ts';
import { peerName, UserText } from './names.tsx';
import { PeerPermissions } from './peer-permissions.tsx';
import { QualityMark } from './quality.tsx';
import { TrackList } from './track-list.tsx';

export type PeerCardProps = { peer: Peer; stats: PeerStats | undefined; history: PeerHistory; live: LiveRoom };

export const PeerCard = memo(function PeerCard({ peer, stats, history, live }: PeerCardProps) {
  const [open, setOpen] = useState(false);
  const name = peerName(peer);
  return (
    <li className="entry" data-testid="peer" data-peer={peer.id} data-name={name}>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary className="entry-line">
          <span className="entry-name">
            <UserText>{name}</UserText>
          </span>
          {peer.status === 'connected' ? <QualityMark quality={stats?.quality ?? 'unknown'} /> : <Badge>Not connected</Badge>}
          <span className="entry-facts" data-testid="peer-facts">
            <Facts peer={peer} stats={stats} />
          </span>
        </summary>
        {open && <PeerBody peer={peer} name={name} stats={stats} history={history} live={live} />}
      </details>
    </li>
  );
});

function Facts({ peer, stats }: { peer: Peer; stats: PeerStats | undefined }) {
  if (peer.status !== 'connected') return 'Invited, not connected';
  if (!stats) return pluralize(peer.tracks.length, 'track');
  const { up, down } = stats;
  return (
    <>
      <span>↑ {bitrateText(up?.bitrate)}</span>
      <span>↓ {bitrateText(down?.bitrate)}</span>
      <span title="Round trip">{timeText(worse(up?.roundTrip, down?.roundTrip))}</span>
      <span>{shareText(worse(up?.loss, down?.loss))} lost</span>
    </>
  );
}

function PeerBody({ peer, name, stats, history, live }: PeerCardProps & { name: string }) {
  const action = useAction();
  return (
    <div className="entry-body">
      {peer.status === 'connected' && (
        <div className="charts">
          <Chart label="Sends" values={history.up} capacity={kept} format={bitrateText} minScale={100_000} testId="chart-up" />
          <Chart label="Receives" values={history.down} capacity={kept} format={bitrateText} minScale={100_000} testId="chart-down" />
          <Chart label="Loss" values={history.loss} capacity={kept} format={shareText} minScale={0.05} testId="chart-loss" />
          <Chart label="Round trip" values={history.roundTrip} capacity={kept} format={timeText} minScale={50} testId="chart-round-trip" />
        </div>
      )}
      <FactList
        facts={[
          ['ID', <code key="id">{peer.id}</code>],
          ['External ID', peer.externalId === null ? undefined : <UserText key="external">{peer.externalId}</UserText>],
          ['Transport', stats && transportOf(stats)],
        ]}
      />
      <TrackList tracks={peer.tracks} originName={name} stats={stats?.published} received={stats?.received} live={live} action={action} />
      <PeerPermissions peer={peer} name={name} live={live} action={action} />
      <Metadata value={peer.metadata} />
      <StatusAction peer={peer} name={name} live={live} action={action} />
      <FormProblem problem={action.problem} testId="action-problem" />
      <RemovePeer peer={peer} name={name} live={live} />
    </div>
  );
}

/** A participant without a connection is admitted, and a connected one is moved, in a room with media. */
function StatusAction({ peer, name, live, action }: Pick<PeerCardProps, 'peer' | 'live'> & { name: string; action: Action }) {
  const common = { action, onDone: live.refresh };
  const moves = peer.status === 'connected' && (live.room?.legs ?? []).length > 0;
  const admits = peer.status === 'disconnected' && !peer.admitted;
  if (!moves && !admits) return null;
  return (
    <div className="entry-end">
      {admits ? (
        <RequestButton {...common} request={live.requests.admit(peer.id)} what={`admit ${name} in advance`} testId="admit-early">
          Admit in advance
        </RequestButton>
      ) : (
        <RequestButton {...common} request={live.requests.move(peer.id)} what={`move to another media worker: ${name}`} testId="move-peer">
          Move to another media worker
        </RequestButton>
      )}
    </div>
  );
}

/** Transport protocol, state and available bandwidth. */
function transportOf({ up, down }: PeerStats): string {
  const link = down ?? up;
  if (!link) return 'No media connection yet';
  const protocol = { udp: 'UDP', tcp: 'TCP', relay: 'Relay (TURN)' };
  const state = up?.state === 'failed' || down?.state === 'failed' ? 'failed' : link.state;
  const room = down?.available ? `${bitrateText(down.available)} available downstream` : undefined;
  return [link.protocol ? protocol[link.protocol] : undefined, state, room].filter((each) => each !== undefined).join(', ');
}

/** Metadata of the application, unchanged. */
function Metadata({ value }: { value: unknown }) {
  if (value === null || value === undefined) return null;
  return (
    <details className="raw">
      <summary>Metadata</summary>
      {/* Scrollable, so it must be reachable by keyboard. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: see above */}
      <pre dir="ltr" tabIndex={0} data-testid="metadata">
        {JSON.stringify(value, undefined, 2)}
      </pre>
    </details>
  );
}

function RemovePeer({ peer, name, live: { requests, refresh } }: { peer: Peer; name: string; live: LiveRoom }) {
  return (
    <ConfirmedRequest
      request={requests.removePeer(peer.id)}
      what={`remove ${name}`}
      button="Remove from the room"
      testId="remove-peer"
      title="Remove this participant?"
      confirm="Remove"
      onDone={refresh}
    >
      <p>
        <UserText>{name}</UserText> will be disconnected immediately and its token becomes invalid.
      </p>
    </ConfirmedRequest>
  );
}
