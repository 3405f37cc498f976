// Bandwidth probing packets as documented in docs/reference/protocol.md, captured by a receiver that has no such track.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { root } from '../../tools/paths.mjs';
import { eventually } from '../kit/eventually.ts';
import { MediaLink } from '../kit/hostile/media-link.ts';
import { vp8Packet, vp8Parameters } from '../kit/hostile/rtp.ts';
import type { PeerSocket } from '../kit/network/peer-socket.ts';
import { enterRoom } from '../kit/network/room-sockets.ts';
import { dueSince } from '../kit/pace.ts';
import { startNode } from '../kit/processes/start-node.ts';

type Capabilities = {
  codecs: { mimeType: string; rtcpFeedback: { type: string }[] }[];
  headerExtensions: { uri: string; preferredId: number }[];
};

/** Together they require more than the initial bandwidth estimate. */
const ssrcs = [7_001, 7_002];
const packetInterval = 10;

type Feedback = { feedback: string; extension: string };
const transportWide: Feedback = { feedback: 'transport-cc', extension: 'transport-wide-cc' };

/**
 * A room with a sender of two videos. `receive` adds a receiver of both that understands only this feedback, and calls `seen` for each packet
 * of the probator. `send` begins the videos, for all receivers: the sender ignores requests for key frames.
 */
async function startRoom(t: TestContext) {
  const node = await startNode(t);
  await node.api.post('/room', { roomId: 'r' });
  const open = async (peer: PeerSocket, direction: 'send' | 'recv') => {
    const link = await MediaLink.open(peer, direction);
    t.after(() => link.close());
    return link;
  };
  const sender = await enterRoom(t, node, 'r');
  const sending = await open(sender, 'send');
  for (const ssrc of ssrcs)
    assert.ok((await sender.request('publish', { transportId: sending.id, kind: 'video', rtpParameters: vp8Parameters(ssrc) })).ok);
  const send = () => {
    let number = 0;
    const started = performance.now();
    const frames = setInterval(() => {
      for (; number < dueSince(started, packetInterval); number += 1) for (const ssrc of ssrcs) sending.sendRtp(vp8Packet(ssrc, number));
    }, packetInterval);
    t.after(() => clearInterval(frames));
  };

  const receive = async ({ feedback, extension }: Feedback, seen: (packet: Buffer) => void) => {
    const receiver = await enterRoom(t, node, 'r');
    const room = receiver.welcome.data?.rtpCapabilities as Capabilities;
    const understood = {
      codecs: room.codecs
        .filter(({ mimeType }) => mimeType === 'video/VP8')
        .map((codec) => ({ ...codec, rtcpFeedback: codec.rtcpFeedback.filter(({ type }) => type === feedback) })),
      headerExtensions: room.headerExtensions.filter(({ uri }) => uri.includes(extension)),
    };
    assert.ok((await receiver.request('setFeatures', { features: ['tracksSubscribed'] })).ok);
    assert.ok((await receiver.request('join', { rtpCapabilities: understood })).ok);
    const receiving = await open(receiver, 'recv');
    const { tracks } = await receiver.waitFor('tracksSubscribed');
    const trackIds = (tracks as { trackId: string }[]).map(({ trackId }) => trackId);
    assert.equal(trackIds.length, ssrcs.length);
    receiving.onPacket = (packet) => {
      if (packet.readUInt32BE(8) === 1_234) seen(packet);
    };
    assert.ok((await receiver.request('tracksReady', { trackIds })).ok);
    return { receiver, room };
  };
  return { receive, send };
}

for (const each of [transportWide, { feedback: 'goog-remb', extension: 'abs-send-time' }]) {
  test(`a client that offers ${each.feedback} with ${each.extension} gets packets of the probator`, async (t) => {
    const { receive, send } = await startRoom(t);
    const { promise: seen, resolve } = Promise.withResolvers<Buffer>();
    const { receiver, room } = await receive(each, resolve);
    send();
    const packet = await seen;
    assert.equal((packet[1] ?? 0) & 0x7f, 127);
    // One-byte header extensions (RFC 8285, section 4.2): the mid is not encrypted.
    const mid = room.headerExtensions.find(({ uri }) => uri.endsWith(':mid'))?.preferredId ?? 0;
    const element = Buffer.concat([Buffer.from([(mid << 4) | ('probator'.length - 1)]), Buffer.from('probator')]);
    assert.ok(packet.subarray(12, 12 + 4 + packet.readUInt16BE(14) * 4).includes(element), packet.toString('hex'));
    assert.equal(receiver.events('tracksSubscribed').length, 1);
  });
}

test('two receivers get packets of the probator with numbers of their own, without gaps', async (t) => {
  const { receive, send } = await startRoom(t);
  const receivers: number[][] = [[], []];
  for (const numbers of receivers) await receive(transportWide, (packet) => numbers.push(packet.readUInt16BE(2)));
  send();
  await eventually('both are probed', () => receivers.every(({ length }) => length > 1));
  for (const [index, numbers] of receivers.entries()) {
    const [first = 0] = numbers;
    assert.deepEqual(
      numbers,
      numbers.map((_, at) => (first + at) & 0xffff),
    );
    const other = receivers[1 - index] ?? [];
    assert.ok(!other.includes((first - 1) & 0xffff), `${first} continues the numbers of the other`);
  }
});

test('the protocol reference describes the probator', () => {
  const page = readFileSync(join(root, 'docs/reference/protocol.md'), 'utf8');
  assert.match(page, /^\*\*Probator\.\*\* .*SSRC 1234 and payload type 127 \(`mid` `probator`/m);
});
