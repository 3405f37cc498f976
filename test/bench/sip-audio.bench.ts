// Call audio benchmark: cost of 10 and 50 calls in one process, in a room with ten speaking peers, and audio latency.
import { fork } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { VoiceEncoder } from '../../node/components/ffmpeg/voice-encoder.ts';
import { isRtcp, parseRtp } from '../../node/components/rtp/rtp-reader.ts';
import { rtpPacket } from '../../node/components/rtp/rtp-writer.ts';
import { ComponentAudio } from '../../node/components/sip/audio/component-audio.ts';
import { decodeG711, encodeG711 } from '../../node/components/sip/audio/g711.ts';
import type { CallCodec } from '../../node/components/sip/audio/session.ts';
import { tone } from '../kit/media/tones.ts';
import type { Report, Row } from './report.ts';
import { quantile } from './statistics.ts';

const voices = 10;
const measured = 6_000;
const warmUp = 2_000;
const payloadTypes = { opus: 107, G722: 9, PCMA: 8, PCMU: 0 } as const;

export async function benchSipAudio(report: Report): Promise<void> {
  const bare = await measureAudio({ calls: 10, codec: 'PCMA', bare: true });
  const rows: Row[] = [];
  for (const { calls, codec } of [
    { calls: 10, codec: 'PCMA' },
    { calls: 50, codec: 'PCMA' },
    { calls: 10, codec: 'G722' },
    { calls: 10, codec: 'opus' },
  ] as const) {
    const { cpu, memory, delays } = await measureAudio({ calls, codec, bare: false });
    const what = `${calls} calls, ${codec}`;
    rows.push({
      what: `${what}, CPU`,
      value: cpu,
      unit: 'cores',
      baseline: { what: 'the same packets for 10 calls echoed', value: bare.cpu },
    });
    rows.push({ what: `${what}, memory`, value: memory, unit: 'MB' });
    // Only PCMA shows the start of a beep in its bytes. The duration of a packet (20 ms) is not included.
    if (codec !== 'PCMA') continue;
    rows.push({ what: `${what}, room to phone, median`, value: quantile(delays, 0.5), unit: 'ms', goal: '60 ms' });
    rows.push({ what: `${what}, room to phone, p99`, value: quantile(delays, 0.99), unit: 'ms' });
  }
  report.print('Call audio', rows);
}

type Load = { calls: number; codec: CallCodec; bare: boolean };

/** The audio runs in a separate process; this process sends the packets. */
export async function measureAudio(load: Load): Promise<{ cpu: number; memory: number; delays: number[] }> {
  const child = fork(import.meta.filename, ['child', JSON.stringify({ ...load, port: 0 })], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const say = (message: object) => child.send(message);
  const next = async () => ((await once(child, 'message')) as [Record<string, number | number[]>])[0];
  const phones = await Promise.all(Array.from({ length: load.calls }, () => bind()));
  say({ phones: phones.map((phone) => phone.address().port) });
  const { room, calls } = (await next()) as { room: number; calls: number[] };
  const delays: number[] = [];
  const stop = sendVoices({ load, phones, room, calls, delays });
  await sleep(warmUp);
  say({});
  await next();
  delays.length = 0;
  await sleep(measured);
  say({});
  const { cpu, memory } = (await next()) as { cpu: number; memory: number };
  stop();
  for (const phone of phones) phone.close();
  child.disconnect();
  return { cpu, memory, delays };
}

async function bind(): Promise<Socket> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024 });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return socket;
}

type Sending = { load: Load; phones: readonly Socket[]; room: number; calls: readonly number[]; delays: number[] };

/** Ten audio streams of the room and one per phone. One stream of the room is silent except for a beep per second, to measure latency. */
function sendVoices({ load, phones, room, calls, delays }: Sending): () => void {
  const socket = createSocket('udp4');
  const encoders = Array.from({ length: 2 }, () => new VoiceEncoder({ encoding: 'opus-near' }));
  const own = encodeG711('PCMA', new Float32Array(160));
  const farEncoder = load.codec === 'PCMA' ? undefined : new VoiceEncoder({ encoding: load.codec === 'opus' ? 'opus-near' : 'g722' });
  let beeped = 0;
  const [first] = phones;
  first?.on('message', (packet) => {
    const rtp = isRtcp(packet) ? undefined : parseRtp(packet);
    if (!rtp || beeped === 0 || load.codec !== 'PCMA' || !isLoud(rtp.payload)) return;
    delays.push(performance.now() - beeped);
    beeped = 0;
  });
  const start = performance.now();
  let index = 0;
  const timer = setInterval(() => {
    for (; performance.now() >= start + index * 20; index += 1) {
      const beep = index % 50 === 25;
      const beeping = index % 50 >= 25 && index % 50 < 30;
      const loud = encoders[0]?.encode(beeping ? tone(1000, 48_000, 960, { level: 0.6 }) : new Float32Array(960));
      // Quiet enough for a beep to stand out, but it must be decoded and mixed.
      const others = encoders[1]?.encode(tone(300, 48_000, 960, { level: 0.001, from: index * 960 }));
      if (beep) beeped = performance.now();
      for (let voice = 0; voice < voices; voice += 1) {
        const payload = (voice === 0 ? loud : others) ?? Buffer.alloc(0);
        socket.send(
          rtpPacket({ payloadType: 100, sequence: index, timestamp: index * 960, ssrc: 100 + voice, marker: false }, payload),
          room,
          '127.0.0.1',
        );
      }
      const step = load.codec === 'opus' ? 960 : 160;
      const said = farEncoder?.encode(new Float32Array(load.codec === 'opus' ? 960 : 320)) ?? own;
      for (const [call, phone] of phones.entries())
        phone.send(
          rtpPacket(
            { payloadType: payloadTypes[load.codec], sequence: index, timestamp: index * step, ssrc: call + 1, marker: false },
            said,
          ),
          calls[call] ?? 9,
          '127.0.0.1',
        );
    }
  }, 2);
  return () => {
    clearInterval(timer);
    socket.close();
    for (const encoder of [...encoders, farEncoder]) encoder?.close();
  };
}

function isLoud(payload: Buffer): boolean {
  return decodeG711('PCMA', payload).some((sample) => Math.abs(sample) > 0.2);
}

async function runChild(load: Load): Promise<void> {
  const [{ phones }] = (await once(process, 'message')) as [{ phones: number[] }];
  const { room, calls } = load.bare ? await echo(phones) : await open(load, phones);
  process.send?.({ room, calls });
  let last = process.cpuUsage();
  let at = performance.now();
  process.on('message', () => {
    const { user, system } = process.cpuUsage(last);
    const cpu = (user + system) / 1000 / (performance.now() - at);
    last = process.cpuUsage();
    at = performance.now();
    process.send?.({ cpu, memory: process.memoryUsage.rss() / 1e6 });
  });
  process.on('disconnect', () => process.exit(0));
}

async function open({ codec }: Load, phones: readonly number[]) {
  const audio = await ComponentAudio.open({ ip: '127.0.0.1', ports: undefined, allowPrivate: true });
  const sink = await bind();
  audio.connect({ ip: '127.0.0.1', port: sink.address().port });
  for (let voice = 0; voice < voices; voice += 1) audio.addTrack(100 + voice);
  const calls: number[] = [];
  for (const [index, port] of phones.entries()) {
    const call = await audio.open(String(index), { onDigit: () => {}, onSilent: () => {} });
    const facts = { codec, payloadType: payloadTypes[codec], dtmfPayloadType: 101, comfortNoisePayloadType: undefined, keys: undefined };
    call.applyNegotiation({ ...facts, remote: { ip: '127.0.0.1', port }, direction: 'sendrecv' });
    calls.push(call.port);
  }
  return { room: audio.port, calls };
}

/** Echoes the packets without decoding them. */
async function echo(phones: readonly number[]) {
  const room = await bind();
  const calls: number[] = [];
  for (const port of phones) {
    const socket = await bind();
    socket.on('message', (packet) => socket.send(packet, port, '127.0.0.1'));
    calls.push(socket.address().port);
  }
  return { room: room.address().port, calls };
}

if (process.argv[2] === 'child') await runChild(JSON.parse(process.argv[3] ?? '{}'));
