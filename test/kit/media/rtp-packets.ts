// RTP without a network: ffmpeg encodes a color or a tone; tests send the packets intact or damaged.
import { createSocket } from 'node:dgram';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ComposedEncoding } from '../../../node/components/hls/composer/composer-messages.ts';
import { at } from '../pace.ts';
import { makeResources } from '../processes/resources-folder.ts';
import { ffmpeg } from './ffmpeg.ts';

const encoders = {
  vp8: ['-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '8'],
  vp9: ['-c:v', 'libvpx-vp9', '-deadline', 'realtime', '-cpu-used', '8'],
  h264: ['-c:v', 'libx264', '-profile:v', 'baseline', '-preset', 'ultrafast', '-tune', 'zerolatency', '-bsf:v', 'dump_extra'],
  av1: ['-c:v', 'libaom-av1', '-usage', 'realtime', '-cpu-used', '8', '-lag-in-frames', '0'],
  opus: ['-c:a', 'libopus', '-b:a', '64k'],
} as const satisfies Record<ComposedEncoding, readonly string[]>;

/** `content`: `0xRRGGBB` of video, hertz of audio. */
export async function makeRtp(t: TestContext, encoding: ComposedEncoding, content: string | number, seconds: number): Promise<Buffer[]> {
  const source =
    encoding === 'opus' ? `sine=frequency=${content}:sample_rate=48000` : `color=c=${content}:s=320x180:r=30,noise=alls=2:allf=t`;
  const args = ['-f', 'lavfi', '-i', source, '-t', String(seconds), ...encoders[encoding]];
  const gop = ['-pix_fmt', 'yuv420p', '-g', '15', '-b:v', '500k'];
  if (encoding === 'av1') {
    const path = join(await makeResources(t), 'published.ivf');
    await ffmpeg([...args, ...gop, path]);
    return av1Packets(await readFile(path));
  }
  return sentPackets([...args, ...(encoding === 'opus' ? [] : gop), '-strict', 'experimental']);
}

/** Finds the start of each packet. */
const ownSsrc = 0x6b69_7421;

/**
 * RTP packets of ffmpeg without RTCP, through a pipe, because a socket drops packets while its reader is blocked.
 * @param args of ffmpeg, without output
 */
export async function sentPackets(args: readonly string[]): Promise<Buffer[]> {
  const output = ['-sdp_file', '/dev/null', '-f', 'rtp', '-packetsize', '1200', '-rtpflags', 'skip_rtcp', '-ssrc', String(ownSsrc)];
  const { bytes } = await ffmpeg([...args, ...output, '-seq', '0', 'pipe:1']);
  const starts: number[] = [];
  for (let at = 0; at + 12 <= bytes.length; at += 1) {
    const begins = bytes[at] === 0x80 && bytes.readUInt16BE(at + 2) === (starts.length & 0xffff) && bytes.readUInt32BE(at + 8) === ownSsrc;
    if (begins) starts.push(at);
  }
  return starts.map((start, index) => bytes.subarray(start, starts[index + 1]));
}

/** The packet with another source. */
export function withSsrc(packet: Buffer, ssrc: number): Buffer {
  const copy = Buffer.from(packet);
  if (copy.length >= 12) copy.writeUInt32BE(ssrc, 8);
  return copy;
}

/** Sends packets at the times of their timestamps, until all are sent or the test ends. */
export async function sendInTime(
  t: TestContext,
  packets: readonly Buffer[],
  to: { ssrc: number; port: number; clockRate: number },
): Promise<void> {
  const socket = createSocket('udp4');
  let ended = false;
  t.after(() => {
    ended = true;
    socket.close();
  });
  const first = packets[0]?.readUInt32BE(4) ?? 0;
  const start = performance.now();
  for (const packet of packets) {
    const due = start + (((packet.readUInt32BE(4) - first) >>> 0) * 1000) / to.clockRate;
    await at(due);
    if (ended) return;
    socket.send(withSsrc(packet, to.ssrc), to.port, '127.0.0.1');
  }
}

/** Packs like browsers: OBUs without sizes, in fragments that fit (https://aomediacodec.github.io/av1-rtp-spec/, section 4.4). */
export function av1Packets(ivf: Buffer): Buffer[] {
  const packets: Buffer[] = [];
  for (let at = 32, time = 0; at + 12 <= ivf.length; time += 3000) {
    const size = ivf.readUInt32LE(at);
    packets.push(...av1Frame(ivf.subarray(at + 12, at + 12 + size), time, packets.length));
    at += 12 + size;
  }
  return packets;
}

function av1Frame(unit: Buffer, timestamp: number, sequence: number): Buffer[] {
  const obus: Buffer[] = [];
  for (let at = 0; at < unit.length; ) {
    const head = unit[at] ?? 0;
    const start = head & 4 ? 2 : 1;
    let [size, bytes] = [0, 0];
    for (let more = true; more; bytes += 1) {
      const byte = unit[at + start + bytes] ?? 0;
      size |= (byte & 0x7f) << (bytes * 7);
      more = (byte & 0x80) !== 0;
    }
    const header = Buffer.from(unit.subarray(at, at + start));
    header[0] = head & ~2;
    const type = (head >> 3) & 15;
    if (type !== 2) obus.push(Buffer.concat([header, unit.subarray(at + start + bytes, at + start + bytes + size)]));
    at += start + bytes + size;
  }
  const begins = obus.some((obu) => (((obu[0] ?? 0) >> 3) & 15) === 1);
  const fragments = obus.flatMap((obu) =>
    Array.from({ length: Math.ceil(obu.length / 1100) }, (_, index) => ({
      bytes: obu.subarray(index * 1100, (index + 1) * 1100),
      continues: index > 0,
      open: (index + 1) * 1100 < obu.length,
    })),
  );
  return fragments.map(({ bytes, continues, open }, index) => {
    const header = Buffer.alloc(13);
    header[0] = 0x80;
    header[1] = 100 | (index === fragments.length - 1 ? 0x80 : 0);
    header.writeUInt16BE((sequence + index) & 0xffff, 2);
    header.writeUInt32BE(timestamp, 4);
    header[12] = (continues ? 0x80 : 0) | (open ? 0x40 : 0) | 0x10 | (begins && index === 0 ? 0x08 : 0);
    return Buffer.concat([header, bytes]);
  });
}
