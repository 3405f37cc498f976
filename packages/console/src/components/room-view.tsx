// Room view: tiles, toolbar, chat and connection messages of a joined room.
import { type ReactNode, type RefObject, useCallback, useMemo, useRef, useState } from 'react';
import type { RemoteComponent, RemoteParticipant, RemoteTrack, RoomSessionState } from '../call/call-state.ts';
import { DeviceToggles } from '../call/device-toggles.tsx';
import { DevicesDialog } from '../call/devices-dialog.tsx';
import { ChatIcon, DevicesIcon } from '../call/icons.tsx';
import type { LocalMedia } from '../call/local-media.ts';
import { RemoteAudio } from '../call/remote-audio.tsx';
import type { RoomSession } from '../call/room-session.ts';
import { Tile } from '../call/tile.tsx';
import { TileGrid } from '../call/tile-grid.tsx';
import type { Chat } from '../chat/chat.ts';
import { ChatPanel } from '../chat/chat-panel.tsx';
import { useStore } from '../hooks/store.ts';
import { showTrack } from '../lobby/lobby.tsx';
import { ConnectionBanner } from './connection-banner.tsx';
import { Brand, LeaveIcon, ScreenIcon } from './icons.tsx';
import { Toggle } from './toggle.tsx';

export type CallViewProps = {
  call: RoomSession;
  media: LocalMedia;
  roomId: string;
  name: string;
  /** Tiles show the received layer and size. */
  detailed?: boolean;
  actions?: ReactNode;
  onLeave: () => void;
};

export function CallView({ call, media, roomId, name, detailed = false, actions, onLeave }: CallViewProps) {
  const state = useStore(call);
  const local = useStore(media);
  const { camera, screen } = local;
  const { open: chatOpen } = useStore(call.chat);
  const [choosing, setChoosing] = useState(false);
  const chatButton = useRef<HTMLButtonElement>(null);
  const closeChat = useCallback(() => {
    call.chat.setOpen(false);
    chatButton.current?.focus();
  }, [call]);
  const sounds = useMemo(
    () =>
      [...state.people, ...state.components].flatMap(({ tracks }) =>
        tracks.filter(({ kind }) => kind === 'audio').flatMap(({ track }) => track ?? []),
      ),
    [state.people, state.components],
  );
  const showCamera = useCallback((element: HTMLVideoElement) => showTrack(element, camera), [camera]);
  const showScreen = useCallback((element: HTMLVideoElement) => showTrack(element, screen), [screen]);
  // Components without tracks have no tile.
  const shown = state.components.filter(({ tracks }) => tracks.length > 0);
  const notice = local.problem ?? state.problem;
  return (
    <div className="call">
      <header className="call-header">
        <span className="call-brand">
          <Brand />
        </span>
        <h1 className="call-room">
          <bdi>{roomId}</bdi>
        </h1>
        <Connection state={state} />
        <div className="call-actions">{actions}</div>
      </header>
      <div className="call-body">
        <main className="call-main">
          <TileGrid>
            {screen && <Tile name={name} self screen speaking={false} muted={false} hasVideo attach={showScreen} />}
            {shown.map((component) => tileOfComponent(component, call, detailed))}
            {state.people.flatMap((person) => tilesOf(person, call, state.activeSpeaker, detailed))}
            <Tile
              name={name}
              self
              screen={false}
              speaking={state.activeSpeaker !== undefined && state.activeSpeaker === state.selfId}
              muted={!local.microphoneOn || state.mutedByServer}
              hasVideo={camera !== undefined}
              attach={showCamera}
            />
          </TileGrid>
          {state.phase === 'joined' && state.people.length === 0 && shown.length === 0 && (
            <p className="alone">You are the only one here.</p>
          )}
        </main>
        {chatOpen && (
          <ChatPanel
            chat={call.chat}
            readOnlyReason={state.mayWrite ? undefined : 'You do not have permission to send messages.'}
            isEmpty={state.phase === 'joined' && state.people.length === 0}
            onClose={closeChat}
          />
        )}
      </div>
      <RemoteAudio tracks={sounds} speaker={local.preferences.speaker} />
      <div className="call-notes" aria-live="polite">
        <ConnectionBanner link={state.link} />
        {notice && (
          <p className="note">
            {notice}
            {local.problem && (
              <button type="button" className="button quiet small" onClick={() => media.dismissProblem()}>
                Dismiss
              </button>
            )}
          </p>
        )}
        {state.endsAt && (
          <p className="note" data-testid="ends-at">
            The server is shutting down. This room closes at {state.endsAt.toLocaleTimeString()} at the latest. If it is recreated, this
            page rejoins automatically.
          </p>
        )}
      </div>
      <footer className="toolbar" role="toolbar" aria-label="Room controls">
        <DeviceToggles media={media} />
        {media.canShareScreen && (
          <Toggle
            on={screen !== undefined}
            label="Share screen"
            testId="toggle-screen"
            plainOff
            onIcon={<ScreenIcon />}
            offIcon={<ScreenIcon />}
            onToggle={() => media.toggleScreen()}
          />
        )}
        <ChatButton ref={chatButton} chat={call.chat} />
        <button
          type="button"
          className="toggle"
          aria-label="Devices"
          title="Camera, microphone, speaker"
          data-testid="devices"
          onClick={() => setChoosing(true)}
        >
          <DevicesIcon />
        </button>
        <button type="button" className="toggle leave" aria-label="Leave" title="Leave" data-testid="leave" onClick={onLeave}>
          <LeaveIcon />
          <span>Leave</span>
        </button>
      </footer>
      {choosing && <DevicesDialog media={media} onClose={() => setChoosing(false)} />}
    </div>
  );
}

function ChatButton({ chat, ref }: { chat: Chat; ref: RefObject<HTMLButtonElement | null> }) {
  const { open, unread } = useStore(chat);
  const count = unread > 99 ? '99+' : String(unread);
  return (
    <button
      ref={ref}
      type="button"
      className={open ? 'toggle on chat-toggle' : 'toggle chat-toggle'}
      aria-label={unread > 0 ? `Chat, ${count} unread` : 'Chat'}
      aria-expanded={open}
      title="Chat"
      data-testid="toggle-chat"
      onClick={() => chat.setOpen(!open)}
    >
      <ChatIcon />
      {unread > 0 && (
        <span className="unread" data-testid="unread">
          {count}
        </span>
      )}
      <span className="visually-hidden" aria-live="polite">
        {unread > 0 && `${count} unread`}
      </span>
    </button>
  );
}

function Connection({ state }: { state: RoomSessionState }) {
  const words = {
    joining: 'Joining…',
    joined: 'Connected',
    reconnecting: 'Disconnected. Reconnecting…',
    over: 'Ended',
  };
  return (
    <p className={`connection ${state.phase}`} role="status" aria-live="polite" data-testid="status" data-state={state.phase}>
      {words[state.phase]}
    </p>
  );
}

/** One tile for the participant, and one for each shared screen. */
export function tilesOf(
  person: RemoteParticipant,
  roomSession: RoomSession,
  activeSpeaker: string | undefined,
  detailed: boolean,
): ReactNode[] {
  const camera = person.tracks.find(({ source, kind }) => kind === 'video' && source === 'camera');
  const microphone = person.tracks.find(({ source, kind }) => kind === 'audio' && source === 'microphone');
  const screens = person.tracks.filter(({ source, kind }) => kind === 'video' && source === 'screen');
  return [
    ...screens.map((track) => (
      <RemoteTile
        key={track.id}
        name={person.name}
        call={roomSession}
        video={track}
        detailed={detailed}
        screen
        speaking={false}
        muted={false}
      />
    )),
    <RemoteTile
      key={person.id}
      name={person.name}
      call={roomSession}
      video={camera}
      detailed={detailed}
      screen={false}
      speaking={person.id === activeSpeaker}
      muted={!microphone || microphone.muted}
    />,
  ];
}

/** One tile for all tracks of the component. */
export function tileOfComponent({ id, name, tracks }: RemoteComponent, roomSession: RoomSession, detailed: boolean): ReactNode {
  const video = tracks.find(({ kind }) => kind === 'video');
  const muted = tracks.every((track) => track.muted);
  return (
    <RemoteTile
      key={id}
      name={name}
      call={roomSession}
      video={video}
      detailed={detailed}
      screen={false}
      component
      speaking={false}
      muted={muted}
    />
  );
}

type RemoteTileProps = {
  name: string;
  call: Pick<RoomSession, 'attachVideo'>;
  video: RemoteTrack | undefined;
  detailed: boolean;
  screen: boolean;
  component?: boolean;
  speaking: boolean;
  muted: boolean;
};

function RemoteTile({ call, video, detailed, ...rest }: RemoteTileProps) {
  const id = video?.track && !video.muted ? video.id : undefined;
  const track = video?.track;
  // `track` is a dependency although attachVideo() takes the id: after a reconnect the same id may have another track.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const attach = useCallback(
    (element: HTMLVideoElement) => (id === undefined ? () => undefined : call.attachVideo(id, element)),
    [call, id, track],
  );
  return (
    <Tile {...rest} self={false} hasVideo={id !== undefined} attach={attach} received={detailed ? (video?.layers ?? null) : undefined} />
  );
}
