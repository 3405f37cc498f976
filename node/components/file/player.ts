// Player: sends samples as RTP at their times, with a sender report each second.
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { rtpPacket, senderReport } from '../rtp/rtp-writer.ts';
import type { MediaSample } from './samples.ts';

/** Times in milliseconds. */
export type Clock = {
  /** Monotonic. */
  now: () => number;
  /** Since 1970. */
  wallTime: () => number;
  /** Rejects when the signal is aborted. */
  sleep: (time: number, signal: AbortSignal) => Promise<void>;
};

export const systemClock: Clock = {
  now: () => performance.now(),
  wallTime: () => Date.now(),
  sleep: async (time, signal) => void (await sleep(time, undefined, { signal })),
};

export type PlayOptions = {
  clock: Clock;
  clockRate: number;
  payloadType: number;
  ssrc: number;
  /** Sets the marker on the last packet of each sample (RFC 6184), instead of the very first packet (RFC 7587). */
  markLast: boolean;
  send: (packet: Buffer) => void;
  signal: AbortSignal;
};

const reportInterval = 1000;
/** If the process was blocked for longer than this, all following samples are moved instead of being sent in a burst. */
const maxLateness = 500;
/** Packets per burst, which fit the socket buffer; then the receiver gets a pause. */
const burst = 32;
const pause = 1;

/** Resolves when the last sample has ended. Samples are read one by one, without further read-ahead. */
export async function play(samples: AsyncIterable<MediaSample>, options: PlayOptions): Promise<void> {
  const { clock, clockRate, payloadType, ssrc, markLast, send, signal } = options;
  const firstTimestamp = randomInt(2 ** 32);
  let sequence = randomInt(2 ** 16);
  let start: number | undefined;
  let end = 0;
  let reportDue = 0;
  let packets = 0;
  let octets = 0;
  const inMilliseconds = (ticks: number) => (ticks * 1000) / clockRate;
  for await (const mediaSample of samples) {
    start ??= clock.now();
    const due = inMilliseconds(mediaSample.timestamp);
    const early = start + due - clock.now();
    if (early > 0) await clock.sleep(early, signal);
    else if (-early > maxLateness) start -= early;
    signal.throwIfAborted();
    const timestamp = firstTimestamp + mediaSample.timestamp;
    for (const [index, payload] of mediaSample.payloads.entries()) {
      if (index > 0 && index % burst === 0) await clock.sleep(pause, signal);
      const marker = markLast ? index === mediaSample.payloads.length - 1 : packets === 0;
      send(rtpPacket({ payloadType, sequence, timestamp, ssrc, marker }, payload));
      sequence += 1;
      packets += 1;
      octets += payload.length;
    }
    if (due >= reportDue) {
      send(senderReport({ ssrc, time: clock.wallTime(), timestamp, packets, octets }));
      reportDue = due + reportInterval;
    }
    end = inMilliseconds(mediaSample.timestamp + mediaSample.duration);
  }
  const left = start === undefined ? 0 : start + end - clock.now();
  if (left > 0) await clock.sleep(left, signal);
}
