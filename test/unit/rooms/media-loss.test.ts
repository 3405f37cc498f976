// Loss of the media of some peers of a room: it continues, and its tracks keep their ids.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { flushEvents, joinPeer, makePair, type TestPeer } from '../../kit/fakes/rooms.ts';
import { fieldsOf } from '../../kit/fields.ts';

async function publish({ peer, send }: TestPeer, key: string, { transportId = send, paused = false, metadata = {} } = {}): Promise<string> {
  const request = { transportId, kind: 'audio' as const, rtpParameters: {}, key, paused, metadata };
  const { trackId } = await peer.session.publications.publish(request);
  await flushEvents();
  return trackId;
}

/** As the client library does after `migrate`. */
async function openTransports({ peer: { session } }: TestPeer): Promise<string> {
  await session.createTransport('recv', { sctp: true });
  const { id } = await session.createTransport('send', { sctp: true });
  await flushEvents();
  return String(id);
}

/** Alice's media can be lost. */
async function migratingPair() {
  const made = await makePair();
  made.alice.peer.session.publications.client.migrates = true;
  return made;
}

describe('a peer that migrates', () => {
  test('publishes its tracks again under the same ids, and no peer or backend is notified of an end', async () => {
    const { media, alice, bob, kinds } = await migratingPair();
    const trackId = await publish(alice, 'mic');
    bob.connection.events.length = 0;
    const events = kinds().length;
    media.room('r').lose('alice');
    assert.deepEqual(alice.connection.of('migrate'), [{ reason: 'lost' }]);
    assert.deepEqual(bob.connection.names(), []);
    const transportId = await openTransports(alice);
    assert.equal(await publish(alice, 'mic', { transportId }), trackId);
    assert.deepEqual(bob.connection.names(), ['trackUnsubscribed', 'trackSubscribed']);
    assert.equal(bob.connection.of('trackSubscribed')[0]?.trackId, trackId);
    assert.equal(kinds().length, events);
  });

  test('receives again what it received, also in manual mode', async () => {
    for (const mode of ['auto', 'manual'] as const) {
      const { media, alice, bob } = await migratingPair();
      const { subscriptions } = alice.peer.session;
      subscriptions.setMode(mode);
      const [wanted, other] = [await publish(bob, 'a'), await publish(bob, 'b')];
      if (mode === 'manual') await subscriptions.subscribe(wanted);
      else subscriptions.unsubscribe(other);
      alice.connection.events.length = 0;
      media.room('r').lose('alice');
      await openTransports(alice);
      await flushEvents();
      assert.deepEqual([mode, ...fieldsOf(alice.connection.of('trackSubscribed'), 'trackId')], [mode, wanted]);
    }
  });

  test('keeps a pause and a mute, which may change meanwhile', async () => {
    const { media, alice, bob, rooms } = await migratingPair();
    const trackId = await publish(alice, 'mic');
    media.room('r').lose('alice');
    await rooms.room('r').setTrackMuted(trackId, true);
    await alice.peer.session.publications.setPaused(trackId, true);
    bob.connection.events.length = 0;
    const transportId = await openTransports(alice);
    const request = { transportId, kind: 'audio' as const, rtpParameters: {}, key: 'mic', paused: false };
    assert.deepEqual(await alice.peer.session.publications.publish(request), { trackId, muted: true });
    assert.equal(media.room('r').producers.get(trackId)?.paused, true);
    assert.deepEqual(fieldsOf(bob.connection.of('trackResumed'), 'trackId', 'by'), [[trackId, 'publisher']]);
    await rooms.room('r').setTrackMuted(trackId, false);
    assert.equal(media.room('r').producers.get(trackId)?.paused, false);
  });

  test('loses tracks without a key, those that it does not publish again within a minute, and those that are removed', async (t: TestContext) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { media, alice, bob, rooms } = await migratingPair();
    const withoutKey = await alice.peer.session.publications.publish({
      ...{ transportId: alice.send, kind: 'video', rtpParameters: {}, paused: false },
    });
    const [late, removed] = [await publish(alice, 'late'), await publish(alice, 'removed')];
    bob.connection.events.length = 0;
    media.room('r').lose('alice');
    const ended = () => fieldsOf(bob.connection.of('trackRemoved'), 'trackId');
    assert.deepEqual(ended(), [withoutKey.trackId]);
    rooms.room('r').publisherOf(removed).removeTrack(removed);
    const transportId = await openTransports(alice);
    await assert.rejects(publish(alice, 'removed', { transportId }), { code: 'track_not_found' });
    assert.deepEqual(ended(), [withoutKey.trackId, removed]);
    t.mock.timers.tick(60_000);
    assert.deepEqual(ended(), [withoutKey.trackId, removed, late]);
    assert.notEqual(await publish(alice, 'late', { transportId }), late);
  });

  test('joins a room whose interrupted track returns later', async () => {
    const { media, alice, rooms } = await migratingPair();
    const trackId = await publish(alice, 'mic');
    media.room('r').lose('alice');
    const carol = await joinPeer(rooms, 'r', 'carol');
    assert.deepEqual(carol.connection.of('trackSubscribed'), []);
    await publish(alice, 'mic', { transportId: await openTransports(alice) });
    await flushEvents();
    assert.deepEqual(fieldsOf(carol.connection.of('trackSubscribed'), 'trackId'), [trackId]);
  });
});

test('a peer whose client does not migrate is disconnected, and can join again', async () => {
  const { media, alice, bob, rooms, kinds } = await makePair();
  const trackId = await publish(alice, 'mic');
  media.room('r').lose('alice');
  assert.equal(alice.connection.closed, 'mediaLost');
  assert.deepEqual(fieldsOf(bob.connection.of('trackRemoved'), 'trackId'), [trackId]);
  assert.deepEqual(kinds().slice(-2), ['TrackRemoved:alice', 'PeerDisconnected:alice']);
  assert.equal(rooms.findPeer('r', 'alice')?.connected, false);
});
