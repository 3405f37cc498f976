// Healthy room during an attack: one peer speaks, one listens, both exchange messages. At the end no packet may be missing.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { eventually } from '../eventually.ts';
import type { PeerSocket } from '../network/peer-socket.ts';
import { dueSince } from '../pace.ts';
import { watchOwnLoop, watchSlowdown } from '../processes/busy-machine.ts';
import type { NodeProcess } from '../processes/node-process.ts';
import { assertPrompt } from '../promised-time.ts';
import { joinAsGuest, makeRoom } from './guests.ts';
import { MediaLink } from './media-link.ts';
import { opusPacket, opusPacketNumber, opusParameters } from './rtp.ts';

const packetInterval = 20;
const messageInterval = 100;
/** Maximum latency of a message in milliseconds. */
const promised = 250;
/** Timeout for the last packets, in milliseconds. */
const timeoutMs = 10_000;
const ssrc = 0x4ea17;

export type Health = { packets: number; messages: number; slowestMessage: number };

/** Starts the room. The returned function ends it, asserts that nothing was lost and returns the measured values. */
export async function startHealthyRoom(t: TestContext, node: NodeProcess, roomId = 'healthy'): Promise<() => Promise<Health>> {
  await makeRoom(node, roomId);
  const speaker = await joinAsGuest(t, node, roomId, { peerId: 'speaker' });
  const listener = await joinAsGuest(t, node, roomId, { peerId: 'listener' });
  const [sending, receiving] = await Promise.all([MediaLink.open(speaker, 'send'), MediaLink.open(listener, 'recv')]);
  t.after(() => {
    sending.close();
    receiving.close();
  });
  const published = await speaker.request('publish', { transportId: sending.id, kind: 'audio', rtpParameters: opusParameters(ssrc) });
  assert.ok(published.ok, JSON.stringify(published.error));
  const trackId = String(published.data?.trackId);
  const heard = await listen(listener, receiving, trackId);
  const talk = startTalking(sending, speaker);
  t.after(talk.stop);
  const latencies = watchMessages(listener);
  const [own, slowdown] = [watchOwnLoop(t), watchSlowdown(node.pid)];
  await heard.first;
  // Packets sent before the listener was ready do not count.
  const from = Math.min(...heard.numbers);
  return async () => {
    talk.stop();
    const missing = () => range(from, talk.last()).filter((number) => !heard.numbers.has(number));
    await eventually(
      () => `the healthy room loses nothing: packets ${missing()} missing, ${latencies.length} of ${talk.messages()} messages received`,
      () => missing().length === 0 && latencies.length === talk.messages(),
      { within: timeoutMs, every: 20 },
    );
    const health = { packets: heard.numbers.size, messages: latencies.length, slowestMessage: Math.round(Math.max(0, ...latencies)) };
    t.diagnostic(`healthy room: ${JSON.stringify(health)}`);
    // The peers and the attacker share this process: each message is sent in one turn of the event loop and read in another.
    assertPrompt('a message', Math.max(0, health.slowestMessage - 2 * own()) / slowdown(), { promised });
    return health;
  };
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
}

/** Sends an audio packet for each 20 ms that have passed, and a message each 100 ms. */
function startTalking(link: MediaLink, speaker: PeerSocket) {
  const started = performance.now();
  let number = 0;
  let messages = 0;
  const packets = setInterval(() => {
    while (number < dueSince(started, packetInterval)) {
      number += 1;
      link.sendRtp(opusPacket(ssrc, number));
    }
  }, packetInterval);
  const notes = setInterval(() => {
    messages += 1;
    speaker.post('sendData', { label: 'health', payload: { sent: performance.now() } });
  }, messageInterval);
  const stop = () => {
    clearInterval(packets);
    clearInterval(notes);
  };
  return { stop, last: () => number, messages: () => messages };
}

/** Latency of each message in milliseconds. */
function watchMessages(listener: PeerSocket): number[] {
  const latencies: number[] = [];
  listener.webSocket.on('message', (data) => {
    const frame = JSON.parse(data.toString()) as { event?: string; data?: { payload?: { sent?: number } } };
    if (frame.event === 'data' && frame.data?.payload?.sent !== undefined) latencies.push(performance.now() - frame.data.payload.sent);
  });
  return latencies;
}

/** Packet numbers that the listener received; they are not encrypted. */
async function listen(listener: PeerSocket, link: MediaLink, trackId: string) {
  await listener.waitFor('trackSubscribed', (data) => data.trackId === trackId);
  const numbers = new Set<number>();
  const first = Promise.withResolvers<void>();
  link.onPacket = (packet) => {
    // RTCP shares the socket (RFC 5761, section 4).
    const payloadType = (packet[1] ?? 0) & 0x7f;
    if (payloadType >= 64 && payloadType <= 95) return;
    numbers.add(opusPacketNumber(packet));
    first.resolve();
  };
  const ready = await listener.request('trackReady', { trackId });
  assert.ok(ready.ok, JSON.stringify(ready.error));
  return { first: first.promise, numbers };
}
