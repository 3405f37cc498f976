// Page script of browser tests: the client library, local test video and audio, and instruments that measure remote media.
import { WHEPClient } from 'whip-whep/whep.js';
import { RoomClient, type RoomClientOptions } from '../../../packages/client/src/index.ts';
import { codeSteps, drawCode, drawNumber, readCode } from '../media/time-code.ts';
import { Ear, type VideoContinuity, watchVideo } from './continuity.ts';

export type Colour = [red: number, green: number, blue: number];
export type FrameProbe = { colour: Colour; change: number; width: number; height: number };

/**
 * A video of one color with a moving white bar. The frame rate is low, because each frame costs an encoder and all decoders. `numbered`: each
 * frame has its number; `noisy`: each has other details, so that an encoder needs all of its bitrate.
 */
function pattern(colour: string, width = 640, height = 360, rate = 15, { numbered = false, noisy = false } = {}): MediaStreamTrack {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext('2d');
  let step = 0;
  const draw = () => {
    if (!context) return;
    context.fillStyle = colour;
    context.fillRect(0, 0, width, height);
    context.fillStyle = 'white';
    context.fillRect((step * 14) % width, 0, width / 16, height);
    if (noisy) drawNoise(context, width, height);
    if (numbered) drawNumber(context, width, height, step);
    step += 1;
  };
  draw();
  setInterval(draw, 1000 / rate);
  return canvas.captureStream(rate).getVideoTracks()[0] as MediaStreamTrack;
}

/** Boxes of random places and shades that leave the median colour as it is. */
function drawNoise(context: CanvasRenderingContext2D, width: number, height: number): void {
  for (let box = 0; box < 20; box += 1) {
    context.fillStyle = box % 2 === 0 ? 'rgb(255 255 255 / 0.3)' : 'rgb(0 0 0 / 0.3)';
    context.fillRect(Math.random() * width, Math.random() * height, width / 20, height / 20);
  }
}

let audio: AudioContext | undefined;

function audioContext(): AudioContext {
  audio ??= new AudioContext();
  return audio;
}

/** A tone with this frequency in hertz. */
function tone(frequency: number): MediaStreamTrack {
  return beeper(frequency).track;
}

/** `turn`: switches the tone on or off. @returns the time of the switch, in milliseconds since 1970 */
type Beeper = { track: MediaStreamTrack; turn: (on: boolean) => number };

/** A tone that can be switched on and off; initially on. */
function beeper(frequency: number): Beeper {
  const context = audioContext();
  const oscillator = context.createOscillator();
  oscillator.frequency.value = frequency;
  const gain = context.createGain();
  const destination = context.createMediaStreamDestination();
  oscillator.connect(gain).connect(destination);
  oscillator.start();
  const turn = (on: boolean) => {
    gain.gain.value = on ? 1 : 0;
    return performance.timeOrigin + performance.now();
  };
  return { track: destination.stream.getAudioTracks()[0] as MediaStreamTrack, turn };
}

function pixels(video: HTMLVideoElement): Uint8ClampedArray {
  const canvas = document.createElement('canvas');
  canvas.width = 64;
  canvas.height = 36;
  const context = canvas.getContext('2d', { willReadFrequently: true });
  context?.drawImage(video, 0, 0, 64, 36);
  return context?.getImageData(0, 0, 64, 36).data ?? new Uint8ClampedArray();
}

/** True if another frame arrives: false after two seconds, or if the element was removed from the page. */
function nextFrame(video: HTMLVideoElement): Promise<boolean> {
  const shown = video.isConnected;
  const began = performance.now();
  return new Promise((resolve) => {
    const end = (came: boolean) => {
      clearInterval(watch);
      resolve(came);
    };
    const watch = setInterval(() => {
      if (performance.now() - began > 2_000 || (shown && !video.isConnected)) end(false);
    }, 50);
    video.requestVideoFrameCallback(() => end(true));
  });
}

/** The color of most of a frame, and its change within five frames; undefined if no frames arrive. */
async function probe(video: HTMLVideoElement): Promise<FrameProbe | undefined> {
  const before = pixels(video);
  for (let frame = 0; frame < 5; frame += 1) if (!(await nextFrame(video))) return undefined;
  const after = pixels(video);
  const median = (channel: number) => {
    const values = Array.from({ length: after.length / 4 }, (_, index) => after[index * 4 + channel] ?? 0).sort((a, b) => a - b);
    return values[Math.floor(values.length / 2)] ?? 0;
  };
  let change = 0;
  for (let index = 0; index < after.length; index += 1) change += Math.abs((after[index] ?? 0) - (before[index] ?? 0));
  return { colour: [median(0), median(1), median(2)], change: change / after.length, width: video.videoWidth, height: video.videoHeight };
}

/** Milliseconds from the time code in each frame to its display, for as many milliseconds; empty without a time code. */
function frameDelays(video: HTMLVideoElement, time: number): Promise<number[]> {
  const canvas = document.createElement('canvas');
  const delays: number[] = [];
  const end = performance.now() + time;
  return new Promise((resolve) => {
    const read = () => {
      const { videoWidth: width, videoHeight: height } = video;
      if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
      const context = canvas.getContext('2d', { willReadFrequently: true }) as CanvasRenderingContext2D;
      context.drawImage(video, 0, 0);
      const code = readCode(context, width, height);
      if (code !== undefined) delays.push(codeSteps(code, Date.now()));
      if (performance.now() < end) video.requestVideoFrameCallback(read);
      else resolve(delays);
    };
    video.requestVideoFrameCallback(read);
  });
}

type Spectrum = { /** In decibels. */ levels: Float32Array /** Hertz between two levels. */; step: number };

async function spectrum(track: MediaStreamTrack): Promise<Spectrum> {
  const context = audioContext();
  const analyser = context.createAnalyser();
  analyser.fftSize = 8192;
  const source = context.createMediaStreamSource(new MediaStream([track]));
  source.connect(analyser);
  await new Promise((resolve) => setTimeout(resolve, 400));
  const levels = new Float32Array(analyser.frequencyBinCount);
  analyser.getFloatFrequencyData(levels);
  source.disconnect();
  return { levels, step: context.sampleRate / analyser.fftSize };
}

/** The loudest frequency of a track in hertz; 0 if it is silent. */
async function loudest(track: MediaStreamTrack): Promise<number> {
  const { levels, step } = await spectrum(track);
  const best = levels.reduce((top, level, index) => (level > (levels[top] ?? 0) ? index : top), 0);
  return (levels[best] ?? -200) > -70 ? best * step : 0;
}

/** Difference in decibels between the first frequency of a track and the second. */
async function louderBy(track: MediaStreamTrack, [first, second]: readonly [number, number]): Promise<number> {
  const { levels, step } = await spectrum(track);
  const around = (frequency: number) => Math.max(...levels.subarray(Math.round(frequency / step) - 2, Math.round(frequency / step) + 3));
  return around(first) - around(second);
}

export type Continuity = { video: VideoContinuity; audio: { heard: number; gap: number } };
type Note = { at: number; name: string; detail?: unknown };

/** One room of the page: shows and plays all received media. */
class TestRoom {
  readonly room: RoomClient;
  readonly notes: Note[] = [];
  /** By track id. */
  readonly elements = new Map<string, HTMLMediaElement>();
  readonly arrived = new Map<string, { kind: string; peerId: string | undefined; at: number; firstFrame?: number }>();
  /** The longest time between two rendered frames, per track, in milliseconds. */
  readonly gaps = new Map<string, number>();
  size = { width: 640, height: 360 };
  readonly #watched = new Map<string, () => Continuity>();

  constructor(options: RoomClientOptions) {
    this.room = new RoomClient(options);
    const note = (name: string, detail?: unknown) => this.notes.push({ at: performance.now(), name, detail });
    this.room.on('stateChanged', ({ state }) => note(state));
    this.room.on('closed', (closing) => note('closed', closing));
    this.room.on('data', (data) => note('data', data));
    this.room.on('activeSpeaker', ({ peerId }) => note('activeSpeaker', peerId));
    this.room.on('layersChanged', (data) => note('layersChanged', data));
    this.room.on('localTrackEnded', ({ track, reason }) => note('localTrackEnded', { id: track.id, reason }));
    this.room.on('localTrackMuted', ({ muted }) => note('localTrackMuted', muted));
    this.room.on('dataChannel', ({ channel }) => {
      note('dataChannel', { label: channel.label, peerId: channel.peerId });
      channel.on('closed', () => note('dataChannelClosed', channel.label));
      channel.on('message', ({ data }) => note('message', typeof data === 'string' ? data : { bytes: (data as ArrayBuffer).byteLength }));
    });
    this.room.on('trackReplaced', ({ trackId }) => note('trackReplaced', trackId));
    this.room.on('trackSubscribed', ({ trackId, kind, peerId, componentId }) => this.#show(trackId, kind, peerId ?? componentId));
    this.room.on('trackUnsubscribed', ({ trackId }) => {
      note('trackUnsubscribed', trackId);
      this.elements.get(trackId)?.remove();
      this.elements.delete(trackId);
      this.arrived.delete(trackId);
    });
  }

  /** True if video and audio of a peer are shown. */
  plays(peerId: string): boolean {
    const video = this.arrived.get(this.trackOf(peerId, 'video') ?? '');
    return video?.firstFrame !== undefined && this.trackOf(peerId, 'audio') !== undefined;
  }

  /** Watches the numbered video and the audio of a peer, until endWatch(). */
  watch(peerId: string): void {
    const [video = '', audio = ''] = (['video', 'audio'] as const).map((kind) => this.trackOf(peerId, kind));
    const endVideo = watchVideo(this.elements.get(video) as HTMLVideoElement);
    const ear = new Ear(audioContext(), this.room.mediaStreamTrack(audio) as MediaStreamTrack);
    const off = this.room.on('trackReplaced', ({ trackId, track }) => {
      if (trackId === audio) ear.follow(track);
    });
    this.#watched.set(peerId, () => {
      off();
      return { video: endVideo(), audio: ear.end() };
    });
  }

  endWatch(peerId: string): Continuity | undefined {
    return this.#watched.get(peerId)?.();
  }

  /** Id of the received track of this kind from this peer or component. */
  trackOf(peerId: string, kind: string): string | undefined {
    return [...this.arrived].find(([, each]) => each.peerId === peerId && each.kind === kind)?.[0];
  }

  async frameOf(peerId: string): Promise<FrameProbe | undefined> {
    const video = this.elements.get(this.trackOf(peerId, 'video') ?? '');
    return video instanceof HTMLVideoElement && video.videoWidth > 0 ? probe(video) : undefined;
  }

  async louderOf(peerId: string, frequencies: readonly [number, number]): Promise<number | undefined> {
    const track = this.room.mediaStreamTrack(this.trackOf(peerId, 'audio') ?? '');
    return track && louderBy(track, frequencies);
  }

  async toneOf(peerId: string): Promise<number | undefined> {
    const track = this.room.mediaStreamTrack(this.trackOf(peerId, 'audio') ?? '');
    return track && loudest(track);
  }

  #show(trackId: string, kind: string, peerId: string | undefined): void {
    const element = document.createElement(kind === 'audio' ? 'audio' : 'video');
    element.muted = true;
    if (element instanceof HTMLVideoElement) element.style.cssText = `width:${this.size.width}px;height:${this.size.height}px`;
    document.body.append(element);
    this.elements.set(trackId, element);
    const arrival: { kind: string; peerId: string | undefined; at: number; firstFrame?: number } = { kind, peerId, at: performance.now() };
    this.arrived.set(trackId, arrival);
    this.room.attach(trackId, element);
    if (!(element instanceof HTMLVideoElement)) return;
    let last: number | undefined;
    const count = (now: number) => {
      arrival.firstFrame ??= now;
      if (last !== undefined) this.gaps.set(trackId, Math.max(this.gaps.get(trackId) ?? 0, now - last));
      last = now;
      element.requestVideoFrameCallback(count);
    };
    element.requestVideoFrameCallback(count);
  }
}

/** Every media connection that this page created, in order; connections without media are capability checks of the library. */
const connections: RTCPeerConnection[] = [];
/** Number of media sections of each description that was set on a connection, in order. */
const negotiations: number[] = [];
globalThis.RTCPeerConnection = class extends RTCPeerConnection {
  constructor(configuration?: RTCConfiguration) {
    super(configuration);
    this.addEventListener('icegatheringstatechange', () => {
      if (!connections.includes(this)) connections.push(this);
    });
  }

  override setRemoteDescription(description: RTCSessionDescriptionInit): Promise<void> {
    negotiations.push((description.sdp ?? '').split('\nm=').length - 1);
    return super.setRemoteDescription(description);
  }
};

const pageKit = {
  ...{ connections, negotiations, RoomClient, WHEPClient, drawCode, frameDelays, TestRoom, pattern, tone, beeper, probe, loudest },
  rooms: {} as Record<string, TestRoom>,
  beepers: {} as Record<string, Beeper>,
};
export type PageKit = typeof pageKit;
declare global {
  var kit: PageKit;
}
globalThis.kit = pageKit;
