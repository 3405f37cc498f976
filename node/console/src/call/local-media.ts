// Camera, microphone and screen of this page: what is on, what failed and why, in sentences.
import { Store } from '../hooks/store.ts';
import type { Source } from './call-state.ts';

export type DeviceKind = 'camera' | 'microphone';
export type LocalMediaState = {
  camera: MediaStreamTrack | undefined;
  microphone: MediaStreamTrack | undefined;
  microphoneOn: boolean;
  screen: MediaStreamTrack | undefined;
  screenSound: MediaStreamTrack | undefined;
  busy: boolean;
  problem: string | undefined;
  cameras: readonly MediaDeviceInfo[];
  microphones: readonly MediaDeviceInfo[];
};

const videoConstraints = { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 } };

/** Owns the tracks that it opened until close(). */
export class LocalMedia extends Store<LocalMediaState> {
  readonly #devices: MediaDevices | undefined = navigator.mediaDevices;
  readonly #onDeviceChange = () => void this.#listDevices();
  #closed = false;

  constructor() {
    super({
      camera: undefined,
      microphone: undefined,
      microphoneOn: false,
      screen: undefined,
      screenSound: undefined,
      busy: false,
      problem: undefined,
      cameras: [],
      microphones: [],
    });
    this.#devices?.addEventListener('devicechange', this.#onDeviceChange);
  }

  get canShareScreen(): boolean {
    return this.#devices !== undefined && 'getDisplayMedia' in this.#devices;
  }

  /** Opens both for a preview; one that is missing leaves the other. */
  async start(): Promise<void> {
    await this.open('camera');
    const { problem } = this.state;
    await this.open('microphone');
    if (problem && !this.state.problem) this.update({ problem });
  }

  async open(kind: DeviceKind, deviceId?: string): Promise<void> {
    if (!this.#devices) return this.update({ problem: insecure });
    this.update({ busy: true, problem: undefined });
    try {
      const device = deviceId ? { deviceId: { exact: deviceId } } : {};
      const stream = await this.#devices.getUserMedia(
        kind === 'camera'
          ? { video: { ...videoConstraints, ...device } }
          : { audio: { echoCancellation: true, noiseSuppression: true, ...device } },
      );
      this.#adopt(kind, stream.getTracks()[0]);
      await this.#listDevices();
    } catch (error) {
      this.update({ problem: explain(kind, error) });
    } finally {
      this.update({ busy: false });
    }
  }

  async toggleCamera(): Promise<void> {
    if (this.state.camera) this.#stop('camera');
    else await this.open('camera');
  }

  /** The microphone stays open while it is off, so that it is back without a gap; what it hears goes nowhere. */
  async toggleMicrophone(): Promise<void> {
    const { microphone, microphoneOn } = this.state;
    if (!microphone) return this.open('microphone');
    microphone.enabled = !microphoneOn;
    this.update({ microphoneOn: !microphoneOn });
  }

  async toggleScreen(): Promise<void> {
    if (this.state.screen) return this.stopScreen();
    if (!this.#devices || !this.canShareScreen) return this.update({ problem: 'This browser cannot share its screen.' });
    this.update({ problem: undefined });
    try {
      const stream = await this.#devices.getDisplayMedia({ video: { frameRate: { ideal: 15 } }, audio: true });
      const sound = stream.getAudioTracks()[0];
      this.#adopt('screen', stream.getVideoTracks()[0]);
      if (sound && this.#closed) sound.stop();
      else this.update({ screenSound: sound });
    } catch (error) {
      if (!(error instanceof DOMException && error.name === 'NotAllowedError')) this.update({ problem: 'The screen could not be shared.' });
    }
  }

  /** Switches one off from elsewhere than its button. */
  turnOff(source: Source): void {
    if (source === 'screen' || source === 'screenSound') this.stopScreen();
    else this.#stop(source);
  }

  stopScreen(): void {
    this.state.screenSound?.stop();
    this.update({ screenSound: undefined });
    this.#stop('screen');
  }

  dismissProblem(): void {
    this.update({ problem: undefined });
  }

  /** Releases all devices. Idempotent. */
  close(): void {
    this.#closed = true;
    this.#devices?.removeEventListener('devicechange', this.#onDeviceChange);
    this.stopScreen();
    this.#stop('camera');
    this.#stop('microphone');
  }

  #adopt(kind: DeviceKind | 'screen', track: MediaStreamTrack | undefined): void {
    if (!track) return;
    if (this.#closed) {
      track.stop();
      return;
    }
    this.#stop(kind);
    track.addEventListener('ended', () => {
      if (this.state[kind] !== track) return;
      if (kind === 'screen') this.stopScreen();
      else this.#stop(kind);
    });
    this.update(kind === 'microphone' ? { microphone: track, microphoneOn: true } : { [kind]: track });
  }

  #stop(kind: DeviceKind | 'screen'): void {
    this.state[kind]?.stop();
    if (this.state[kind]) this.update(kind === 'microphone' ? { microphone: undefined, microphoneOn: false } : { [kind]: undefined });
  }

  async #listDevices(): Promise<void> {
    const all = (await this.#devices?.enumerateDevices().catch(() => [])) ?? [];
    if (this.#closed) return;
    const named = all.filter((device) => device.deviceId !== '');
    this.update({
      cameras: named.filter((device) => device.kind === 'videoinput'),
      microphones: named.filter((device) => device.kind === 'audioinput'),
    });
  }
}

const insecure = 'Browsers give camera and microphone to pages on https or localhost only. You can still join, to watch and listen.';

function explain(kind: DeviceKind, error: unknown): string {
  const name = error instanceof DOMException ? error.name : '';
  if (name === 'NotAllowedError') return `The browser does not allow the ${kind}. Allow it in the address bar, or go on without it.`;
  if (name === 'NotFoundError' || name === 'OverconstrainedError') return `No ${kind} was found. You can go on without it.`;
  if (name === 'NotReadableError') return `The ${kind} is in use by another program.`;
  return `The ${kind} could not be opened.`;
}
