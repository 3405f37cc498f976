// Live room panel: shows the room next to its stream through an observer peer that sends no media; its audio is not played.

import { operationRequest } from '../api/operation-request.ts';
import { ActionButton } from '../components/action-button.tsx';
import { CopyCurl } from '../components/copy-curl.tsx';
import { FormProblem } from '../components/page-title.tsx';
import { useStore } from '../hooks/store.ts';
import { tabId } from '../hooks/tab-storage.ts';
import { hasTile, remoteTiles } from '../session/remote-tiles.tsx';
import type { RoomSession } from '../session/room-session.ts';
import { TileGrid } from '../session/tile-grid.tsx';
import { useObserverSession } from './use-observer-session.ts';

const name = 'Console, watching';
const options = { permissions: { publish: [], subscribe: true, data: false } };

export type LiveRoomPanelProps = {
  roomId: string;
  /** Undefined while the room does not exist; an observed room is joined again when it is recreated. */
  incarnation: string | undefined;
  /** True if the room has manual admission: the observer does not wait. */
  manual: boolean;
};

export function LiveRoomPanel({ roomId, incarnation, manual }: LiveRoomPanelProps) {
  const request = operationRequest('addPeer', {
    path: { roomId },
    body: { type: 'webrtc', options, metadata: { name }, externalId: `console-watch-${tabId()}`, ...(manual && { admitted: true }) },
  });
  const { session, wanted, problem, start, stop } = useObserverSession({ roomId, incarnation, name, request });
  if (incarnation === undefined && !wanted) return null;
  return (
    <section className="live-side" aria-label="Live room">
      <header className="live-head">
        <h2>Live room</h2>
        <span className="request-button">
          {/* A single button, so that the keyboard focus stays on it. */}
          <ActionButton
            className="button small"
            data-testid={wanted ? 'live-leave' : 'live-join'}
            aria-expanded={wanted}
            onClick={wanted ? stop : start}
          >
            {wanted ? 'Hide' : 'Show'}
          </ActionButton>
          {!wanted && <CopyCurl request={request} what="join as an observer" compact />}
        </span>
      </header>
      <FormProblem problem={problem} testId="live-problem" />
      {session && <LiveTiles session={session} />}
      {!session && wanted && (
        <p className="note" role="status" data-testid="live-status">
          {incarnation === undefined ? 'The room has ended. It will appear here if it is recreated.' : 'Joining…'}
        </p>
      )}
      {!wanted && (
        <p className="hint">Shows the live room next to the stream, without delay. You join as &ldquo;{name}&rdquo; and send no media.</p>
      )}
    </section>
  );
}

function LiveTiles({ session }: { session: RoomSession }) {
  const state = useStore(session);
  const { phase, endsAt } = state;
  const isEmpty = state.participants.length === 0 && !state.components.some(hasTile);
  return (
    <>
      {phase !== 'joined' && (
        <p className="note" role="status" data-testid="live-status">
          {phase === 'joining' ? 'Joining…' : 'Disconnected. Reconnecting…'}
        </p>
      )}
      {endsAt && (
        <p className="note" role="status" data-testid="live-ends-at">
          The server is shutting down. This room closes at {endsAt.toLocaleTimeString()} at the latest.
        </p>
      )}
      {phase === 'joined' && isEmpty && <p className="hint">No other participants.</p>}
      <div className="live-tiles">
        <TileGrid>{remoteTiles(session, state, true)}</TileGrid>
      </div>
    </>
  );
}
