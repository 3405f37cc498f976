// Call view: tiles, toolbar, chat and connection messages of a joined room.
import { type ReactNode, useCallback, useMemo, useRef, useState } from 'react';
import { CaptionLines, CaptionsToggle } from '../captions/captions-view.tsx';
import { ChatButton } from '../chat/chat-button.tsx';
import { ChatPanel } from '../chat/chat-panel.tsx';
import { ConnectionBanner } from '../components/connection-banner.tsx';
import { Brand, LeaveIcon, ScreenIcon } from '../components/icons.tsx';
import { Toggle } from '../components/toggle.tsx';
import { useStore } from '../hooks/store.ts';
import { showTrack } from '../lobby/lobby.tsx';
import { DeviceToggles } from './device-toggles.tsx';
import { DevicesDialog } from './devices-dialog.tsx';
import { DevicesIcon } from './icons.tsx';
import type { LocalMedia } from './local-media.ts';
import { RemoteAudio } from './remote-audio.tsx';
import { hasTile, remoteTiles } from './remote-tiles.tsx';
import type { RoomSession } from './room-session.ts';
import type { RoomSessionPhase } from './session-state.ts';
import { Tile } from './tile.tsx';
import { TileGrid } from './tile-grid.tsx';
import './room-view.css';

export type RoomViewProps = {
  session: RoomSession;
  media: LocalMedia;
  roomId: string;
  name: string;
  /** Tiles show the received layer and size. */
  detailed?: boolean;
  actions?: ReactNode;
  onLeave: () => void;
};

export function RoomView({ session, media, roomId, name, detailed = false, actions, onLeave }: RoomViewProps) {
  const state = useStore(session);
  const local = useStore(media);
  const { camera, screen } = local;
  const { open: chatOpen } = useStore(session.chat);
  const [choosing, setChoosing] = useState(false);
  const chatButton = useRef<HTMLButtonElement>(null);
  const closeChat = useCallback(() => {
    session.chat.setOpen(false);
    chatButton.current?.focus();
  }, [session]);
  const audioTracks = useMemo(
    () =>
      [...state.participants, ...state.components].flatMap(({ tracks }) =>
        tracks.filter(({ kind }) => kind === 'audio').flatMap(({ track }) => track ?? []),
      ),
    [state.participants, state.components],
  );
  const showCamera = useCallback((element: HTMLVideoElement) => showTrack(element, camera), [camera]);
  const showScreen = useCallback((element: HTMLVideoElement) => showTrack(element, screen), [screen]);
  const isAlone = state.phase === 'joined' && state.participants.length === 0;
  const notice = local.problem ?? state.problem;
  return (
    <div className="room-view">
      <header className="room-header">
        <span className="room-brand">
          <Brand />
        </span>
        <h1 className="room-heading">
          <bdi>{roomId}</bdi>
        </h1>
        <Connection phase={state.phase} />
        <div className="room-actions">{actions}</div>
      </header>
      <div className="room-body">
        <main className="room-main">
          <TileGrid>
            {screen && <Tile name={name} self screen speaking={false} muted={false} hasVideo attach={showScreen} />}
            {remoteTiles(session, state, detailed)}
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
          {state.phase === 'waiting' && (
            <p className="alone">You join when you are admitted. Until then no participant sees or hears you.</p>
          )}
          {isAlone && !state.components.some(hasTile) && <p className="alone">You are the only one here.</p>}
          <CaptionLines captions={session.captions} />
        </main>
        {chatOpen && (
          <ChatPanel
            chat={session.chat}
            readOnlyReason={state.mayWrite ? undefined : 'You do not have permission to send messages.'}
            isEmpty={isAlone}
            onClose={closeChat}
          />
        )}
      </div>
      <RemoteAudio tracks={audioTracks} speaker={local.preferences.speaker} />
      <div className="room-notes" aria-live="polite">
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
        <CaptionsToggle captions={session.captions} />
        <ChatButton ref={chatButton} chat={session.chat} />
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

const phases: Record<RoomSessionPhase, string> = {
  joining: 'Joining…',
  waiting: 'Waiting',
  joined: 'Connected',
  reconnecting: 'Disconnected. Reconnecting…',
  over: 'Ended',
};

function Connection({ phase }: { phase: RoomSessionPhase }) {
  return (
    <p className={`connection ${phase}`} role="status" aria-live="polite" data-testid="status" data-state={phase}>
      {phases[phase]}
    </p>
  );
}
