// The room itself beside its stream, as it is now: as a peer that watches, sends nothing and makes no sound.
import type { RoomSession } from '../call/room-session.ts';
import { TileGrid } from '../call/tile-grid.tsx';
import { ActionButton } from '../components/action-button.tsx';
import { CopyCurl } from '../components/copy-curl.tsx';
import { tileOfComponent, tilesOf } from '../components/room-view.tsx';
import { useStore } from '../hooks/store.ts';
import { tabId } from '../hooks/tab-storage.ts';
import { useObserverSession } from './use-observer-session.ts';

const name = 'Console, watching';
const options = { permissions: { publish: [], subscribe: true, data: false } };

/** @param incarnation undefined while there is no such room: what was watched of it is watched again when it is made anew. */
export function LiveRoomPanel({ roomId, incarnation }: { roomId: string; incarnation: string | undefined }) {
  const body = { type: 'webrtc', options, metadata: { name }, externalId: `console-watch-${tabId()}` };
  const path = `room/${encodeURIComponent(roomId)}/peer`;
  const { call, wanted, problem, start, stop } = useObserverSession({ roomId, incarnation, name, path, body });
  if (incarnation === undefined && !wanted) return null;
  return (
    <section className="live-side" aria-label="The room now">
      <header className="live-head">
        <h2>The room now</h2>
        <span className="call-button">
          {/* One button: who turned the room on by keyboard stays on what turns it off. */}
          <ActionButton
            className="button small"
            data-testid={wanted ? 'live-leave' : 'live-join'}
            aria-expanded={wanted}
            onClick={wanted ? stop : start}
          >
            {wanted ? 'Hide' : 'Show'}
          </ActionButton>
          {!wanted && <CopyCurl call={{ method: 'POST', path, body }} what="join as a peer that only watches" compact />}
        </span>
      </header>
      {problem && (
        <p className="problem" role="alert" data-testid="live-problem">
          {problem}
        </p>
      )}
      {call && <LiveTiles call={call} />}
      {!call && wanted && (
        <p className="note" role="status" data-testid="live-status">
          {incarnation === undefined ? 'The room has ended. When it is made anew, it is shown here again.' : 'Joining…'}
        </p>
      )}
      {!wanted && (
        <p className="faint">
          Shows those in the room beside the stream, without its delay. You join as a peer called &ldquo;{name}&rdquo; that sends nothing.
        </p>
      )}
    </section>
  );
}

function LiveTiles({ call }: { call: RoomSession }) {
  const state = useStore(call);
  const { phase, endsAt } = state;
  const shown = state.components.filter(({ tracks }) => tracks.length > 0);
  const nobody = state.people.length === 0 && shown.length === 0;
  return (
    <>
      {phase !== 'joined' && (
        <p className="note" role="status" data-testid="live-status">
          {phase === 'joining' ? 'Joining…' : 'Connection to the server lost, trying again…'}
        </p>
      )}
      {endsAt && (
        <p className="note" role="status" data-testid="live-ends-at">
          The server goes away: this room ends at {endsAt.toLocaleTimeString()} at the latest.
        </p>
      )}
      {phase === 'joined' && nobody && <p className="faint">Nobody else is in the room.</p>}
      <div className="live-tiles">
        <TileGrid>
          {shown.map((component) => tileOfComponent(component, call, true))}
          {state.people.flatMap((person) => tilesOf(person, call, state.activeSpeaker, true))}
        </TileGrid>
      </div>
    </>
  );
}
