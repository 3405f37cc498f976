// Local media: opens, switches and closes camera, microphone, speaker and screen of this page.
import { Store } from '../hooks/store.ts';
import { type DeviceError, type DeviceKind, deviceErrorMessage, insecureProblem } from './device-error.ts';
import type { Source } from './session-state.ts';

export type { DeviceKind } from './device-error.ts';

/** Device ids; the browser chooses a device if its id is missing. */
export type DevicePreferences = { camera?: string | undefined; microphone?: string | undefined; speaker?: string | undefined };

export type LocalMediaState = {
  camera: MediaStreamTrack | undefined;
  microphone: MediaStreamTrack | undefined;
  microphoneOn: boolean;
  screen: MediaStreamTrack | undefined;
  screenSound: MediaStreamTrack | undefined;
  busy: boolean;
  /** Why a device is not available. */
  problems: Partial<Record<DeviceKind, DeviceError>>;
  /** Message of the last failure. */
  problem: string | undefined;
  cameras: readonly MediaDeviceInfo[];
  microphones: readonly MediaDeviceInfo[];
  /** Empty if the browser does not support choosing a speaker. */
  speakers: readonly MediaDeviceInfo[];
  /** The requested devices. */
  preferences: DevicePreferences;
};

const videoConstraints = { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 } };
const audioConstraints = { echoCancellation: true, noiseSuppression: true };
const kinds: readonly DeviceKind[] = ['camera', 'microphone'];

/** Devices that are open. `microphoneOn`: an open microphone is sent. */
type OpenDevices = Record<DeviceKind | 'microphoneOn', boolean>;
const allDevices: OpenDevices = { camera: true, microphone: true, microphoneOn: true };

/** Owns the tracks that it opens until close(). */
export class LocalMedia extends Store<LocalMediaState> {
  readonly #devices: MediaDevices | undefined = navigator.mediaDevices;
  readonly #onDeviceChange = () => void this.#devicesChanged();
  #closed = false;
  /** The newest request of each kind: the track of an older request is stopped. */
  readonly #newest = new Map<DeviceKind, symbol>();
  /** The devices that release() closed. */
  #released: OpenDevices | undefined;

  constructor(preferences: DevicePreferences = {}) {
    super({
      camera: undefined,
      microphone: undefined,
      microphoneOn: false,
      screen: undefined,
      screenSound: undefined,
      busy: false,
      problems: {},
      problem: undefined,
      cameras: [],
      microphones: [],
      speakers: [],
      preferences,
    });
    this.#devices?.addEventListener('devicechange', this.#onDeviceChange);
  }

  get canShareScreen(): boolean {
    return this.#devices !== undefined && 'getDisplayMedia' in this.#devices;
  }

  /** Opens what release() closed, at first both devices; if one is missing or denied, the other one is still opened. */
  async start(): Promise<void> {
    const { microphoneOn, ...wanted } = this.#released ?? allDevices;
    this.#released = undefined;
    // One permission prompt for both devices if both are available.
    if (wanted.camera && wanted.microphone && (await this.#openBoth(microphoneOn))) return;
    await Promise.all(kinds.filter((kind) => wanted[kind]).map((kind) => this.open(kind, microphoneOn)));
  }

  /**
   * Closes all devices after the end of a session; start() opens them again. Chromium suspends a camera that is open and shown nowhere, also
   * for other pages that open it later.
   */
  release(): void {
    const { camera, microphone, microphoneOn } = this.state;
    this.#released ??= { camera: camera !== undefined, microphone: microphone !== undefined, microphoneOn };
    this.stopScreen();
    for (const kind of kinds) this.#switchOff(kind);
  }

  /** Opens the requested device, or any other one if it does not exist. `on`: initial state of a microphone. */
  async open(kind: DeviceKind, on = true): Promise<void> {
    if (!this.#devices) return this.#fail(kind, insecureProblem);
    const turn = this.#begin([kind]);
    try {
      const preferred = this.state.preferences[kind];
      const stream = await this.#ask(kind, preferred).catch((error: unknown) => {
        if (preferred && error instanceof DOMException && (error.name === 'OverconstrainedError' || error.name === 'NotFoundError'))
          return this.#ask(kind, undefined);
        throw error;
      });
      this.#adopt(kind, stream.getTracks()[0], turn, on);
      await this.#listDevices();
    } catch (error) {
      if (this.#newest.get(kind) === turn) this.#fail(kind, deviceErrorMessage(kind, error, await mayUse(kind)));
    } finally {
      this.update({ busy: false });
    }
  }

  /** Uses this device from now on; a device that is off stays off. */
  async choose(kind: DeviceKind | 'speaker', deviceId: string): Promise<void> {
    this.update({ preferences: { ...this.state.preferences, [kind]: deviceId } });
    if (kind === 'speaker' || !this.state[kind]) return;
    await this.open(kind, this.state.microphoneOn);
  }

  async toggleCamera(): Promise<void> {
    if (this.state.camera) this.#switchOff('camera');
    else await this.open('camera');
  }

  /** The microphone stays open while it is off, so that it resumes without a gap; its audio is not sent. */
  async toggleMicrophone(): Promise<void> {
    const { microphone, microphoneOn } = this.state;
    if (!microphone) return this.open('microphone');
    microphone.enabled = !microphoneOn;
    this.update({ microphoneOn: !microphoneOn });
  }

  async toggleScreen(): Promise<void> {
    if (this.state.screen) return this.stopScreen();
    if (!this.#devices || !this.canShareScreen) return this.update({ problem: 'This browser does not support screen sharing.' });
    this.update({ problem: undefined });
    try {
      const stream = await this.#devices.getDisplayMedia({ video: { frameRate: { ideal: 15 } }, audio: true });
      const audio = stream.getAudioTracks()[0];
      this.#adopt('screen', stream.getVideoTracks()[0]);
      if (audio && this.#closed) audio.stop();
      else this.update({ screenSound: audio });
    } catch (error) {
      // The user closed the dialog of the browser: no message is needed.
      if (error instanceof DOMException && error.name === 'NotAllowedError' && !/system/i.test(error.message)) return;
      this.update({ problem: 'Could not share the screen. Your operating system may block the browser from recording it.' });
    }
  }

  /** Turns a source off, for callers other than its button. */
  turnOff(source: Source): void {
    if (source === 'screen' || source === 'screenSound') this.stopScreen();
    else this.#switchOff(source);
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

  async #openBoth(microphoneOn: boolean): Promise<boolean> {
    if (!this.#devices) return false;
    const turn = this.#begin(kinds);
    const { camera, microphone } = this.state.preferences;
    try {
      const stream = await this.#devices.getUserMedia({
        video: { ...videoConstraints, ...exactly(camera) },
        audio: { ...audioConstraints, ...exactly(microphone) },
      });
      this.#adopt('camera', stream.getVideoTracks()[0], turn);
      this.#adopt('microphone', stream.getAudioTracks()[0], turn, microphoneOn);
      await this.#listDevices();
      return true;
    } catch {
      // Separate requests show which of the two failed.
      return false;
    } finally {
      this.update({ busy: false });
    }
  }

  #begin(which: readonly DeviceKind[]): symbol {
    const turn = Symbol(which.join());
    for (const kind of which) this.#newest.set(kind, turn);
    const problems = Object.fromEntries(Object.entries(this.state.problems).filter(([kind]) => !which.includes(kind as DeviceKind)));
    this.update({ busy: true, problem: undefined, problems });
    return turn;
  }

  #ask(kind: DeviceKind, deviceId: string | undefined): Promise<MediaStream> {
    const devices = this.#devices as MediaDevices;
    return devices.getUserMedia(
      kind === 'camera'
        ? { video: { ...videoConstraints, ...exactly(deviceId) } }
        : { audio: { ...audioConstraints, ...exactly(deviceId) } },
    );
  }

  #fail(kind: DeviceKind, problem: DeviceError): void {
    if (!this.#closed) this.update({ problems: { ...this.state.problems, [kind]: problem }, problem: problem.message });
  }

  /** @param turn the request of open(): a newer one wins. @param on initial state of a microphone that replaces no other one */
  #adopt(kind: DeviceKind | 'screen', track: MediaStreamTrack | undefined, turn?: symbol, on = true): void {
    if (!track) return;
    if (this.#closed || (kind !== 'screen' && this.#newest.get(kind) !== turn)) {
      track.stop();
      return;
    }
    track.addEventListener('ended', () => {
      if (this.state[kind] === track) this.#ended(kind);
    });
    const before = this.state[kind];
    // In one update: a microphone that is off is never on in between, and the publication continues with the new track.
    if (kind === 'microphone') {
      track.enabled = before ? this.state.microphoneOn : on;
      this.update({ microphone: track, microphoneOn: track.enabled });
    } else this.update({ [kind]: track });
    before?.stop();
  }

  /** The device was disconnected or revoked by the system. Another one replaces it if available. */
  #ended(kind: DeviceKind | 'screen'): void {
    if (kind === 'screen') {
      this.stopScreen();
      return;
    }
    const wasOn = kind === 'camera' || this.state.microphoneOn;
    this.#stop(kind);
    void this.#listDevices().then(async () => {
      if (this.#closed || this.state[kind]) return;
      const others = kind === 'camera' ? this.state.cameras : this.state.microphones;
      if (others.length > 0 && wasOn) await this.open(kind);
      const { [kind]: taken } = { ...this.state };
      this.update({ problem: `The ${kind} was disconnected${taken ? `; using ${taken.label} instead` : ''}.` });
    });
  }

  /** Also cancels a pending request, so that the device is not turned on later. */
  #switchOff(kind: DeviceKind): void {
    this.#newest.delete(kind);
    this.#stop(kind);
  }

  #stop(kind: DeviceKind | 'screen'): void {
    this.state[kind]?.stop();
    if (this.state[kind]) this.update(kind === 'microphone' ? { microphone: undefined, microphoneOn: false } : { [kind]: undefined });
  }

  /** Opens a device that was missing and is connected now. */
  async #devicesChanged(): Promise<void> {
    const all = await this.#listDevices();
    for (const kind of kinds) {
      const there = all.some((device) => device.kind === (kind === 'camera' ? 'videoinput' : 'audioinput'));
      if (there && !this.state[kind] && this.state.problems[kind]?.reason === 'missing') await this.open(kind);
    }
  }

  async #listDevices(): Promise<readonly MediaDeviceInfo[]> {
    const all = (await this.#devices?.enumerateDevices().catch(() => [])) ?? [];
    if (this.#closed) return [];
    // Without permission the browser returns empty ids.
    const named = all.filter((device) => device.deviceId !== '');
    this.update({
      cameras: named.filter((device) => device.kind === 'videoinput'),
      microphones: named.filter((device) => device.kind === 'audioinput'),
      speakers: canChooseSpeaker ? named.filter((device) => device.kind === 'audiooutput') : [],
    });
    return all;
  }
}

/** True if the browser supports choosing a speaker. */
export const canChooseSpeaker = 'setSinkId' in HTMLMediaElement.prototype;

function exactly(deviceId: string | undefined): { deviceId?: { exact: string } } {
  return deviceId ? { deviceId: { exact: deviceId } } : {};
}

/** True if the page has the permission of the browser; false if the browser does not report it. */
async function mayUse(kind: DeviceKind): Promise<boolean> {
  try {
    return (await navigator.permissions.query({ name: kind as PermissionName })).state === 'granted';
  } catch {
    return false;
  }
}
