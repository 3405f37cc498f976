// Bandwidth probing packets as documented in docs/reference/protocol.md, captured by a receiver that has no such track.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../tools/paths.mjs';
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

for (const [feedback, extension] of [
  ['transport-cc', 'transport-wide-cc'],
  ['goog-remb', 'abs-send-time'],
] as const) {
  test(`a client that offers ${feedback} with ${extension} gets packets of the probator`, async (t) => {
    const node = await startNode(t);
    await node.api.post('/room', { roomId: 'r' });
    const open = async (peer: PeerSocket, direction: 'send' | 'recv') => {
      const link = await MediaLink.open(peer, direction);
      t.after(() => link.close());
      return link;
    };
    const [sender, receiver] = [await enterRoom(t, node, 'r'), await enterRoom(t, node, 'r')];
    const sending = await open(sender, 'send');
    for (const ssrc of ssrcs)
      assert.ok((await sender.request('publish', { transportId: sending.id, kind: 'video', rtpParameters: vp8Parameters(ssrc) })).ok);

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
    const seen = new Promise<Buffer>((resolve) => {
      receiving.onPacket = (packet) => packet.readUInt32BE(8) === 1_234 && resolve(packet);
    });
    assert.ok((await receiver.request('tracksReady', { trackIds })).ok);
    let number = 0;
    const started = performance.now();
    const frames = setInterval(() => {
      for (; number < dueSince(started, packetInterval); number += 1) for (const ssrc of ssrcs) sending.sendRtp(vp8Packet(ssrc, number));
    }, packetInterval);
    t.after(() => clearInterval(frames));

    const packet = await seen;
    assert.equal((packet[1] ?? 0) & 0x7f, 127);
    // One-byte header extensions (RFC 8285, section 4.2): the mid is not encrypted.
    const mid = room.headerExtensions.find(({ uri }) => uri.endsWith(':mid'))?.preferredId ?? 0;
    const element = Buffer.concat([Buffer.from([(mid << 4) | ('probator'.length - 1)]), Buffer.from('probator')]);
    assert.ok(packet.subarray(12, 12 + 4 + packet.readUInt16BE(14) * 4).includes(element), packet.toString('hex'));
    assert.equal(receiver.events('tracksSubscribed').length, 1);
  });
}

test('the protocol reference describes the probator', () => {
  const page = readFileSync(join(root, 'docs/reference/protocol.md'), 'utf8');
  assert.match(page, /^\*\*Probator\.\*\* .*SSRC 1234 and payload type 127 \(`mid` `probator`/m);
});
