// Room page for logged-in users: joins a room, invites guests, and recreates the room after its end.
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import { type Api, ApiError } from '../api/rest.ts';
import { ActionButton } from '../components/action-button.tsx';
import { AppHeader, CenteredMessage } from '../components/app-header.tsx';
import { LinkIcon } from '../components/icons.tsx';
import { InviteDialog } from '../components/invite-dialog.tsx';
import { useReadOnlyReason, useSessionContext } from '../hooks/console-context.ts';
import { runSerially } from '../hooks/serialize.ts';
import { tabId } from '../hooks/tab-storage.ts';
import { useAction } from '../hooks/use-action.ts';
import { useRoomExistence } from '../hooks/use-room-existence.ts';
import { PanelIcon, WatchIcon } from '../room/icons.tsx';
import { RoomPanel } from '../room/room-panel.tsx';
import { useIsWideScreen } from '../room/use-is-wide-screen.ts';
import { useRoom } from '../room/use-room.ts';
import { type RouteOf, roomsHash, watchHash } from '../router.ts';
import { RoomSessionView } from '../session/room-session-view.tsx';
import type { SessionEnd } from '../session/session-state.ts';
import '../room/room.css';
import '../room/cards.css';
import './components/options.css';
import './events/log.css';

const turnOf = (roomId: string): string => `peer of ${roomId}`;

export function RoomPage({ route: { roomId } }: { route: RouteOf<'room'> }) {
  const { api } = useSessionContext();
  const live = useRoom(roomId);
  const wide = useIsWideScreen();
  const [panel, setPanel] = useState(wide);
  const [inviting, setInviting] = useState(false);
  const [existence, checkAgain] = useRoomExistence(api, roomId);
  const [entered, setEntered] = useState(false);
  const toggle = useRef<HTMLButtonElement>(null);
  const closed = useRef(false);
  const close = useCallback(() => {
    closed.current = true;
    setPanel(false);
  }, []);
  useEffect(() => {
    // After closing: an element under the panel cannot be focused.
    if (!panel && closed.current) toggle.current?.focus();
    closed.current = false;
  }, [panel]);

  useEffect(() => {
    if (existence === 'exists') setEntered(true);
  }, [existence]);

  if (!entered && existence !== 'exists') {
    return (
      <>
        <AppHeader home />
        <main className="middle">
          {existence === 'ended' ? (
            <RoomEnded api={api} roomId={roomId} onCreated={checkAgain} />
          ) : (
            <p className="starting" role="status" data-testid="status">
              {existence === 'loading' ? 'Loading room…' : 'Disconnected. Reconnecting…'}
            </p>
          )}
        </main>
      </>
    );
  }
  const isStreamed = live.room?.components.some(({ type }) => type === 'hls');
  const actions = (
    <>
      {isStreamed && (
        <a className="button" href={watchHash(roomId)} aria-label="Watch the stream" data-testid="watch-link">
          <WatchIcon />
          <span>Watch</span>
        </a>
      )}
      <ActionButton aria-label="Invite" data-testid="invite" onClick={() => setInviting(true)}>
        <LinkIcon />
        <span>Invite</span>
      </ActionButton>
      <button
        ref={toggle}
        type="button"
        className="button"
        aria-label="Details"
        aria-expanded={panel}
        data-testid="panel-toggle"
        onClick={() => setPanel(!panel)}
      >
        <PanelIcon />
        <span>Details</span>
      </button>
    </>
  );
  return (
    <div className={panel ? 'room-page with-panel' : 'room-page'}>
      {/* On a phone the panel covers the room, whose session continues. */}
      <div className="room-live" inert={panel && !wide}>
        <RoomContent roomId={roomId} admits={live.room?.config.admission !== undefined} actions={actions} />
      </div>
      {panel && <RoomPanel live={live} covers={!wide} onClose={close} />}
      {inviting && <InviteDialog api={api} roomId={roomId} onClose={() => setInviting(false)} />}
    </div>
  );
}

/** Lobby and room; with a read-only token a message instead. `admits`: the room has admission; a user who may admit does not wait. */
function RoomContent({ roomId, admits, actions }: { roomId: string; admits: boolean; actions: ReactNode }) {
  const { api } = useSessionContext();
  const refusal = useReadOnlyReason();
  const peer = useRef<string | undefined>(undefined);
  // Nodes of 0.7 have no admission and reject the option.
  const admitted = useRef({});
  admitted.current = admits ? { admitted: true } : {};
  const getAccess = useCallback(
    (name: string) =>
      runSerially(turnOf(roomId), async () => {
        const access = await api.addPeer(roomId, { metadata: { name }, externalId: `console-${tabId()}`, ...admitted.current });
        peer.current = access.peerId;
        return access;
      }),
    [api, roomId],
  );
  const onLeft = useCallback(
    (left?: Promise<void>) => {
      // Deletes the peer, so that the room does not wait for a reconnect. Serialized, because an earlier rejoin would get the deleted peer.
      const goodbye = runSerially(turnOf(roomId), async () => {
        await left;
        const peerId = peer.current;
        peer.current = undefined;
        if (peerId !== undefined) await api.deletePeer(roomId, peerId);
      });
      goodbye.catch(() => undefined);
    },
    [api, roomId],
  );

  const leftNow = useRef(onLeft);
  leftNow.current = onLeft;
  // Navigation to another page leaves the room as well. A reload does not, and uses the same peer again.
  useEffect(() => () => leftNow.current(), []);

  if (refusal !== undefined) {
    return (
      <>
        <AppHeader home>{actions}</AppHeader>
        <main className="middle">
          <CenteredMessage title={roomId} testId="cannot-join">
            {refusal} You can watch but not join.
          </CenteredMessage>
        </main>
      </>
    );
  }
  return (
    <RoomSessionView
      roomId={roomId}
      guest={false}
      base={api.base}
      getAccess={getAccess}
      onLeft={onLeft}
      actions={actions}
      renderEnding={(sessionEnd, again) => <AfterCall api={api} roomId={roomId} ending={sessionEnd} again={again} />}
    />
  );
}

type AfterCallProps = { api: Api; roomId: string; ending: SessionEnd; again: { join: () => void; lobby: () => void } };

function AfterCall({ api, roomId, ending, again }: AfterCallProps) {
  if (ending.reason === 'left') return <Left again={again} />;
  return <Lost api={api} roomId={roomId} ending={ending} again={again} />;
}

function Left({ again }: { again: { lobby: () => void } }) {
  return (
    <CenteredMessage
      title="You left the room"
      testId="left"
      actions={
        <>
          <a className="button" href={roomsHash}>
            All rooms
          </a>
          <button type="button" className="button primary" data-testid="rejoin" onClick={again.lobby}>
            Join again
          </button>
        </>
      }
    />
  );
}

const endTitles: Partial<Record<SessionEnd['reason'], string>> = {
  removed: 'You were removed from this room',
  denied: 'You were not admitted to this room',
  takenOver: 'You joined this room on another device',
};

/** After a session that ended: checks whether the room still exists. */
function Lost({ api, roomId, ending, again }: AfterCallProps) {
  const [existence] = useRoomExistence(api, roomId);
  if (existence === 'ended') return <RoomEnded api={api} roomId={roomId} onCreated={again.join} />;
  if (existence !== 'exists') {
    return (
      <p className="starting" role="status" data-testid="status">
        {existence === 'loading' ? 'Loading room…' : 'Disconnected. Reconnecting…'}
      </p>
    );
  }
  return (
    <CenteredMessage
      title={endTitles[ending.reason] ?? 'The connection ended'}
      testId="call-over"
      actions={
        <>
          <a className="button" href={roomsHash}>
            All rooms
          </a>
          <button type="button" className="button primary" data-testid="rejoin" onClick={again.join}>
            {ending.reason === 'takenOver' ? 'Join here' : 'Join again'}
          </button>
        </>
      }
    >
      {ending.message}
    </CenteredMessage>
  );
}

function RoomEnded({ api, roomId, onCreated }: { api: Api; roomId: string; onCreated: () => void }) {
  const { busy, problem, run } = useAction();
  const create = async () => {
    const done = await run(() =>
      api.createRoom({ roomId }).catch((error: unknown) => {
        // Another client has created it, which is fine.
        if (!(error instanceof ApiError && error.code === 'already_exists')) throw error;
      }),
    );
    if (done) onCreated();
  };
  return (
    <CenteredMessage
      title="This room has ended"
      testId="room-ended"
      actions={
        <>
          <a className="button" href={roomsHash}>
            All rooms
          </a>
          <button type="button" className="button primary" data-testid="recreate" disabled={busy} onClick={() => void create()}>
            Recreate room
          </button>
        </>
      }
    >
      {problem ?? (
        <>
          <strong className="room-name">{roomId}</strong> no longer exists. You can recreate it with the same name; other users join at the
          same address, guests need a new link.
        </>
      )}
    </CenteredMessage>
  );
}
