// ffmpeg as a publisher: a colour or a tone as RTP in real time, into a room over loopback, with packets lost on the way where a test wants it.
import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import type { RoomInput, WireObject } from '../../node/rooms/ports.ts';

const sources = {
  opus: { kind: 'audio', mimeType: 'audio/opus', clockRate: 48_000, encoder: ['-c:a', 'libopus', '-b:a', '64k'] },
  vp8: { kind: 'video', mimeType: 'video/VP8', clockRate: 90_000, encoder: ['-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '8'] },
  vp9: {
    kind: 'video',
    mimeType: 'video/VP9',
    clockRate: 90_000,
    encoder: ['-c:v', 'libvpx-vp9', '-deadline', 'realtime', '-cpu-used', '8', '-strict', 'experimental'],
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
  input: RoomInput;
  trackId: string;
  /** `0xRRGGBB` of video, hertz of audio. */
  content: string | number;
  /** Whether the packet of this number is lost on its way. */
  lose?: (number: number) => boolean;
};

let ssrcs = 1000;

/** Publishes the track and resolves when its first packet is on its way. Ended by the test, or by stop(). */
export async function startPublisher(t: TestContext, { codec, input, trackId, content, lose }: PublisherOptions) {
  const { kind, mimeType, clockRate, encoder } = sources[codec];
  ssrcs += 1;
  const ssrc = ssrcs;
  const socket = createSocket('udp4');
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
  const source = kind === 'audio' ? `sine=frequency=${content}:sample_rate=48000` : `color=c=${content}:s=320x180:r=30,noise=alls=2:allf=t`;
  const video = kind === 'video' ? ['-pix_fmt', 'yuv420p', '-g', '15', '-b:v', '500k'] : [];
  const rtp = ['-f', 'rtp', '-ssrc', String(ssrc), '-payload_type', '100', `rtp://127.0.0.1:${port}?rtcpport=${port}&pkt_size=1200`];
  const args = ['-v', 'error', '-nostdin', '-re', '-f', 'lavfi', '-i', source, ...video, ...encoder, ...rtp];
  const child: ChildProcess = spawn('ffmpeg', args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(child, 'exit');
  const first = Promise.withResolvers<void>();
  let packets = 0;
  socket.on('message', (packet, from) => {
    // What the room says about the media comes over the same socket.
    if (from.port === to.port) return;
    const isMedia = (packet[1] ?? 0) < 192 || (packet[1] ?? 0) > 223;
    if (isMedia) packets += 1;
    if (isMedia && lose?.(packets)) return;
    socket.send(packet, to.port, to.ip);
    first.resolve();
  });
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  t.after(stop);
  await first.promise;
  return { stop };
}
