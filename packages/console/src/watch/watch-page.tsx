// Watch page: the live stream of a room as its viewers see it, next to the live room.
import { type ReactNode, useCallback, useEffect, useState } from 'react';
import type { Component, RoomEvent } from '../../../server-sdk/src/generated/schemas.ts';
import { ActionButton } from '../components/action-button.tsx';
import { CopyCurl } from '../components/copy-curl.tsx';
import { Alert, connectionStatus, EmptyState, FormProblem, PageTitle } from '../components/page-title.tsx';
import { pluralize } from '../format.ts';
import { useSessionContext } from '../hooks/console-context.ts';
import { Store, useStore } from '../hooks/store.ts';
import { useAction } from '../hooks/use-action.ts';
import { type LiveRoom, useRoom } from '../room/use-room.ts';
import { hashOf, type RouteOf, roomHash } from '../router.ts';
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
        facts={room && pluralize(room.peers.filter(({ status }) => status === 'connected').length, 'participant')}
        actions={
          <>
            <CopyCurl request={live.requests.viewerToken(viewersFor)} what="create a viewer link" />
            <a className="button" href={roomHash(roomId)} data-testid="to-room">
              Open room
            </a>
          </>
        }
      />
      {problem && <Alert tone="danger">{problem}</Alert>}
      <div className="watch">
        <Stream live={live} stream={stream} />
        <LiveRoomPanel roomId={roomId} incarnation={room?.incarnation} manual={room?.config.admission === 'manual'} />
      </div>
    </>
  );
}

/** An ended stream stays on the page with its last frame until another one plays. */
function Stream({ live, stream }: { live: LiveRoom; stream: Component | undefined }) {
  const { roomId, room } = live;
  const because = useBecause(live);
  const source = useSource(roomId, live.requests);
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
      aria-label="Live stream"
      data-testid="stream"
      data-phase={shown === undefined ? 'none' : over ? 'ended' : phase}
    >
      {shown === undefined ? (
        <div className="stream-frame stream-nothing">
          <Nothing live={live} stream={stream} />
        </div>
      ) : (
        <StreamView key={shown} source={source} roomId={roomId} over={over} onPhase={onPhase} />
      )}
      {over && (
        <Alert tone="info" testId="stream-ended">
          {room === null ? `The room and its stream ended${because}. ` : 'The stream has ended. '}
          {stream ? (
            'A new stream is starting and will play here automatically.'
          ) : (
            <>
              A new stream will play here automatically. Persistent streams are listed in <a href={hashOf('recordings')}>Recordings</a>.
            </>
          )}
        </Alert>
      )}
    </section>
  );
}

const noLog = new Store<{ events: readonly RoomEvent[] }>({ events: [] });

/** The room end reason with "because", or an empty string. */
function useBecause({ log }: LiveRoom): string {
  const { events } = useStore<{ events: readonly RoomEvent[] }>(log ?? noLog);
  const why = roomEndReason(events);
  return why === undefined ? '' : ` because ${why}`;
}

function Nothing({ live, stream }: { live: LiveRoom; stream: Component | undefined }): ReactNode {
  const { room, lost } = live;
  const because = useBecause(live);
  if (room === undefined) {
    return <p role="status">{lost ? 'Cannot reach the server. Retrying…' : 'Loading stream…'}</p>;
  }
  if (room === null) {
    return (
      <EmptyState title="Room not found" testId="watch-no-room">
        {because ? `It has ended${because}.` : 'It has ended or never existed.'} If it is recreated, its stream plays here.
      </EmptyState>
    );
  }
  if (!stream) return <NotStreamed live={live} />;
  return (
    <EmptyState title="Stream is starting" testId="watch-not-yet">
      It can be played a few seconds after a participant sends audio or video, and starts here automatically.
    </EmptyState>
  );
}

function NotStreamed({ live: { requests, refresh } }: { live: LiveRoom }) {
  const { api } = useSessionContext();
  const action = useAction();
  const request = requests.addComponent('hls', {});
  const start = async () => {
    await action.run(() => api.send(request));
    refresh();
  };
  return (
    <div className="not-streamed">
      <EmptyState title="No live stream" testId="watch-no-stream">
        A live stream shows all participants in one video to any number of viewers, with about two seconds of delay.
      </EmptyState>
      <FormProblem problem={action.problem} />
      <p className="form-end">
        <ActionButton className="button primary" data-testid="start-stream" disabled={action.busy} onClick={() => void start()}>
          Start stream
        </ActionButton>
        <CopyCurl request={request} what="start a stream" />
      </p>
    </div>
  );
}
