// The stream of a room as its viewers see it, beside the room as it is now.
import { type ReactNode, useCallback, useEffect, useState } from 'react';
import type { Component, RoomEvent } from '../../../server-sdk/src/generated/schemas.ts';
import { ActionButton } from '../components/action-button.tsx';
import { CopyCurl } from '../components/copy-curl.tsx';
import { Alert, connectionStatus, EmptyState, PageTitle } from '../components/page-title.tsx';
import { useSessionContext } from '../hooks/console-context.ts';
import { Store, useStore } from '../hooks/store.ts';
import { useAction } from '../hooks/use-action.ts';
import { type LiveRoom, useRoom } from '../room/use-room.ts';
import { type RouteOf, recordingsHash, roomHash } from '../router.ts';
import { LiveRoomPanel } from '../watch/live-room-panel.tsx';
import { roomEndReason } from '../watch/room-end-reason.ts';
import type { PlayerState } from '../watch/stream-player.ts';
import { StreamView } from '../watch/stream-view.tsx';
import { useSource, viewersFor } from '../watch/use-source.ts';
import '../room/cards.css';
import '../watch/watch.css';

export function WatchPage({ route: { roomId } }: { route: RouteOf<'watch'> }) {
  const live = useRoom(roomId);
  const { room, problem, lost } = live;
  const stream = room?.components.find(({ type }) => type === 'hls');
  return (
    <>
      <PageTitle
        title={roomId}
        freshness={connectionStatus({ data: room, problem, lost })}
        facts={room && `${room.peers.filter(({ status }) => status === 'connected').length} in the room`}
        actions={
          <>
            <CopyCurl call={live.calls.viewerToken(viewersFor)} what="make a link for viewers" />
            <a className="button" href={roomHash(roomId)} data-testid="to-room">
              To the room
            </a>
          </>
        }
      />
      {problem && <Alert tone="danger">{problem}</Alert>}
      <div className="watch">
        <Stream live={live} stream={stream} />
        <LiveRoomPanel roomId={roomId} incarnation={room?.incarnation} />
      </div>
    </>
  );
}

/** A stream that ended stays on the page with its last picture until another one plays. */
function Stream({ live, stream }: { live: LiveRoom; stream: Component | undefined }) {
  const { roomId, room } = live;
  const because = useBecause(live);
  const source = useSource(roomId, live.calls);
  const [phase, setPhase] = useState<PlayerState['phase']>('starting');
  const [shown, setShown] = useState<string>();
  const playable = stream?.properties.playable === true ? stream.id : undefined;
  useEffect(() => {
    if (playable !== undefined) setShown(playable);
  }, [playable]);
  const onPhase = useCallback((now: PlayerState['phase']) => setPhase(now), []);
  const over = shown !== undefined && stream?.id !== shown;
  return (
    <section
      className="watch-stream"
      aria-label="The stream"
      data-testid="stream"
      data-phase={shown === undefined ? 'none' : over ? 'ended' : phase}
    >
      {shown === undefined ? (
        <div className="stream-picture stream-nothing">
          <Nothing live={live} stream={stream} />
        </div>
      ) : (
        <StreamView key={shown} source={source} roomId={roomId} over={over} onPhase={onPhase} />
      )}
      {over && (
        <Alert tone="info" testId="stream-ended">
          {room === null ? `The room has ended${because}, and its stream with it. ` : 'The stream has ended. '}
          {stream
            ? 'A new one is being made ready and plays here as soon as it can.'
            : 'When it starts again, it plays here. A persistent one is among the '}
          {!stream && <a href={recordingsHash}>recordings</a>}
          {!stream && '.'}
        </Alert>
      )}
    </section>
  );
}

const noLog = new Store<{ events: readonly RoomEvent[] }>({ events: [] });

/** As roomEndReason says it, with the word that leads to it. */
function useBecause({ log }: LiveRoom): string {
  const { events } = useStore<{ events: readonly RoomEvent[] }>(log ?? noLog);
  const why = roomEndReason(events);
  return why === undefined ? '' : ` because ${why}`;
}

function Nothing({ live, stream }: { live: LiveRoom; stream: Component | undefined }): ReactNode {
  const { room, lost } = live;
  const because = useBecause(live);
  if (room === undefined) {
    return <p role="status">{lost ? 'The server does not answer, trying again…' : 'Looking for the stream…'}</p>;
  }
  if (room === null) {
    return (
      <EmptyState title="There is no such room" testId="watch-no-room">
        {because ? `It has ended${because}.` : 'It has ended, or never was.'} When it is made, what it streams plays here.
      </EmptyState>
    );
  }
  if (!stream) return <NotStreamed live={live} />;
  return (
    <EmptyState title="Not yet playable" testId="watch-not-yet">
      The stream is being made ready. It can be played a few seconds after somebody sends sound or pictures, and begins here by itself.
    </EmptyState>
  );
}

function NotStreamed({ live: { calls, refresh } }: { live: LiveRoom }) {
  const { api } = useSessionContext();
  const action = useAction();
  const httpRequest = calls.addComponent('hls', {});
  const start = async () => {
    await action.run(() => api.call(httpRequest.method, httpRequest.path, httpRequest.body as object));
    refresh();
  };
  return (
    <div className="not-streamed">
      <EmptyState title="Nothing is streamed from this room" testId="watch-no-stream">
        A stream shows everybody in one picture to any number of viewers, about two seconds later.
      </EmptyState>
      {action.problem && (
        <p className="problem" role="alert">
          {action.problem}
        </p>
      )}
      <p className="form-end">
        <ActionButton className="button primary" data-testid="start-stream" disabled={action.busy} onClick={() => void start()}>
          Start a stream
        </ActionButton>
        <CopyCurl call={httpRequest} what="start a stream" />
      </p>
    </div>
  );
}
