// Lobby: name, device preview and connection test before joining a room.

import { type FormEvent, useCallback, useEffect, useState } from 'react';
import { FormProblem } from '../components/page-title.tsx';
import { useStore } from '../hooks/store.ts';
import { ConnectionPanel, type ConnectionPanelProps } from '../lobby/connection-panel.tsx';
import { DeviceChoice } from '../lobby/device-choice.tsx';
import { DeviceToggles } from '../session/device-toggles.tsx';
import type { LocalMedia } from '../session/local-media.ts';
import { Tile } from '../session/tile.tsx';
import '../lobby/lobby.css';

export type LobbyProps = {
  roomId: string;
  guest: boolean;
  media: LocalMedia;
  name: string;
  onName: (name: string) => void;
  /** True if the browser stores name and devices beyond the tab. */
  kept: boolean;
  onKept: (kept: boolean) => void;
  busy: boolean;
  problem: string | undefined;
  check: ConnectionPanelProps;
  onJoin: () => void;
};

const maxName = 60;

export function Lobby({ roomId, guest, media, name, onName, kept, onKept, busy, problem, check, onJoin }: LobbyProps) {
  const state = useStore(media);
  const [missing, setMissing] = useState(false);
  useEffect(() => {
    if (!media.state.camera && !media.state.microphone) void media.start();
  }, [media]);
  const { camera } = state;
  const attach = useCallback((element: HTMLVideoElement) => showTrack(element, camera), [camera]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() === '') setMissing(true);
    else onJoin();
  };
  const message = missing ? 'Enter your name.' : problem;
  return (
    <div className="lobby">
      <div className="lobby-preview">
        <ul className="lobby-tile" aria-label="Preview">
          <Tile
            name={name.trim() || 'You'}
            self
            screen={false}
            speaking={false}
            muted={!state.microphoneOn}
            hasVideo={camera !== undefined}
            attach={attach}
          />
        </ul>
        <div className="lobby-toggles">
          <DeviceToggles media={media} />
        </div>
      </div>
      <form className="card lobby-form" onSubmit={submit} noValidate>
        <div>
          <p className="eyebrow">{guest ? 'You are invited to' : 'Join'}</p>
          <h1 className="room-title">
            <bdi>{roomId}</bdi>
          </h1>
        </div>
        <label className="field">
          <span>Your name</span>
          <input
            value={name}
            dir="auto"
            maxLength={maxName}
            autoComplete="name"
            data-testid={guest ? 'guest-name' : 'name'}
            aria-invalid={missing}
            onChange={(event) => {
              onName(event.target.value);
              setMissing(false);
            }}
          />
        </label>
        <FormProblem problem={message} testId="join-problem" />
        <button type="submit" className="button primary wide" data-testid={guest ? 'guest-join' : 'join'} disabled={busy}>
          {busy ? 'Joining…' : 'Join'}
        </button>
        <label className="remember">
          <input type="checkbox" checked={kept} data-testid="remember" onChange={(event) => onKept(event.target.checked)} />
          <span>
            Remember my name and devices
            <small>Stored on this device. Otherwise these settings are cleared when you close the tab.</small>
          </span>
        </label>
      </form>
      <section className="card lobby-devices" aria-label="Devices">
        <DeviceChoice media={media} />
      </section>
      <div className="card lobby-check">
        <ConnectionPanel {...check} />
      </div>
    </div>
  );
}

/** Shows a local track on the element until the returned function is called. */
export function showTrack(element: HTMLVideoElement, track: MediaStreamTrack | undefined): () => void {
  element.srcObject = track ? new MediaStream([track]) : null;
  element.play().catch(() => undefined);
  return () => {
    element.srcObject = null;
  };
}
