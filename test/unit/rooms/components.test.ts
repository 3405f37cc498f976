// Components of a room: their events, what peers receive, and every way they end.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ServiceError } from '../../../api/errors.ts';
import { connectPeer, flushEvents, joinPeer, makeRoom } from '../../kit/fakes/rooms.ts';
import { fieldsOf } from '../../kit/fields.ts';

/** A room with a connected peer, and the events since then with their origins. */
async function setup() {
  const made = await makeRoom();
  const bob = await joinPeer(made.rooms, 'r', 'bob');
  const before = made.events.length;
  const add = async (externalId?: string) => {
    const { component } = await made.rooms.addComponent('r', {
      type: 'file',
      options: { filePath: 'a.ogg' },
      ...(externalId && { externalId }),
    });
    await flushEvents();
    return component;
  };
  const reported = () => made.events.slice(before).map(({ type, reason }) => (reason === undefined ? type : `${type} ${reason}`));
  return { ...made, bob, add, reported };
}

describe('a component', () => {
  test('is added before its tracks, shown in its room, and announced to peers, which receive it', async () => {
    const { rooms, bob, add, events, reported } = await setup();
    const component = await add();
    assert.deepEqual(reported(), ['ComponentAdded', 'TrackAdded']);
    assert.ok(events.slice(-2).every((event) => event.componentId === component.id && event.peerId === undefined));
    assert.deepEqual(component.properties, { filePath: 'a.ogg' });
    const [track] = component.tracks;
    assert.deepEqual([track?.type, track?.encoding, track?.metadata], ['audio', 'opus', { source: 'fake' }]);
    assert.deepEqual((await rooms.getRoom('r')).components, [component]);
    assert.deepEqual(await rooms.getComponent('r', component.id), component);
    const seen = { id: component.id, type: 'file' as const };
    assert.deepEqual(bob.connection.of('componentAdded'), [{ component: { ...seen, state: 'starting', tracks: [] } }]);
    assert.deepEqual(bob.connection.of('componentUpdated'), [{ componentId: component.id, state: 'running' }]);
    assert.deepEqual(bob.connection.of('trackAdded'), [{ componentId: component.id, track: { ...track, metadata: { source: 'file' } } }]);
    const [subscribed] = bob.connection.of('trackSubscribed');
    assert.deepEqual([subscribed?.componentId, subscribed?.peerId, subscribed?.trackId], [component.id, undefined, track?.id]);
  });

  test('is in the welcome of a peer that joins later, which receives its tracks', async () => {
    const { rooms, add } = await setup();
    const component = await add();
    await rooms.addPeer('r', { type: 'webrtc', peerId: 'carol' });
    const carol = await connectPeer(rooms, 'r', 'carol');
    const tracks = component.tracks.map((track) => ({ ...track, metadata: { source: 'file' } }));
    assert.deepEqual((await carol.peer.welcome()).components, [{ id: component.id, type: 'file', state: 'running', tracks }]);
    assert.deepEqual(new Set(carol.connection.of('trackSubscribed').map(({ componentId }) => componentId)), new Set([component.id]));
  });

  for (const [way, end, expected] of [
    ['finishes', async ({ components }) => components.last.host.finished(), 'ComponentRemoved finished'],
    ['is removed', async ({ rooms }, id) => rooms.deleteComponent('r', id), 'ComponentRemoved removed'],
    ['crashes', async ({ components }) => components.last.host.crashed('it broke'), 'ComponentCrashed it broke'],
  ] satisfies [string, (made: Awaited<ReturnType<typeof setup>>, id: string) => Promise<void>, string][]) {
    test(`that ${way} removes its tracks exactly once`, async () => {
      const made = await setup();
      const { rooms, bob, add, reported, components, media } = made;
      const component = await add();
      await end(made, component.id);
      components.last.host.finished();
      components.last.host.crashed('again');
      assert.deepEqual(reported(), ['ComponentAdded', 'TrackAdded', 'TrackRemoved', expected]);
      assert.deepEqual(bob.connection.names().slice(-3), ['trackUnsubscribed', 'trackRemoved', 'componentRemoved']);
      assert.deepEqual(bob.connection.of('trackRemoved'), [{ componentId: component.id, trackId: component.tracks[0]?.id }]);
      assert.equal(components.last.closed, true);
      assert.deepEqual([media.room('r').inputs.size, media.room('r').producers.size], [0, 0]);
      await assert.rejects(rooms.getComponent('r', component.id), { code: 'component_not_found' });
      await assert.rejects(rooms.deleteComponent('r', component.id), { code: 'component_not_found' });
      assert.deepEqual((await rooms.getRoom('r')).components, []);
    });
  }

  test('ends with its room before the peers do', async () => {
    const { rooms, add, reported, components } = await setup();
    await add();
    await rooms.deleteRoom('r');
    assert.deepEqual(reported().slice(2), [
      'TrackRemoved',
      'ComponentRemoved room_deleted',
      'PeerDisconnected',
      'PeerDeleted room_deleted',
      'RoomDeleted deleted',
    ]);
    assert.equal(components.last.closed, true);
  });

  test('ends with a crashed room without separate events', async () => {
    const { add, reported, components, media } = await setup();
    await add();
    media.room('r').crash('media worker died');
    assert.deepEqual(reported().slice(2), ['TrackRemoved', 'PeerDisconnected', 'RoomCrashed media worker died']);
    assert.equal(components.last.closed, true);
  });

  test('that cannot start crashes, and the request gets the reason', async () => {
    const { rooms, reported, components, media } = await setup();
    components.failStart = new ServiceError('unavailable', 'There is no media');
    await assert.rejects(rooms.addComponent('r', { type: 'file' }), { message: 'There is no media' });
    assert.deepEqual(reported(), ['ComponentAdded', 'ComponentCrashed There is no media']);
    assert.deepEqual([(await rooms.getRoom('r')).components, media.room('r').inputs.size], [[], 0]);
  });

  test('that is still being created when its room ends is never added', async () => {
    const { rooms, reported, components } = await setup();
    const { promise, resolve } = Promise.withResolvers<void>();
    components.gate = promise;
    const added = rooms.addComponent('r', { type: 'file' });
    await rooms.deleteRoom('r');
    resolve();
    await assert.rejects(added, { code: 'room_ended' });
    assert.deepEqual(components.runners, []);
    assert.ok(!reported().includes('ComponentAdded'));
  });

  test('with a repeated externalId is the existing one, also for concurrent requests', async () => {
    const { rooms, add, components } = await setup();
    const first = await add('key');
    assert.equal(first.externalId, 'key');
    const again = await rooms.addComponent('r', { type: 'file', externalId: 'key' });
    assert.deepEqual([again.created, again.component.id], [false, first.id]);
    const both = await Promise.all([1, 2, 3].map(() => rooms.addComponent('r', { type: 'file', externalId: 'other' })));
    assert.deepEqual(fieldsOf(both, 'created'), [true, false, false]);
    assert.equal(new Set(both.map(({ component }) => component.id)).size, 1);
    assert.equal(components.runners.length, 2);
  });

  test('can be moderated: its track is muted, unmuted and removed', async () => {
    const { rooms, bob, add, media, reported } = await setup();
    const { id, tracks } = await add();
    const trackId = tracks[0]?.id ?? '';
    await rooms.setTrackMuted('r', trackId, true);
    assert.equal(media.room('r').producers.get(trackId)?.paused, true);
    assert.deepEqual(bob.connection.of('trackPaused'), [{ trackId, by: 'server' }]);
    await rooms.setTrackMuted('r', trackId, false);
    assert.equal(media.room('r').producers.get(trackId)?.paused, false);
    await rooms.removeTrack('r', trackId);
    assert.deepEqual(reported().slice(2), ['TrackRemoved']);
    assert.deepEqual((await rooms.getComponent('r', id)).tracks, []);
  });

  test('is rejected beyond 100 in one room, including pending ones', async () => {
    const { rooms } = await setup();
    const added = await Promise.allSettled(Array.from({ length: 105 }, () => rooms.addComponent('r', { type: 'file' })));
    const refused = added.filter((each) => each.status === 'rejected');
    assert.equal(refused.length, 5);
    for (const { reason } of refused) assert.equal(reason.code, 'room_full');
  });
});

test('a room that does not exist or has ended has no components', async () => {
  const { rooms } = await setup();
  await assert.rejects(rooms.addComponent('none', { type: 'file' }), { code: 'room_not_found' });
  await rooms.deleteRoom('r');
  await assert.rejects(rooms.addComponent('r', { type: 'file' }), { code: 'room_ended' });
});
