// Joins of LiveKit clients on fake media: the client gets the room while the media worker creates its transports.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { AddTrackRequest, DisconnectReason, Ping } from '@livekit/protocol';
import { startLiveKitSockets } from '../../kit/livekit/livekit-sockets.ts';

/** Sockets at a node whose media worker does not create transports before `gate` is resolved. */
async function startWithoutTransports(t: TestContext) {
  const gate = Promise.withResolvers<void>();
  const started = await startLiveKitSockets(t);
  const { room } = started;
  const openPeer = room.openPeer.bind(room);
  t.mock.method(room, 'openPeer', (...given: Parameters<typeof openPeer>) => {
    const media = openPeer(...given);
    const createTransport = media.createTransport.bind(media);
    return Object.assign(media, {
      createTransport: async (...which: Parameters<typeof createTransport>) => {
        await gate.promise;
        return createTransport(...which);
      },
    });
  });
  return { ...started, gate };
}

test('a client gets the room before its transports exist; its requests and events of the room follow then', async (t) => {
  const { join, rooms, gate } = await startWithoutTransports(t);
  const ada = await join('ada');
  ada.send({ case: 'addTrack', value: new AddTrackRequest({ cid: 'c', type: 1, source: 1 }) });
  rooms.room('room').patch({ metadata: { topic: 'changed' } });
  ada.send({ case: 'pingReq', value: new Ping({ timestamp: 7n }) });
  assert.equal((await ada.waitFor('pongResp')).lastPingTimestamp, 7n);
  const early = ada.messages.map((message) => message.case);
  for (const name of ['trackPublished', 'roomUpdate', 'offer'] as const) assert.ok(!early.includes(name), name);
  gate.resolve();
  assert.equal((await ada.waitFor('trackPublished')).cid, 'c');
  assert.equal((await ada.waitFor('roomUpdate')).room?.metadata, '{"topic":"changed"}');
  assert.match((await ada.waitFor('offer')).sdp, /^m=application .*$/m);
});

test('a client whose transports cannot be created leaves, and its peer is disconnected', async (t) => {
  const { join, peer, gate } = await startWithoutTransports(t);
  const ada = await join('ada');
  ada.send({ case: 'addTrack', value: new AddTrackRequest({ cid: 'c', type: 1, source: 1 }) });
  gate.reject(new Error('no media worker'));
  assert.equal((await ada.waitFor('leave')).reason, DisconnectReason.JOIN_FAILURE);
  await ada.closed;
  assert.equal(peer('ada').connected, false);
  assert.ok(!ada.messages.some((message) => message.case === 'trackPublished'));
});
