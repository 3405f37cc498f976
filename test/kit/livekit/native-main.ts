// Program of a participant with LiveKit's native client (the core in Rust, unmodified): executes commands of its test, one per line, and
// reports what it receives. Arguments: address of the server, access token.
import { createInterface } from 'node:readline';
import {
  AudioFrame,
  AudioSource,
  AudioStream,
  LocalAudioTrack,
  LocalVideoTrack,
  Room,
  RoomEvent,
  TrackKind,
  TrackPublishOptions,
  TrackSource,
  VideoBufferType,
  VideoFrame,
  VideoSource,
  VideoStream,
} from '@livekit/rtc-node';
import { levelOf, tone } from '../media/tones.ts';

type Colour = readonly [number, number, number];
/** `interval`: of the frames, in milliseconds. */
type Publishing = { colour?: Colour; width?: number; height?: number; interval?: number; tone?: number };
type Sent = { topic: string; text: string; reliable: boolean; to?: string[] };
export type NativeCommands = {
  publish: (publishing: Publishing) => Promise<void>;
  /** Level of a tone in the latest audio of a participant, as a share of all of it. */
  share: (identity: string, frequency: number) => number;
  /** Width, height and color of the latest frame of a participant, and the number of frames. */
  frame: (identity: string) => { width: number; height: number; colour: number[]; frames: number } | undefined;
  send: (sent: Sent) => Promise<void>;
  sendText: (text: string, topic: string) => Promise<void>;
  /** Requests the RPC `hello` of another participant. */
  hello: (to: string, payload: string) => Promise<string>;
  leave: () => Promise<void>;
  /** Joins a room, besides the one of the program, and leaves it. @returns milliseconds until it was connected, and until the first frame */
  timeJoin: (url: string, token: string) => Promise<{ connected: number; firstFrame: number }>;
};

const sampleRate = 48_000;
const block = sampleRate / 100;
const frameIntervalMs = 100;
const firstFrameTimeoutMs = 15_000;

const room = new Room();
const audio = new Map<string, Float32Array>();
const video = new Map<string, { frame: VideoFrame; frames: number }>();
const write = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);
const note = (name: string, detail: unknown) => write({ name, detail });

room.on(RoomEvent.TrackSubscribed, (track, _, { identity }) => {
  note('trackSubscribed', [identity, track.kind === TrackKind.KIND_AUDIO ? 'audio' : 'video']);
  void (track.kind === TrackKind.KIND_AUDIO
    ? hear(identity, new AudioStream(track, sampleRate, 1))
    : see(identity, new VideoStream(track)));
});
room.on(RoomEvent.DataReceived, (bytes, participant, _, topic) =>
  note('data', [participant?.identity, topic, new TextDecoder().decode(bytes)]),
);
room.on(RoomEvent.ParticipantDisconnected, ({ identity }) => note('participantDisconnected', identity));
room.on(RoomEvent.TrackUnsubscribed, (track, _, { identity }) =>
  note('trackUnsubscribed', [identity, track.kind === TrackKind.KIND_AUDIO ? 'audio' : 'video']),
);
room.on(RoomEvent.Reconnecting, () => note('reconnecting', null));
room.on(RoomEvent.Reconnected, () => note('reconnected', null));
room.on(RoomEvent.Disconnected, (reason) => note('disconnected', reason));
room.registerTextStreamHandler('text', async (reader, { identity }) => note('text', [identity, await reader.readAll()]));

/** Keeps the latest 50 ms: audio that is late is delayed, and a tone then continues with another phase. */
async function hear(identity: string, stream: AudioStream): Promise<void> {
  const latest = new Float32Array(sampleRate / 20);
  audio.set(identity, latest);
  for await (const { data } of stream) {
    latest.copyWithin(0, data.length);
    for (const [index, sample] of data.entries()) latest[latest.length - data.length + index] = sample / 0x8000;
  }
}

async function see(identity: string, stream: VideoStream): Promise<void> {
  for await (const { frame } of stream) video.set(identity, { frame, frames: (video.get(identity)?.frames ?? 0) + 1 });
}

/** The color of most of a frame: the median of pixels on a grid. */
function colourOf(frame: VideoFrame): number[] {
  const { data } = frame.convert(VideoBufferType.RGBA);
  const pixels = Array.from({ length: 400 }, (_, index) => Math.floor((index * data.length) / 4 / 400) * 4);
  return [0, 1, 2].map((channel) => pixels.map((at) => data[at + channel] ?? 0).sort((a, b) => a - b)[200] ?? 0);
}

/** A frame of one color with a white bar (I420, BT.601). */
function drawFrame([r, g, b]: Colour, width: number, height: number, step: number): VideoFrame {
  const size = width * height;
  const data = new Uint8Array((size * 3) / 2);
  data.fill(16 + 0.257 * r + 0.504 * g + 0.098 * b, 0, size);
  data.fill(128 - 0.148 * r - 0.291 * g + 0.439 * b, size, size * 1.25);
  data.fill(128 + 0.439 * r - 0.368 * g - 0.071 * b, size * 1.25);
  const from = (step * 14) % (width - width / 16);
  for (let row = 0; row < height; row += 1) data.fill(235, row * width + from, row * width + from + width / 16);
  return new VideoFrame(data, width, height, VideoBufferType.I420);
}

async function publishVideo(colour: Colour, width: number, height: number, interval: number): Promise<void> {
  const source = new VideoSource(width, height);
  let step = 0;
  setInterval(() => source.captureFrame(drawFrame(colour, width, height, step++)), interval).unref();
  const track = LocalVideoTrack.createVideoTrack('camera', source);
  await room.localParticipant?.publishTrack(track, new TrackPublishOptions({ source: TrackSource.SOURCE_CAMERA, simulcast: true }));
}

async function publishTone(frequency: number): Promise<void> {
  const source = new AudioSource(sampleRate, 1);
  const microphone = LocalAudioTrack.createAudioTrack('microphone', source);
  const options = new TrackPublishOptions({ source: TrackSource.SOURCE_MICROPHONE, dtx: false, red: true });
  await room.localParticipant?.publishTrack(microphone, options);
  void (async () => {
    // Resolves when the source has room for the next block.
    for (let from = 0; room.isConnected; from += block) {
      const samples = tone(frequency, sampleRate, block, { from });
      await source.captureFrame(
        new AudioFrame(
          Int16Array.from(samples, (sample) => sample * 0x7fff),
          sampleRate,
          1,
          block,
        ),
      );
    }
  })();
}

async function timeJoin(url: string, token: string): Promise<{ connected: number; firstFrame: number }> {
  const joining = new Room();
  const shown = Promise.withResolvers<number>();
  const timer = setTimeout(() => shown.reject(new Error('no frame in time')), firstFrameTimeoutMs);
  const began = performance.now();
  joining.on(RoomEvent.TrackSubscribed, async (track) => {
    if (track.kind !== TrackKind.KIND_VIDEO) return;
    await new VideoStream(track).getReader().read();
    shown.resolve(performance.now() - began);
  });
  try {
    await joining.connect(url, token, { autoSubscribe: true, dynacast: true });
    const connected = performance.now() - began;
    return { connected, firstFrame: await shown.promise };
  } finally {
    clearTimeout(timer);
    await joining.disconnect();
  }
}

const commands: NativeCommands = {
  publish: async ({ colour, width = 320, height = 180, interval = frameIntervalMs, tone: frequency }) => {
    // At once: the client negotiates the first track when the second one is published.
    await Promise.all([colour && publishVideo(colour, width, height, interval), frequency !== undefined && publishTone(frequency)]);
  },
  share: (identity, frequency) => {
    const samples = audio.get(identity) ?? new Float32Array();
    const loudness = Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
    return loudness > 0.02 ? levelOf(samples, frequency, sampleRate) / (loudness * Math.SQRT2) : 0;
  },
  frame: (identity) => {
    const { frame, frames = 0 } = video.get(identity) ?? {};
    return frame && { width: frame.width, height: frame.height, colour: colourOf(frame), frames };
  },
  send: async ({ text, topic, reliable, to }) =>
    room.localParticipant?.publishData(new TextEncoder().encode(text), { reliable, topic, ...(to && { destination_identities: to }) }),
  sendText: async (text, topic) => void (await room.localParticipant?.sendText(text, { topic })),
  hello: async (destinationIdentity, payload) =>
    (await room.localParticipant?.performRpc({ destinationIdentity, method: 'hello', payload })) ?? '',
  leave: () => room.disconnect(),
  timeJoin,
};

const [, , url = '', token = ''] = process.argv;
await room.connect(url, token, { autoSubscribe: true, dynacast: true });
room.localParticipant?.registerRpcMethod('hello', async ({ callerIdentity, payload }) => `hello ${callerIdentity} ${payload}`);
note('connected', null);

createInterface({ input: process.stdin })
  .on('line', async (line) => {
    const { id, name, args } = JSON.parse(line) as { id: number; name: keyof NativeCommands; args: never[] };
    try {
      const run = commands[name] as (...given: never[]) => unknown;
      write({ id, result: await run(...args) });
    } catch (error) {
      write({ id, error: String(error) });
    }
  })
  .on('close', () => process.exit(0));
