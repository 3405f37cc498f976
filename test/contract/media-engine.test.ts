// Contract of MediaEngine, RoomMedia and PeerMedia, for the real engine and for the fake used in other tests.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { ServiceError } from '../../api/errors.ts';
import type { MediaEngine, PeerMedia, RoomMedia } from '../../node/rooms/interfaces.ts';
import { eventually } from '../kit/eventually.ts';
import { FakeMedia } from '../kit/fakes/fake-media.ts';
import { dtlsParameters, engineFor, openRoom, opusParameters, videoParameters } from '../media/kit.ts';

const engines: readonly (readonly [name: string, open: (t: TestContext) => Promise<MediaEngine>])[] = [
  ['FakeMedia', async () => new FakeMedia()],
  ['Engine on mediasoup', (t) => engineFor(t, { workers: 1 })],
  ['Engine with a leg for each of two peers', (t) => engineFor(t, { workers: 2, maxWorkerTracks: () => 1 })],
];

const code =
  (...expected: string[]) =>
  (error: unknown) =>
    error instanceof ServiceError && expected.includes(error.code);

type Sides = { peer: PeerMedia; send: string; recv: string };

async function openPeer(room: RoomMedia, peerId: string): Promise<Sides> {
  const peer = room.openPeer(peerId, { layersChanged: () => {}, failed: () => {} });
  const [send, recv] = await Promise.all([peer.createTransport('send', { sctp: true }), peer.createTransport('recv', { sctp: true })]);
  return { peer, send: String(send.id), recv: String(recv.id) };
}

async function pair(t: TestContext, open: (t: TestContext) => Promise<MediaEngine>) {
  const engine = await open(t);
  const room = openRoom(engine);
  const rtpCapabilities = await room.rtpCapabilities();
  return { engine, room, rtpCapabilities, alice: await openPeer(room, 'alice'), bob: await openPeer(room, 'bob') };
}

for (const [name, open] of engines) {
  describe(name, () => {
    test('a track is published, received, counted and removed with its publisher', async (t) => {
      const { engine, rtpCapabilities, alice, bob } = await pair(t, open);
      const published = await alice.peer.publish({
        transportId: alice.send,
        trackId: 'a',
        kind: 'audio',
        rtpParameters: opusParameters('0'),
        paused: false,
      });
      assert.deepEqual(published, { encoding: 'opus', simulcast: false });
      const subscription = await bob.peer.subscribe('a', rtpCapabilities);
      assert.deepEqual([subscription?.transportId, subscription?.kind, subscription?.paused], [bob.recv, 'audio', false]);
      assert.equal(engine.load().forwardedTracks, 1);
      await bob.peer.setSubscriptionPaused('a', false);
      await bob.peer.setSubscriptionPaused('a', true);
      await bob.peer.setSubscriptionPaused('a', false);
      alice.peer.unpublish('a');
      await eventually('nothing is forwarded', () => engine.load().forwardedTracks === 0);
      await assert.rejects(bob.peer.subscribe('a', rtpCapabilities), code('track_not_found', 'not_found'));
    });

    test('publish returns simulcast, and layers and priority of a subscription can be set', async (t) => {
      const { rtpCapabilities, alice, bob } = await pair(t, open);
      const rtpParameters = videoParameters('0', 'VP8', true);
      const published = await alice.peer.publish({ transportId: alice.send, trackId: 'v', kind: 'video', rtpParameters, paused: true });
      assert.deepEqual(published, { encoding: 'vp8', simulcast: true });
      assert.equal((await bob.peer.subscribe('v', rtpCapabilities))?.paused, true, 'paused reports that the publisher paused');
      await alice.peer.setPaused('v', false);
      await bob.peer.setPreferredLayers('v', { spatialLayer: 0 });
      await bob.peer.setPriority('v', 200);
      bob.peer.unsubscribe('v');
      await assert.rejects(bob.peer.setPriority('v', 1), code('track_not_found', 'not_found'));
    });

    test('one transport sends and receives, in sections that the receiver offered', async (t) => {
      const { room, rtpCapabilities, alice } = await pair(t, open);
      await alice.peer.publish({ transportId: alice.send, trackId: 'a', kind: 'audio', rtpParameters: opusParameters('0'), paused: false });
      const carol = room.openPeer('carol', { layersChanged: () => {}, failed: () => {} });
      const transportId = String((await carol.createTransport('both', { sctp: true })).id);
      assert.deepEqual([carol.hasTransport('send'), carol.hasTransport('recv')], [true, true]);
      const released: string[] = [];
      const numbers = { payloadTypes: [{ room: 100, receiver: 63 }], extensions: [], otherExtension: 14 };
      const stream = { mid: '5', ssrc: 7, rtxSsrc: 8, cname: 'c', rtpCapabilities, numbers };
      carol.receiveIn({ take: async (kind) => ({ stream, release: () => released.push(kind) }) });
      const subscription = await carol.subscribe('a', rtpCapabilities);
      assert.deepEqual([subscription?.transportId, subscription?.rtpParameters.mid], [transportId, '5']);
      await carol.publish({ transportId, trackId: 'c', kind: 'audio', rtpParameters: opusParameters('1'), paused: false });
      assert.equal((await alice.peer.subscribe('c', rtpCapabilities))?.kind, 'audio');
      alice.peer.unpublish('a');
      await eventually('the section is released', () => released.length === 1);
      await carol.createTransport('send', { sctp: false });
      await assert.rejects(carol.restartIce(transportId), code('not_found'));
    });

    test('unknown ids and wrong directions are errors for clients', async (t) => {
      const { rtpCapabilities, alice, bob } = await pair(t, open);
      const rtpParameters = opusParameters('0');
      await assert.rejects(alice.peer.connectTransport('nothing', dtlsParameters), code('not_found'));
      await assert.rejects(alice.peer.restartIce('nothing'), code('not_found'));
      await assert.rejects(
        alice.peer.publish({ transportId: alice.recv, trackId: 'x', kind: 'audio', rtpParameters, paused: false }),
        code('conflict'),
      );
      await assert.rejects(
        alice.peer.publish({ transportId: 'nothing', trackId: 'x', kind: 'audio', rtpParameters, paused: false }),
        code('not_found'),
      );
      await assert.rejects(bob.peer.subscribe('nothing', rtpCapabilities), code('track_not_found', 'not_found'));
      await assert.rejects(bob.peer.setSubscriptionPaused('nothing', false), code('track_not_found', 'not_found'));
      await assert.rejects(bob.peer.setSubscriptionPaused('nothing', true), code('track_not_found', 'not_found'));
      await assert.rejects(alice.peer.setPaused('nothing', true), code('track_not_found', 'not_found'));
      alice.peer.unpublish('nothing');
      bob.peer.unsubscribe('nothing');
    });

    test('a second transport of a direction replaces the first', async (t) => {
      const { alice } = await pair(t, open);
      const second = String((await alice.peer.createTransport('send', { sctp: false })).id);
      await assert.rejects(alice.peer.restartIce(alice.send), code('not_found'));
      assert.ok(await alice.peer.restartIce(second));
      assert.ok(alice.peer.hasTransport('send') && alice.peer.hasTransport('recv'));
    });

    test('data reaches a subscriber with its label and protocol', async (t) => {
      const { alice, bob } = await pair(t, open);
      const sctpStreamParameters = { streamId: 0, ordered: true };
      await alice.peer.data.publish({ transportId: alice.send, dataTrackId: 'd', sctpStreamParameters, label: 'chat', protocol: 'v1' });
      const subscription = await bob.peer.data.subscribe('d');
      assert.deepEqual([subscription.transportId, subscription.label, subscription.protocol], [bob.recv, 'chat', 'v1']);
      alice.peer.data.unpublish('d');
      await assert.rejects(bob.peer.data.subscribe('d'), code('track_not_found', 'not_found'));
    });

    test('data that is received can be paused, and its messages are counted', async (t) => {
      const { alice, bob } = await pair(t, open);
      const request = { transportId: alice.send, label: 'chat', protocol: '' };
      const lossy = { streamId: 1, ordered: false, maxRetransmits: 1 };
      const published = [
        await alice.peer.data.publish({ ...request, dataTrackId: 'd', sctpStreamParameters: { streamId: 0 } }),
        await alice.peer.data.publish({ ...request, dataTrackId: 'e', sctpStreamParameters: lossy }),
      ];
      assert.deepEqual(published, [{ reliable: true }, { reliable: false }]);
      await bob.peer.data.subscribe('d', { paused: true });
      await bob.peer.data.setPaused('d', false);
      assert.equal(await bob.peer.data.sent('d'), 0);
      await alice.peer.data.arrived('d', 0);
      await alice.peer.data.arrived('nothing', 1);
      bob.peer.data.unsubscribe('d');
      await assert.rejects(bob.peer.data.setPaused('d', true), code('track_not_found', 'not_found'));
      await assert.rejects(bob.peer.data.sent('d'), code('track_not_found', 'not_found'));
    });

    test('message channels exist with both transports, and drop messages until the client has opened SCTP', async (t) => {
      const { bob } = await pair(t, open);
      const channels = [{ label: 'messages', reliable: true }];
      const messages = await bob.peer.data.openMessageChannels(channels, { message: () => {} });
      assert.equal(messages.send('messages', Buffer.from('x')), false);
      bob.peer.close();
      await assert.rejects(bob.peer.data.openMessageChannels(channels, { message: () => {} }), ServiceError);
    });

    test('after close every method fails with an error for clients, and close is idempotent', async (t) => {
      const { engine, room, rtpCapabilities, alice, bob } = await pair(t, open);
      await alice.peer.publish({ transportId: alice.send, trackId: 'a', kind: 'audio', rtpParameters: opusParameters('0'), paused: false });
      await bob.peer.subscribe('a', rtpCapabilities);
      bob.peer.close();
      bob.peer.close();
      assert.equal(engine.load().forwardedTracks, 0);
      await assert.rejects(bob.peer.createTransport('send', { sctp: false }), ServiceError);
      await assert.rejects(bob.peer.subscribe('a', rtpCapabilities), ServiceError);
      room.close();
      room.close();
      await assert.rejects(alice.peer.createTransport('send', { sctp: false }), ServiceError);
    });
  });
}
