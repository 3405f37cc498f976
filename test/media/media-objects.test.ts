// Media objects on the peer websocket match the reference documentation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { mediaObjects } from '../../api/media-objects.ts';
import { enterRoom } from '../kit/network/room-sockets.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { opusParameters, videoParameters } from './kit.ts';

/** Every field must be documented. */
function assertDescribed(name: keyof typeof mediaObjects, value: unknown): void {
  const { described } = mediaObjects[name].meta() ?? {};
  assert.ok(described instanceof z.ZodType, name);
  assert.deepEqual(described.parse(value), value);
}

test('transports, capabilities, tracks, ICE servers and stats of a real node match their documentation', async (t) => {
  const node = await startNode(t, {
    SVC_ICE_SERVERS: '[{"urls":["stun:stun.example.com"],"username":"u","credential":"c"}]',
  });
  await node.api.post('/room', { roomId: 'r' });
  const [alice, bob] = [await enterRoom(t, node, 'r'), await enterRoom(t, node, 'r')];
  const { rtpCapabilities, iceServers } = alice.welcome.data ?? {};
  assertDescribed('rtpCapabilities', rtpCapabilities);
  assert.ok(Array.isArray(iceServers) && iceServers.length === 1);
  for (const server of iceServers) assertDescribed('iceServer', server);

  await alice.request('join', { rtpCapabilities });
  await bob.request('join', { rtpCapabilities });
  const send = (await alice.request('createTransport', { direction: 'send', sctp: true })).data ?? {};
  const recv = (await bob.request('createTransport', { direction: 'recv' })).data ?? {};
  assert.ok('sctpParameters' in send && !('sctpParameters' in recv));
  for (const options of [send, recv]) assertDescribed('transportOptions', options);
  assertDescribed('dtlsParameters', send.dtlsParameters);
  const restarted = await alice.request('restartIce', { transportId: send.id });
  assertDescribed('iceParameters', restarted.data?.iceParameters);

  for (const [kind, rtpParameters] of [
    ['audio', opusParameters('0')],
    ['video', videoParameters('1')],
  ]) {
    assert.ok((await alice.request('publish', { transportId: send.id, kind, rtpParameters })).ok);
    const track = await bob.waitFor('trackSubscribed', (data) => data.kind === kind);
    assertDescribed('rtpParameters', track.rtpParameters);
  }
  const stats = (await alice.request('getStats')).data as { transports: { send: unknown } };
  assertDescribed('transportStats', stats.transports.send);
  const received = (await bob.request('getStats')).data as { subscribed: Record<string, unknown[]> };
  const streams = Object.values(received.subscribed).flat();
  assert.ok(streams.length >= 2);
  for (const stream of streams) assertDescribed('streamStats', stream);
});
