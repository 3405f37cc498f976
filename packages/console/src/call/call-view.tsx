// Call view: tiles, toolbar, chat and connection messages of a joined room.
import { type ReactNode, useCallback, useMemo, useRef, useState } from 'react';
import { ChatButton } from '../chat/chat-button.tsx';
import { ChatPanel } from '../chat/chat-panel.tsx';
import { ConnectionBanner } from '../components/connection-banner.tsx';
import { Brand, LeaveIcon, ScreenIcon } from '../components/icons.tsx';
import { Toggle } from '../components/toggle.tsx';
import { useStore } from '../hooks/store.ts';
import { showTrack } from '../lobby/lobby.tsx';
import type { RoomSessionPhase } from './call-state.ts';
import { DeviceToggles } from './device-toggles.tsx';
import { DevicesDialog } from './devices-dialog.tsx';
import { DevicesIcon } from './icons.tsx';
import type { LocalMedia } from './local-media.ts';
import { RemoteAudio } from './remote-audio.tsx';
import { hasTile, remoteTiles } from './remote-tiles.tsx';
import type { RoomSession } from './room-session.ts';
import { Tile } from './tile.tsx';
import { TileGrid } from './tile-grid.tsx';
import './call.css';

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
    <div className="call">
      <header className="call-header">
        <span className="call-brand">
          <Brand />
        </span>
        <h1 className="call-room">
          <bdi>{roomId}</bdi>
        </h1>
        <Connection phase={state.phase} />
        <div className="call-actions">{actions}</div>
      </header>
      <div className="call-body">
        <main className="call-main">
          <TileGrid>
            {screen && <Tile name={name} self screen speaking={false} muted={false} hasVideo attach={showScreen} />}
            {remoteTiles(call, state, detailed)}
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
          {isAlone && !state.components.some(hasTile) && <p className="alone">You are the only one here.</p>}
        </main>
        {chatOpen && (
          <ChatPanel
            chat={call.chat}
            readOnlyReason={state.mayWrite ? undefined : 'You do not have permission to send messages.'}
            isEmpty={isAlone}
            onClose={closeChat}
          />
        )}
      </div>
      <RemoteAudio tracks={audioTracks} speaker={local.preferences.speaker} />
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

const phases: Record<RoomSessionPhase, string> = {
  joining: 'Joining…',
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
