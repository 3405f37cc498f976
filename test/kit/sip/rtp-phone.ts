// Remote phone with plain RTP: sends audio encoded by ffmpeg, and stores received audio, which ffmpeg or libopus decodes.
import { spawn } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { AudioDecoder } from '../../../node/components/ffmpeg/audio-decoder.ts';
import { parseRtp, type RtpPacket } from '../../../node/components/rtp/rtp-reader.ts';
import { rtpPacket } from '../../../node/components/rtp/rtp-writer.ts';
import type { CallCodec, NegotiatedMedia } from '../../../node/components/sip/audio/session.ts';
import { ffmpeg } from '../media/ffmpeg.ts';
import { sentPackets } from '../media/rtp-packets.ts';
import { concat } from '../media/tones.ts';
import { freePort } from '../network/free-ports.ts';
import { dueSince } from '../pace.ts';
import { makeResources } from '../processes/resources-folder.ts';

const payloadTypes = { opus: 107, G722: 9, PCMA: 8, PCMU: 0 } as const satisfies Record<CallCodec, number>;
export const digitType = 101;
const formats = { G722: ['-f', 'g722'], PCMA: ['-f', 'alaw', '-ar', '8000'], PCMU: ['-f', 'mulaw', '-ar', '8000'] } as const;
const clocks = { opus: 48_000, G722: 8000, PCMA: 8000, PCMU: 8000 } as const satisfies Record<CallCodec, number>;
const encoders = {
  opus: ['-c:a', 'libopus', '-b:a', '32k', '-ar', '48000'],
  G722: ['-c:a', 'g722', '-ar', '16000'],
  PCMA: ['-c:a', 'pcm_alaw', '-ar', '8000'],
  PCMU: ['-c:a', 'pcm_mulaw', '-ar', '8000'],
} as const satisfies Record<CallCodec, readonly string[]>;
const rawRate = 48_000;

export type ReceivedAudio = RtpPacket & { at: number };

/** Payloads of 20 ms each, of a continuous tone. */
export async function makeVoice(codec: CallCodec, frequency: number, seconds: number): Promise<Buffer[]> {
  const source = `sine=frequency=${frequency}:sample_rate=48000,volume=2`;
  const args = ['-f', 'lavfi', '-i', source, '-t', String(seconds), '-ac', '1', ...encoders[codec]];
  const payloads = (await sentPackets(args)).flatMap((packet) => parseRtp(packet)?.payload ?? []);
  if (codec === 'opus') return payloads;
  const payload = Buffer.concat(payloads);
  return Array.from({ length: Math.floor(payload.length / 160) }, (_, index) => payload.subarray(index * 160, (index + 1) * 160));
}

export class RtpPhone {
  readonly codec: CallCodec;
  readonly heard: ReceivedAudio[] = [];
  readonly socket: Socket;
  readonly #t: TestContext;
  #sequence = 60_000;
  #timer: NodeJS.Timeout | undefined;
  #stop: (() => void) | undefined;

  private constructor(t: TestContext, codec: CallCodec, socket: Socket) {
    this.#t = t;
    this.codec = codec;
    this.socket = socket;
    socket.on('message', (packet) => {
      const rtp = parseRtp(packet);
      if (rtp) this.heard.push({ ...rtp, at: performance.now() });
    });
    t.after(() => {
      clearTimeout(this.#timer);
      socket.close();
    });
  }

  static async open(t: TestContext, codec: CallCodec, ip = '127.0.0.1'): Promise<RtpPhone> {
    const socket = createSocket({ type: isIPv6(ip) ? 'udp6' : 'udp4', recvBufferSize: 1024 * 1024 });
    socket.bind(0, ip);
    await once(socket, 'listening');
    return new RtpPhone(t, codec, socket);
  }

  get port(): number {
    return this.socket.address().port;
  }

  /** Negotiated media for this phone. */
  agreed(change: Partial<NegotiatedMedia> = {}): NegotiatedMedia {
    return {
      codec: this.codec,
      payloadType: payloadTypes[this.codec],
      dtmfPayloadType: digitType,
      comfortNoisePayloadType: undefined,
      remote: { ip: '127.0.0.1', port: this.port },
      keys: undefined,
      direction: 'sendrecv',
      ...change,
    };
  }

  /** Sends a packet each 20 ms. `lose`: true if the packet of this number is lost. `protect`: transforms the packet. */
  speak(
    payloads: readonly Buffer[],
    to: { port: number; ip?: string },
    {
      lose = (_index: number): boolean => false,
      ssrc = 4711,
      payloadType = payloadTypes[this.codec] as number,
      protect = (packet: Buffer) => packet,
    } = {},
  ): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#stop = resolve;
    const start = performance.now();
    const step = clocks[this.codec] / 50;
    const first = this.#sequence;
    let index = 0;
    const next = () => {
      for (const due = Math.min(payloads.length, dueSince(start, 20)); index < due; index += 1) {
        const sequence = (first + index) % 2 ** 16;
        const header = { payloadType, sequence, timestamp: (4_294_900_000 + (first + index) * step) % 2 ** 32, ssrc, marker: index === 0 };
        const packet = protect(rtpPacket(header, payloads[index] ?? Buffer.alloc(0)));
        if (!lose(index)) this.socket.send(packet, to.port, to.ip ?? '127.0.0.1');
      }
      this.#sequence = (first + index) % 2 ** 16;
      if (index >= payloads.length) resolve();
      else this.#timer = setTimeout(next, Math.max(1, start + index * 20 - performance.now()));
    };
    next();
    return promise;
  }

  /** Stops speak(). */
  stop(): void {
    clearTimeout(this.#timer);
    this.#stop?.();
  }

  /** Sends one more packet after the last spoken one. */
  send({ payload, ...header }: { payload: Buffer; payloadType: number; timestamp: number; marker: boolean }, to: { port: number }): void {
    this.socket.send(rtpPacket({ ...header, sequence: this.#sequence, ssrc: 4711 }, payload), to.port, '127.0.0.1');
    this.#sequence = (this.#sequence + 1) % 2 ** 16;
  }

  /** Received audio since then at 48 kHz, packets in order. */
  async samples(since = 0): Promise<Float32Array> {
    const payloads = this.heard
      .filter(({ at, payloadType }) => at >= since && payloadType === payloadTypes[this.codec])
      .map(({ payload }) => payload);
    return decodeAudio(this.#t, this.codec, payloads);
  }
}

export async function decodeAudio(t: TestContext, codec: CallCodec, payloads: readonly Buffer[]): Promise<Float32Array> {
  if (codec === 'opus') {
    const decoder = new AudioDecoder({ codec: 'opus', channels: 1 });
    const samples = concat(payloads.map((payload) => decoder.decode(payload)));
    decoder.close();
    return samples;
  }
  const path = join(await makeResources(t), 'heard.raw');
  await writeFile(path, Buffer.concat(payloads));
  const args = [...formats[codec], '-i', path, '-ar', String(rawRate), '-ac', '1', '-f', 'f32le', '-'];
  const { bytes } = await ffmpeg(args);
  return new Float32Array(new Uint8Array(bytes).buffer, 0, Math.floor(bytes.length / 4));
}

type SrtpOptions = { suite: string; key: string };

/** ffmpeg sends a tone as SRTP in PCMA, from the port of the phone. */
export async function encodeSrtp(
  t: TestContext,
  { suite, key, frequency, seconds, from, to }: SrtpOptions & { frequency: number; seconds: number; from: RtpPhone; to: number },
): Promise<void> {
  const relay = createSocket('udp4');
  relay.on('message', (packet) => from.socket.send(packet, to, '127.0.0.1'));
  relay.bind(0, '127.0.0.1');
  await once(relay, 'listening');
  t.after(() => relay.close());
  const source = ['-re', '-f', 'lavfi', '-i', `sine=frequency=${frequency}:sample_rate=8000,volume=2`, '-t', String(seconds)];
  const srtp = ['-srtp_out_suite', suite, '-srtp_out_params', key];
  const url = `srtp://127.0.0.1:${relay.address().port}?rtcpport=9&pkt_size=176`;
  await ffmpeg([...source, '-c:a', 'pcm_alaw', ...srtp, '-f', 'rtp', url]);
}

/** ffmpeg receives SRTP in PCMA. */
export async function decodeSrtp(t: TestContext, { suite, key }: SrtpOptions) {
  const port = await freePort();
  const folder = await makeResources(t);
  const sdp = ['v=0', 'o=- 0 0 IN IP4 127.0.0.1', 's=-', 'c=IN IP4 127.0.0.1', 't=0 0'];
  const media = [`m=audio ${port} RTP/SAVP 8`, 'a=rtpmap:8 PCMA/8000', `a=crypto:1 ${suite} inline:${key}`, ''];
  await writeFile(join(folder, 'call.sdp'), [...sdp, ...media].join('\r\n'));
  const input = ['-protocol_whitelist', 'file,udp,rtp,srtp,crypto', '-i', join(folder, 'call.sdp')];
  const args = ['-v', 'error', '-nostdin', ...input, '-ar', String(rawRate), '-ac', '1', '-f', 'f32le', '-flush_packets', '1', '-'];
  const child = spawn('ffmpeg', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  t.after(() => child.kill('SIGKILL'));
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  return {
    port,
    reading: once(child.stdout, 'data'),
    /** Ends ffmpeg. @returns the received audio */
    end: async () => {
      child.kill('SIGINT');
      await ended;
      const bytes = Buffer.concat(chunks);
      return new Float32Array(new Uint8Array(bytes).buffer, 0, Math.floor(bytes.length / 4));
    },
  };
}
