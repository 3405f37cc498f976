// Tracks, data and permissions of the peers of a room.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connectPeer, flushEvents, joinPeer, makePair, makeRoom, publish, TestConnection } from '../../kit/fakes/rooms.ts';
import { fieldsOf } from '../../kit/fields.ts';

describe('subscriptions', () => {
  test('in auto mode include every track of the others, and no other', async () => {
    const { alice, bob } = await makePair();
    const trackId = await publish(alice, 'video', 'camera');
    assert.deepEqual(
      bob.connection.of('trackAdded').map(({ peerId, track }) => [peerId, track.id, track.metadata]),
      [['alice', trackId, 'camera']],
    );
    assert.deepEqual(fieldsOf(bob.connection.of('trackSubscribed'), 'peerId', 'kind'), [['alice', 'video']]);
    assert.deepEqual(alice.connection.of('trackSubscribed'), []);
  });

  test('end and begin with what the publisher permits', async () => {
    const { alice, bob, rooms } = await makePair();
    const [first, second] = [await publish(alice, 'video'), await publish(alice, 'audio')];
    const { publications } = alice.peer.session;
    publications.setReceivers(new Map([['carol', 'all' as const]]));
    assert.deepEqual(fieldsOf(bob.connection.of('trackUnsubscribed'), 'trackId'), [first, second]);
    await assert.rejects(bob.peer.session.subscriptions.subscribe(first), { code: 'track_not_found' });
    const carol = await joinPeer(rooms, 'r', 'carol');
    assert.equal(carol.connection.of('trackSubscribed').length, 2);
    const before = bob.connection.of('trackSubscribed').length;
    publications.setReceivers(new Map([['bob', new Set([second])]]));
    await flushEvents();
    assert.deepEqual(fieldsOf(bob.connection.of('trackSubscribed').slice(before), 'trackId'), [second]);
    assert.equal(carol.connection.of('trackUnsubscribed').length, 2);
    publications.setReceivers('all');
    await flushEvents();
    assert.deepEqual(fieldsOf(bob.connection.of('trackSubscribed').slice(before), 'trackId'), [second, first]);
  });

  test('start for a peer that joins later, after transport and capabilities, in any order', async () => {
    const { rooms, alice } = await makePair();
    const trackId = await publish(alice, 'audio');
    await rooms.addPeer('r', { type: 'webrtc', peerId: 'carol' });
    const carol = rooms.findPeer('r', 'carol');
    assert.ok(carol);
    const connection = new TestConnection();
    carol.connect(connection);
    carol.session.subscriptions.join({});
    await flushEvents();
    assert.deepEqual(connection.of('trackSubscribed'), []);
    await carol.session.createTransport('recv', { sctp: true });
    await flushEvents();
    assert.deepEqual(fieldsOf(connection.of('trackSubscribed'), 'trackId'), [trackId]);
  });

  test('that start together are announced in one event, if the client requested it', async () => {
    const { rooms, alice, bob } = await makePair();
    const trackIds = [await publish(alice, 'audio'), await publish(alice, 'video'), await publish(bob, 'audio')];
    await rooms.addPeer('r', { type: 'webrtc', peerId: 'carol' });
    const carol = rooms.findPeer('r', 'carol');
    assert.ok(carol);
    const connection = new TestConnection();
    carol.connect(connection);
    carol.session.subscriptions.announcesTogether = true;
    await carol.session.createTransport('recv', { sctp: true });
    carol.session.subscriptions.join({});
    await flushEvents();
    assert.deepEqual(
      connection.of('tracksSubscribed').map(({ tracks }) => tracks.map(({ trackId }) => trackId)),
      [trackIds],
    );
    assert.deepEqual(connection.of('trackSubscribed'), []);
    assert.deepEqual(fieldsOf(bob.connection.of('trackSubscribed'), 'trackId'), trackIds.slice(0, 2));
  });

  test('wait only briefly for a slow one, and skip tracks that ended meanwhile', async (t) => {
    const { rooms, media, alice } = await makePair();
    const [slow, quick, removed] = [await publish(alice, 'audio'), await publish(alice, 'video'), await publish(alice, 'audio')];
    await rooms.addPeer('r', { type: 'webrtc', peerId: 'carol' });
    const carol = rooms.findPeer('r', 'carol');
    const connection = new TestConnection();
    carol?.connect(connection);
    const theirs = [...(media.rooms.get('r')?.peers ?? [])].find(({ peerId }) => peerId === 'carol');
    assert.ok(carol && theirs);
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    const subscribe = theirs.subscribe.bind(theirs);
    t.mock.method(theirs, 'subscribe', async (trackId: string) => {
      if (trackId === slow) await answered;
      return subscribe(trackId);
    });
    const offers = () => fieldsOf(connection.of('trackSubscribed'), 'trackId');
    const { promise: reported, resolve: tell } = Promise.withResolvers<void>();
    t.mock.method(connection, 'send', (event: (typeof connection.events)[number]) => {
      connection.events.push(event);
      if (event.event === 'trackSubscribed') tell();
    });
    await carol.session.createTransport('recv', { sctp: false });
    carol.session.subscriptions.join({});
    await flushEvents();
    assert.deepEqual(offers(), []);
    alice.peer.session.publications.removeTrack(removed, 'publisher');
    await reported;
    assert.deepEqual(offers(), [quick]);
    answer();
    await flushEvents();
    assert.deepEqual(offers(), [quick, slow]);
  });

  test('of a codec that the receiver does not support are reported once, with the codec', async (t) => {
    const { media, alice, bob } = await makePair();
    const theirs = [...(media.rooms.get('r')?.peers ?? [])].find(({ peerId }) => peerId === 'bob');
    assert.ok(theirs);
    t.mock.method(theirs, 'subscribe', async () => undefined);
    const trackId = await publish(alice, 'video');
    await publish(alice, 'audio');
    assert.deepEqual(fieldsOf(bob.connection.of('trackNotSupported').slice(0, 1), 'peerId', 'trackId'), [['alice', trackId]]);
    assert.equal(bob.connection.of('trackNotSupported').length, 2);
    assert.deepEqual(bob.connection.of('trackSubscribed'), []);
  });

  test('in manual mode start on request, and can be ended', async () => {
    const { alice, bob, media } = await makePair();
    bob.peer.session.subscriptions.setMode('manual');
    const trackId = await publish(alice, 'video');
    assert.deepEqual(bob.connection.of('trackSubscribed'), []);
    await bob.peer.session.subscriptions.subscribe(trackId);
    await bob.peer.session.subscriptions.ready(trackId);
    assert.equal(media.load().forwardedTracks, 1);
    bob.peer.session.subscriptions.unsubscribe(trackId);
    assert.equal(media.load().forwardedTracks, 0);
    await assert.rejects(bob.peer.session.subscriptions.subscribe('nothing'), { code: 'track_not_found' });
    await assert.rejects(bob.peer.session.subscriptions.ready(trackId), { code: 'track_not_found' });
  });

  test('of an unsubscribed track do not restart automatically', async () => {
    const { alice, bob } = await makePair();
    const first = await publish(alice, 'video');
    bob.peer.session.subscriptions.unsubscribe(first);
    await publish(alice, 'audio');
    assert.deepEqual(bob.connection.of('trackSubscribed').length, 2);
    await bob.peer.session.subscriptions.subscribe(first);
    assert.deepEqual(bob.connection.of('trackSubscribed').length, 3);
  });

  test('end with the track: first unsubscribed, then removed', async () => {
    const { alice, bob, kinds } = await makePair();
    const trackId = await publish(alice, 'video');
    alice.peer.session.publications.removeTrack(trackId, 'publisher');
    assert.deepEqual(bob.connection.names().slice(-2), ['trackUnsubscribed', 'trackRemoved']);
    assert.deepEqual(alice.connection.of('trackRemoved'), []);
    assert.equal(kinds().at(-1), 'TrackRemoved:alice');
    await assert.rejects(async () => alice.peer.session.publications.removeTrack(trackId, 'publisher'), { code: 'track_not_found' });
  });

  test('concurrent requests for one track share one subscription', async () => {
    const { alice, bob } = await makePair();
    bob.peer.session.subscriptions.setMode('manual');
    const trackId = await publish(alice, 'video');
    await Promise.all(Array.from({ length: 10 }, () => bob.peer.session.subscriptions.subscribe(trackId)));
    assert.equal(bob.connection.of('trackSubscribed').length, 1);
  });
});

describe('disconnecting', () => {
  test('removes the tracks for all peers, keeps the peer and its metadata, and permits reconnecting', async () => {
    const { rooms, alice, bob, kinds } = await makePair();
    alice.peer.profile.setMetadata({ name: 'Alice' });
    await publish(alice, 'video');
    alice.peer.disconnect();
    assert.deepEqual(kinds().slice(-2), ['TrackRemoved:alice', 'PeerDisconnected:alice']);
    assert.deepEqual(bob.connection.names().slice(-3), ['trackUnsubscribed', 'trackRemoved', 'peerLeft']);
    const peer = rooms.room('r').peers.get('alice').view();
    assert.deepEqual([peer.status, peer.tracks, peer.metadata], ['disconnected', [], { name: 'Alice' }]);
    const again = await connectPeer(rooms, 'r', 'alice');
    assert.equal(kinds().at(-1), 'PeerConnected:alice');
    await publish(again, 'video');
    assert.equal(bob.connection.of('trackSubscribed').length, 2);
  });

  test('a second connection of a connected peer is rejected', async () => {
    const { alice } = await makePair();
    assert.throws(() => alice.peer.connect(new TestConnection()), { code: 'conflict' });
  });
});

describe('permissions', () => {
  test('are checked on every request', async () => {
    const { rooms, alice } = await makePair();
    rooms.findPeer('r', 'alice')?.rights.change({ publish: ['audio'], subscribe: true, data: false });
    await assert.rejects(publish(alice, 'video'), { code: 'forbidden' });
    await publish(alice, 'audio');
    assert.throws(() => alice.peer.session.sendData({ label: 'chat', payload: 'hi' }), { code: 'forbidden' });
    await assert.rejects(
      alice.peer.session.publications.data.publish({ transportId: alice.send, sctpStreamParameters: {}, label: 'x', protocol: '' }),
      { code: 'forbidden' },
    );
  });

  test('that are revoked end affected tracks at once, and granted again restart them', async () => {
    const { rooms, alice, bob } = await makePair();
    const trackId = await publish(alice, 'video');
    await rooms.patchPeer('r', 'alice', { permissions: { publish: ['audio'] } });
    assert.deepEqual(alice.connection.of('trackRemoved'), [{ peerId: 'alice', trackId }]);
    assert.deepEqual(alice.connection.of('permissionsUpdated').at(-1)?.permissions, { publish: ['audio'], subscribe: true, data: true });
    await publish(alice, 'audio');
    const before = bob.connection.of('trackSubscribed').length;
    await rooms.patchPeer('r', 'bob', { permissions: { subscribe: false } });
    assert.equal(bob.connection.names().at(-1), 'trackUnsubscribed');
    await rooms.patchPeer('r', 'bob', { permissions: { subscribe: true } });
    await flushEvents();
    assert.equal(bob.connection.of('trackSubscribed').length, before + 1);
  });

  test('for sources exclude the other sources of a media kind, and tracks that are published cannot change to these', async () => {
    const { rooms, alice } = await makePair();
    const screen = await publish(alice, 'video', { source: 'screen' });
    const camera = await publish(alice, 'video');
    await rooms.patchPeer('r', 'alice', { permissions: { publishSources: ['camera', 'microphone'] } });
    assert.deepEqual(alice.connection.of('trackRemoved'), [{ peerId: 'alice', trackId: screen }]);
    await assert.rejects(publish(alice, 'video', { source: 'screen' }), { code: 'forbidden', message: /video of this source/ });
    await publish(alice, 'audio', { source: 'microphone' });
    const { publications } = alice.peer.session;
    assert.throws(() => publications.setMetadata(camera, { source: 'screen' }), { code: 'forbidden' });
    publications.setMetadata(camera, { source: 'camera', name: 'front' });
    await rooms.patchPeer('r', 'alice', { permissions: { publishSources: null } });
    await publish(alice, 'video', { source: 'screen' });
    assert.deepEqual(alice.connection.of('permissionsUpdated').at(-1)?.permissions, {
      ...{ publish: ['audio', 'video'], subscribe: true, data: true },
    });
  });

  test('revoked during a publish request still apply', async () => {
    const { rooms, alice, media } = await makePair();
    const publishing = publish(alice, 'video');
    await rooms.patchPeer('r', 'alice', { permissions: { publish: [] } });
    await assert.rejects(publishing, { code: 'forbidden' });
    assert.equal(media.room('r').producers.size, 0);
  });

  test('simulcast is rejected if the peer was created without it', async () => {
    const { rooms } = await makeRoom();
    await rooms.addPeer('r', { type: 'webrtc', peerId: 'plain', options: { enableSimulcast: false } });
    const plain = await connectPeer(rooms, 'r', 'plain');
    const rtpParameters = { encodings: [{ rid: 'l' }, { rid: 'h' }] };
    await assert.rejects(
      plain.peer.session.publications.publish({ transportId: plain.send, kind: 'video', rtpParameters, paused: false }),
      { code: 'forbidden' },
    );
  });
});

describe('moderation', () => {
  test('a muted track stays silent until the server unmutes it, whatever its publisher does', async () => {
    const { rooms, alice, bob, media } = await makePair();
    const trackId = await publish(alice, 'audio');
    const paused = () => media.room('r').producers.get(trackId)?.paused;
    await rooms.setTrackMuted('r', trackId, true);
    assert.equal(paused(), true);
    assert.deepEqual(alice.connection.of('trackPaused'), [{ trackId, by: 'server' }]);
    await alice.peer.session.publications.setPaused(trackId, true);
    await alice.peer.session.publications.setPaused(trackId, false);
    assert.equal(paused(), true);
    assert.deepEqual(fieldsOf(bob.connection.of('trackPaused'), 'by'), ['server', 'publisher']);
    await rooms.setTrackMuted('r', trackId, false);
    assert.equal(paused(), false);
    await assert.rejects(rooms.setTrackMuted('r', 'nothing', true), { code: 'track_not_found' });
  });

  test('a track removed by the server ends for all peers, and its publisher is notified', async () => {
    const { rooms, alice, bob } = await makePair();
    const trackId = await publish(alice, 'video');
    await rooms.removeTrack('r', trackId);
    for (const { connection } of [alice, bob]) assert.deepEqual(connection.of('trackRemoved'), [{ peerId: 'alice', trackId }]);
  });
});

describe('data', () => {
  test('messages are delivered to all others or to named peers, and from the server to any peer', async () => {
    const { rooms, alice, bob } = await makePair();
    const carol = await joinPeer(rooms, 'r', 'carol');
    alice.peer.session.sendData({ label: 'chat', payload: { text: 'hi' } });
    alice.peer.session.sendData({ label: 'chat', payload: 'only carol', to: ['carol'] });
    await rooms.sendData('r', { label: 'notice', payload: 1, to: ['bob'] });
    assert.deepEqual(alice.connection.of('data'), []);
    assert.deepEqual(bob.connection.of('data'), [
      { from: 'alice', label: 'chat', payload: { text: 'hi' } },
      { from: null, label: 'notice', payload: 1 },
    ]);
    assert.deepEqual(fieldsOf(carol.connection.of('data'), 'payload'), [{ text: 'hi' }, 'only carol']);
    await assert.rejects(rooms.sendData('r', { label: 'notice', payload: 1, to: ['unknown'] }), { code: 'peer_not_found' });
  });

  test('data tracks reach the others and end with their publisher', async () => {
    const { alice, bob } = await makePair();
    const { dataTrackId } = await alice.peer.session.publications.data.publish({
      transportId: alice.send,
      sctpStreamParameters: {},
      label: 'pointer',
      protocol: '',
    });
    await flushEvents();
    assert.deepEqual(fieldsOf(bob.connection.of('dataTrackSubscribed'), 'peerId', 'label'), [['alice', 'pointer']]);
    alice.peer.disconnect();
    assert.deepEqual(bob.connection.of('dataTrackUnsubscribed'), [{ dataTrackId }]);
  });

  test('data channels require the permission and a transport with SCTP', async () => {
    const { alice, bob, rooms } = await makePair();
    assert.equal('sctpParameters' in (await alice.peer.session.createTransport('send', { sctp: false })), false);
    await assert.rejects(
      alice.peer.session.publications.data.publish({ transportId: 'alice-send-3', sctpStreamParameters: {}, label: 'x', protocol: '' }),
      { code: 'conflict' },
    );
    const { id } = await alice.peer.session.createTransport('send', { sctp: true });
    const { dataTrackId } = await alice.peer.session.publications.data.publish({
      transportId: String(id),
      sctpStreamParameters: {},
      label: 'x',
      protocol: '',
    });
    await flushEvents();
    assert.equal(bob.connection.of('dataTrackSubscribed').length, 1);
    await rooms.patchPeer('r', 'bob', { permissions: { data: false } });
    assert.deepEqual(bob.connection.of('dataTrackUnsubscribed'), [{ dataTrackId }]);
    for (const direction of ['send', 'recv'] as const)
      assert.equal('sctpParameters' in (await bob.peer.session.createTransport(direction, { sctp: true })), false, direction);
    await flushEvents();
    assert.equal(bob.connection.of('dataTrackSubscribed').length, 1);
  });

  test('in a room with audio only, video is rejected whatever the permissions', async () => {
    const { rooms } = await makeRoom();
    await rooms.createRoom({ roomId: 'calls', videoCodec: 'none' });
    const alice = await joinPeer(rooms, 'calls', 'alice');
    await assert.rejects(publish(alice, 'video'), { code: 'forbidden', message: 'This room has audio only' });
    await publish(alice, 'audio');
  });
});
