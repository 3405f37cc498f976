// Before a call: how one is called, and how one looks.
import { type FormEvent, useCallback, useEffect, useState } from 'react';
import type { DeviceKind, LocalMedia } from '../call/local-media.ts';
import { useStore } from '../hooks/store.ts';
import { DeviceToggles } from './device-toggles.tsx';
import { Tile } from './tile.tsx';

export type LobbyProps = {
  roomId: string;
  guest: boolean;
  media: LocalMedia;
  initialName: string;
  busy: boolean;
  problem: string | undefined;
  onJoin: (name: string) => void;
};

export function Lobby({ roomId, guest, media, initialName, busy, problem, onJoin }: LobbyProps) {
  const state = useStore(media);
  const [name, setName] = useState(initialName);
  const [missing, setMissing] = useState(false);
  useEffect(() => {
    if (!media.state.camera && !media.state.microphone) void media.start();
  }, [media]);
  const { camera } = state;
  const attach = useCallback((element: HTMLVideoElement) => showTrack(element, camera), [camera]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() === '') setMissing(true);
    else onJoin(name.trim());
  };
  const sentence = missing ? 'Enter the name that the others shall see.' : problem;
  return (
    <form className="lobby" onSubmit={submit} noValidate>
      <div className="lobby-preview">
        <ul className="lobby-tile">
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
      <div className="card lobby-form">
        <div>
          <p className="eyebrow">{guest ? 'You are invited to' : 'Join'}</p>
          <h1 className="room-title">{roomId}</h1>
        </div>
        <label className="field">
          <span>Your name</span>
          <input
            value={name}
            maxLength={60}
            autoComplete="name"
            data-testid={guest ? 'guest-name' : 'name'}
            aria-invalid={missing}
            onChange={(event) => {
              setName(event.target.value);
              setMissing(false);
            }}
          />
        </label>
        <DeviceChoice kind="camera" label="Camera" devices={state.cameras} current={camera} media={media} />
        <DeviceChoice kind="microphone" label="Microphone" devices={state.microphones} current={state.microphone} media={media} />
        {state.problem && (
          <p className="note" role="status">
            {state.problem}
          </p>
        )}
        {sentence && (
          <p className="problem" role="alert" data-testid="join-problem">
            {sentence}
          </p>
        )}
        <button type="submit" className="button primary wide" data-testid={guest ? 'guest-join' : 'join'} disabled={busy}>
          {busy ? 'Joining…' : 'Join'}
        </button>
      </div>
    </form>
  );
}

type DeviceChoiceProps = {
  kind: DeviceKind;
  label: string;
  devices: readonly MediaDeviceInfo[];
  current: MediaStreamTrack | undefined;
  media: LocalMedia;
};

function DeviceChoice({ kind, label, devices, current, media }: DeviceChoiceProps) {
  if (devices.length < 2 || !current) return null;
  return (
    <label className="field">
      <span>{label}</span>
      <select value={current.getSettings().deviceId ?? ''} onChange={(event) => void media.open(kind, event.target.value)}>
        {devices.map((device) => (
          <option key={device.deviceId} value={device.deviceId}>
            {device.label || label}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Shows an own track on the element until the answer is called. */
export function showTrack(element: HTMLVideoElement, track: MediaStreamTrack | undefined): () => void {
  element.srcObject = track ? new MediaStream([track]) : null;
  element.play().catch(() => undefined);
  return () => {
    element.srcObject = null;
  };
}
