// RTP publisher: sends a color or a tone into a room over loopback in real time with ffmpeg, with optional packet loss.
// Content is encoded before it is sent, so that a busy machine does not slow it down.
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { RtpIngress, WireObject } from '../../../node/rooms/interfaces.ts';
import { makeResources } from '../processes/resources-folder.ts';
import { ffmpeg } from './ffmpeg.ts';

const sources = {
  opus: { kind: 'audio', mimeType: 'audio/opus', clockRate: 48_000, encoder: ['-c:a', 'libopus', '-b:a', '64k'] },
  vp8: { kind: 'video', mimeType: 'video/VP8', clockRate: 90_000, encoder: ['-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '8'] },
  vp9: {
    kind: 'video',
    mimeType: 'video/VP9',
    clockRate: 90_000,
    encoder: ['-c:v', 'libvpx-vp9', '-deadline', 'realtime', '-cpu-used', '8'],
  },
  h264: {
    kind: 'video',
    mimeType: 'video/H264',
    clockRate: 90_000,
    encoder: ['-c:v', 'libx264', '-profile:v', 'baseline', '-preset', 'ultrafast', '-tune', 'zerolatency'],
  },
} as const;
export type PublishedCodec = keyof typeof sources;

export type PublisherOptions = {
  codec: PublishedCodec;
  input: RtpIngress;
  trackId: string;
  /** `0xRRGGBB` of video, hertz of audio. */
  content: string | number;
  /** Result of encodeContent(). */
  file?: string | undefined;
  /** True if the packet with this number is lost. */
  lose?: (number: number, packet: Buffer) => boolean;
};

let ssrcs = 1000;

/** Encodes the content to publish: with several publishers, all content is encoded before the first one sends. */
export function encodeContent(t: TestContext, codec: PublishedCodec, content: string | number): Promise<string> {
  const { kind, encoder } = sources[codec];
  const source = kind === 'audio' ? `sine=frequency=${content}:sample_rate=48000` : `color=c=${content}:s=320x180:r=30,noise=alls=2:allf=t`;
  return encode(t, lengths[kind], ['-f', 'lavfi', '-i', source, ...encoder]);
}

/** Publishes the track and resolves when its first packet is sent. Stopped by the test, or by stop(). */
export async function startPublisher(t: TestContext, options: PublisherOptions) {
  const file = options.file ?? (await encodeContent(t, options.codec, options.content));
  const relay = await openRelay(t, options);
  const stop = send(t, file, relay.output);
  await relay.first;
  return { stop };
}

/** White video and a tone of 1 kHz at the same time, for 100 ms in each second; black and silent in between. */
export async function startFlashes(
  t: TestContext,
  video: Omit<PublisherOptions, 'content'>,
  audio: Omit<PublisherOptions, 'content'>,
): Promise<void> {
  const flash = "color=c=black:s=320x180:r=30,drawbox=c=white:t=fill:enable='lt(mod(t\\,1)\\,0.1)'";
  const beep = "aevalsrc='if(lt(mod(t\\,1)\\,0.1)\\,sin(2*PI*1000*t)\\,0)':s=48000";
  const encoders = [...sources[video.codec].encoder, ...sources[audio.codec].encoder];
  const file = await encode(t, lengths.video, ['-f', 'lavfi', '-i', flash, '-f', 'lavfi', '-i', beep, ...encoders]);
  const relays = await Promise.all([openRelay(t, video), openRelay(t, audio)]);
  send(
    t,
    file,
    relays.flatMap(({ output }, index) => ['-map', `0:${index}`, ...output]),
  );
  await Promise.all(relays.map(({ first }) => first));
}

/** Maximum duration in seconds. */
const lengths = { audio: 60, video: 15 } as const;

async function encode(t: TestContext, seconds: number, args: readonly string[]): Promise<string> {
  const file = join(await makeResources(t), 'published.mkv');
  const gop = ['-pix_fmt', 'yuv420p', '-g', '15', '-b:v', '500k'];
  await ffmpeg([...args, ...gop, '-t', String(seconds), file]);
  return file;
}

/** @returns a function that stops it, as the end of the test does */
function send(t: TestContext, file: string, output: readonly string[]): () => Promise<void> {
  const args = ['-v', 'error', '-nostdin', '-re', '-i', file, ...output];
  const child = spawn('ffmpeg', args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  t.after(stop);
  return stop;
}

type Relay = { output: readonly string[]; first: Promise<void> };

/** A published track, and the ffmpeg output for it. */
async function openRelay(t: TestContext, { codec, input, trackId, lose }: Omit<PublisherOptions, 'content'>): Promise<Relay> {
  const { kind, mimeType, clockRate } = sources[codec];
  ssrcs += 1;
  const ssrc = ssrcs;
  // Avoids unintended loss while this process is blocked.
  const socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024 });
  t.after(() => socket.close());
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  const to = await input.connect({ ip: '127.0.0.1', port });
  const codecs = [
    {
      mimeType,
      clockRate,
      payloadType: 100,
      rtcpFeedback: kind === 'video' ? [{ type: 'nack', parameter: 'pli' }] : [],
      ...(kind === 'audio' && { channels: 2 }),
      parameters: codec === 'h264' ? { 'packetization-mode': 1, 'profile-level-id': '42e01f', 'level-asymmetry-allowed': 1 } : {},
    },
  ];
  const rtpParameters: WireObject = { codecs, encodings: [{ ssrc }], headerExtensions: [], rtcp: { cname: trackId } };
  await input.publish({ trackId, kind, rtpParameters });
  const first = Promise.withResolvers<void>();
  let packets = 0;
  socket.on('message', (packet, from) => {
    // RTCP of the room arrives on the same socket.
    if (from.port === to.port) return;
    const isMedia = (packet[1] ?? 0) < 192 || (packet[1] ?? 0) > 223;
    if (isMedia) packets += 1;
    if (isMedia && lose?.(packets, packet)) return;
    socket.send(packet, to.port, to.ip);
    first.resolve();
  });
  // H.264 needs its parameter sets in the stream, not only at the start.
  const filter = codec === 'h264' ? ['-bsf:v', 'h264_mp4toannexb'] : [];
  const rtp = ['-f', 'rtp', '-ssrc', String(ssrc), '-payload_type', '100', `rtp://127.0.0.1:${port}?rtcpport=${port}&pkt_size=1200`];
  return { output: ['-c', 'copy', ...filter, '-strict', 'experimental', ...rtp], first: first.promise };
}
