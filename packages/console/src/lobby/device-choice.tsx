// Device choice: selects camera, microphone and speaker, with level meter, test tone and help for device errors.
import { useState } from 'react';
import { useStore } from '../hooks/store.ts';
import type { DeviceError, DeviceKind } from '../session/device-error.ts';
import type { LocalMedia, LocalMediaState } from '../session/local-media.ts';
import { LevelMeter } from './level-meter.tsx';
import { playTestTone } from './test-tone.ts';

export function DeviceChoice({ media }: { media: LocalMedia }) {
  const state = useStore(media);
  return (
    <div className="devices">
      <DeviceField kind="camera" label="Camera" state={state} media={media} />
      <div className="device">
        <DeviceField kind="microphone" label="Microphone" state={state} media={media} />
        {!state.problems.microphone && <LevelMeter track={state.microphone} on={state.microphoneOn} />}
      </div>
      {state.speakers.length > 0 && <SpeakerField state={state} media={media} />}
    </div>
  );
}

function DeviceField({ kind, label, state, media }: { kind: DeviceKind; label: string; state: LocalMediaState; media: LocalMedia }) {
  const devices = kind === 'camera' ? state.cameras : state.microphones;
  const problem = state.problems[kind];
  return (
    <div className="device">
      {devices.length > 0 && (
        <DeviceSelect
          label={label}
          testId={`choose-${kind}`}
          devices={devices}
          value={state[kind]?.getSettings().deviceId ?? state.preferences[kind]}
          onChoose={(deviceId) => void media.choose(kind, deviceId)}
        />
      )}
      {problem && !(kind === 'microphone' && problem.reason === 'insecure') && (
        <Refusal kind={kind} problem={problem} onAgain={() => void media.open(kind)} busy={state.busy} />
      )}
    </div>
  );
}

function Refusal({ kind, problem, onAgain, busy }: { kind: DeviceKind; problem: DeviceError; onAgain: () => void; busy: boolean }) {
  return (
    <div className="note refusal" role="status" data-testid={`problem-${kind}`} data-why={problem.reason}>
      <p>
        <strong>{problem.message}</strong> {problem.help}
      </p>
      {problem.reason !== 'insecure' && (
        <button type="button" className="button small" data-testid={`again-${kind}`} disabled={busy} onClick={onAgain}>
          Try again
        </button>
      )}
    </div>
  );
}

function SpeakerField({ state, media }: { state: LocalMediaState; media: LocalMedia }) {
  const [problem, setProblem] = useState<string>();
  const play = async () => {
    setProblem(undefined);
    try {
      await playTestTone(state.preferences.speaker);
    } catch {
      setProblem('Could not play the test sound on this device.');
    }
  };
  return (
    <div className="device">
      <div className="device-row">
        <DeviceSelect
          label="Speaker"
          testId="choose-speaker"
          devices={state.speakers}
          value={state.preferences.speaker}
          onChoose={(deviceId) => void media.choose('speaker', deviceId)}
        />
        <button type="button" className="button" data-testid="test-sound" onClick={() => void play()}>
          Test
        </button>
      </div>
      {problem && (
        <p className="hint" role="status">
          {problem}
        </p>
      )}
    </div>
  );
}

type DeviceSelectProps = {
  label: string;
  testId: string;
  devices: readonly MediaDeviceInfo[];
  value: string | undefined;
  onChoose: (deviceId: string) => void;
};

function DeviceSelect({ label, testId, devices, value, onChoose }: DeviceSelectProps) {
  const known = devices.some(({ deviceId }) => deviceId === value) ? value : devices[0]?.deviceId;
  return (
    <label className="field">
      <span>{label}</span>
      <select value={known} data-testid={testId} onChange={(event) => onChoose(event.target.value)}>
        {devices.map((device, index) => (
          <option key={device.deviceId} value={device.deviceId}>
            {device.label || `${label} ${index + 1}`}
          </option>
        ))}
      </select>
    </label>
  );
}
