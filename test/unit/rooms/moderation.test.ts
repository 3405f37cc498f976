// Moderation: mutes and removals outlive the sessions of a peer, also after a page reload.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Metadata } from '../../../api/json.ts';
import type { Kind } from '../../../api/track.ts';
import { connectPeer, joinPeer, makeRoom, type TestPeer } from '../../kit/fakes/rooms.ts';

const source = (name: string) => ({ source: name });

async function setup() {
  const { rooms, media, events } = await makeRoom();
  const bob = await joinPeer(rooms, 'r', 'bob');
  const alice = await joinPeer(rooms, 'r', 'alice');
  const paused = (trackId: string) => media.room('r').producers.get(trackId)?.paused;
  const again = () => {
    rooms.findPeer('r', 'alice')?.disconnect();
    return connectPeer(rooms, 'r', 'alice');
  };
  return { rooms, media, events, alice, bob, paused, again };
}

function publish(from: TestPeer, kind: Kind, { key, metadata = null }: { key?: string; metadata?: Metadata | null } = {}) {
  return from.peer.session.publications.publish({ transportId: from.send, kind, rtpParameters: {}, metadata, paused: false, key });
}

describe('a mute by the server', () => {
  test('applies to the same track in later sessions, is visible to everyone, and ends when lifted', async () => {
    const { rooms, alice, bob, paused, again, events } = await setup();
    const one = await publish(alice, 'audio', { key: 'a' });
    assert.equal(one.muted, false);
    await rooms.setTrackMuted('r', one.trackId, true);
    const two = await publish(await again(), 'audio', { key: 'a' });
    const third = await again();
    const three = await publish(third, 'audio', { key: 'a' });
    for (const { trackId, muted } of [two, three]) {
      assert.equal(muted, true);
      assert.deepEqual(
        bob.connection.of('trackAdded').flatMap(({ track }) => (track.id === trackId ? [track.muted] : [])),
        [true],
      );
    }
    assert.equal(paused(three.trackId), true);
    const added = events.flatMap((event) => (event.type === 'TrackAdded' ? [event.track?.muted] : []));
    assert.deepEqual(added, [false, true, true]);
    await third.peer.session.publications.setPaused(three.trackId, true);
    await third.peer.session.publications.setPaused(three.trackId, false);
    assert.equal(paused(three.trackId), true);
    await rooms.setTrackMuted('r', three.trackId, false);
    assert.equal(paused(three.trackId), false);
    assert.deepEqual(third.connection.of('trackResumed'), [{ trackId: three.trackId, by: 'server' }]);
    const four = await publish(await again(), 'audio', { key: 'a' });
    assert.deepEqual([four.muted, paused(four.trackId)], [false, false]);
  });

  test('applies to that track only if the client names its tracks, in any order', async () => {
    const { rooms, alice, again } = await setup();
    const [camera] = [await publish(alice, 'video', { key: 'camera' }), await publish(alice, 'video', { key: 'screen' })];
    await rooms.setTrackMuted('r', camera.trackId, true);
    const next = await again();
    assert.equal((await publish(next, 'video', { key: 'screen' })).muted, false);
    assert.equal((await publish(next, 'video', { key: 'camera' })).muted, true);
  });

  test('applies once after a page reload to the next track of the same kind and source', async () => {
    const { rooms, alice, again } = await setup();
    const microphone = await publish(alice, 'audio', { key: 'old', metadata: source('microphone') });
    await rooms.setTrackMuted('r', microphone.trackId, true);
    const next = await again();
    assert.equal((await publish(next, 'video', { key: 'new-1', metadata: source('microphone') })).muted, false);
    assert.equal((await publish(next, 'audio', { key: 'new-2', metadata: source('screen') })).muted, false);
    assert.equal((await publish(next, 'audio', { key: 'new-3' })).muted, false);
    assert.equal((await publish(next, 'audio', { key: 'new-4', metadata: source('microphone') })).muted, true);
    assert.equal((await publish(next, 'audio', { metadata: source('microphone') })).muted, false);
  });

  test('cannot be evaded by republishing, with or without a key, nor with a new send transport', async () => {
    const { rooms, alice } = await setup();
    const first = await publish(alice, 'audio');
    await rooms.setTrackMuted('r', first.trackId, true);
    alice.peer.session.publications.removeTrack(first.trackId, 'publisher');
    for (let turn = 0; turn < 300; turn += 1)
      alice.peer.session.publications.removeTrack((await publish(alice, 'video', { key: `v${turn}` })).trackId, 'publisher');
    const second = await publish(alice, 'audio', { key: 'a' });
    assert.equal(second.muted, true);
    const { id } = await alice.peer.session.createTransport('send', { sctp: true });
    assert.equal((await publish({ ...alice, send: String(id) }, 'audio')).muted, true);
  });

  test('can be lifted while the track is not published, by its former id', async () => {
    const { rooms, alice, again } = await setup();
    const { trackId } = await publish(alice, 'audio', { key: 'a' });
    await rooms.setTrackMuted('r', trackId, true);
    alice.peer.disconnect();
    await assert.rejects(rooms.setTrackMuted('r', trackId, true), { code: 'track_not_found' });
    await rooms.setTrackMuted('r', trackId, false);
    await assert.rejects(rooms.setTrackMuted('r', trackId, false), { code: 'track_not_found' });
    assert.equal((await publish(await again(), 'audio', { key: 'a' })).muted, false);
  });

  test('is kept if the publication that would inherit it fails, and ends with the peer', async () => {
    const { rooms, alice, again } = await setup();
    const { trackId } = await publish(alice, 'audio', { key: 'a' });
    await rooms.setTrackMuted('r', trackId, true);
    const next = await again();
    await assert.rejects(publish({ ...next, send: 'no transport' }, 'audio', { key: 'a' }));
    assert.equal((await publish(next, 'audio', { key: 'a' })).muted, true);
    await rooms.deletePeer('r', 'alice');
    assert.equal((await publish(await joinPeer(rooms, 'r', 'alice'), 'audio', { key: 'a' })).muted, false);
  });
});

describe('a track removed by the server', () => {
  test('is rejected if published again, while other tracks are accepted', async () => {
    const { rooms, alice, bob, again } = await setup();
    const { trackId } = await publish(alice, 'video', { key: 'camera' });
    await rooms.removeTrack('r', trackId);
    const next = await again();
    await assert.rejects(publish(next, 'video', { key: 'camera' }), { message: `Track ${trackId} was removed by the server` });
    await assert.rejects(publish(next, 'video', { key: 'camera' }), { code: 'track_not_found' });
    assert.equal(bob.connection.of('trackAdded').length, 1);
    assert.equal((await publish(next, 'video', { key: 'camera again' })).muted, false);
  });

  test('passes its mute on to the track that replaces it', async () => {
    const { rooms, alice, again } = await setup();
    const { trackId } = await publish(alice, 'audio', { key: 'a' });
    await rooms.setTrackMuted('r', trackId, true);
    await rooms.removeTrack('r', trackId);
    assert.equal((await publish(alice, 'audio', { key: 'b' })).muted, true);
    const next = await again();
    await assert.rejects(publish(next, 'audio', { key: 'a' }), { code: 'track_not_found' });
    assert.equal((await publish(next, 'audio', { key: 'b' })).muted, true);
  });
});

test('a key identifies one published track at a time', async () => {
  const { alice } = await setup();
  const { trackId } = await publish(alice, 'audio', { key: 'a' });
  await assert.rejects(publish(alice, 'audio', { key: 'a' }), { code: 'conflict' });
  alice.peer.session.publications.removeTrack(trackId, 'publisher');
  await publish(alice, 'audio', { key: 'a' });
});
