// Metadata and attributes of peers, tracks and rooms.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Metadata } from '../../../api/json.ts';
import type { PeerPatch } from '../../../api/peer.ts';
import { joinPeer, makePair, publish, type TestPeer } from '../../kit/fakes/rooms.ts';
import { fieldsOf } from '../../kit/fields.ts';

describe('metadata and attributes', () => {
  test('of metadata changes within a second only the last is published', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { alice, bob, kinds } = await makePair();
    for (const name of ['A', 'B', 'C']) alice.peer.profile.setMetadata({ name });
    const shown = () => bob.connection.of('peerMetadataUpdated').map(({ metadata }) => metadata);
    assert.deepEqual(shown(), [{ name: 'A' }]);
    t.mock.timers.tick(999);
    assert.equal(shown().length, 1);
    t.mock.timers.tick(1);
    assert.deepEqual(shown(), [{ name: 'A' }, { name: 'C' }]);
    t.mock.timers.tick(1_000);
    alice.peer.profile.setMetadata({ name: 'D' });
    assert.deepEqual(shown().at(-1), { name: 'D' });
    const trackId = await publish(alice, 'audio', 'mic');
    for (const metadata of ['1', '2', '3']) alice.peer.session.publications.setMetadata(trackId, metadata);
    t.mock.timers.tick(1_000);
    assert.deepEqual(fieldsOf(bob.connection.of('trackMetadataUpdated'), 'metadata'), ['1', '3']);
    // A pending change is dropped with its track and with its peer.
    for (const metadata of ['4', '5']) alice.peer.session.publications.setMetadata(trackId, metadata);
    for (const name of ['E', 'F']) alice.peer.profile.setMetadata({ name });
    alice.peer.session.publications.removeTrack(trackId, 'publisher');
    alice.peer.remove('removed');
    t.mock.timers.tick(5_000);
    assert.equal(kinds().filter((kind) => kind.includes('MetadataUpdated')).length, 6);
  });

  test('a change by the backend is published at once and replaces a pending one', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { rooms, alice, bob } = await makePair();
    for (const name of ['A', 'B']) alice.peer.profile.setMetadata({ name, seat: 1 });
    await rooms.patchPeer('r', 'alice', { name: 'C' });
    assert.deepEqual(bob.connection.of('peerMetadataUpdated').at(-1), { peerId: 'alice', metadata: { name: 'C', seat: 1 } });
    assert.deepEqual(alice.connection.of('peerMetadataUpdated').length, 1);
    t.mock.timers.tick(1_000);
    assert.equal(bob.connection.of('peerMetadataUpdated').length, 2);
    const named = async (patch: PeerPatch) => (await rooms.patchPeer('r', 'alice', patch)).view().metadata;
    assert.deepEqual(await named({ name: null }), { seat: 1 });
    assert.equal(await named({ metadata: 'text' }), 'text');
    assert.deepEqual(await named({ name: 'D' }), { value: 'text', name: 'D' });
    assert.deepEqual(await named({ metadata: null, name: 'E' }), { name: 'E' });
  });

  test('a permitted peer sets the metadata of the room, paced, and the backend replaces a pending change', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { rooms, alice, bob, kinds } = await makePair();
    const set = (metadata: Metadata) => alice.peer.session.setRoomMetadata(metadata);
    assert.throws(() => set('plans'), { code: 'forbidden', message: 'This peer is not permitted to set the metadata of the room' });
    await rooms.patchPeer('r', 'alice', { permissions: { roomMetadata: true } });
    for (const topic of ['a', 'b', 'c']) set({ topic });
    t.mock.timers.tick(1_000);
    const shown = ({ connection }: TestPeer) => fieldsOf(connection.of('roomMetadataUpdated'), 'metadata');
    assert.deepEqual(shown(bob), [{ topic: 'a' }, { topic: 'c' }]);
    assert.deepEqual(shown(alice), shown(bob));
    set({ topic: 'd' });
    rooms.room('r').patch({ metadata: 'final', maxPeers: 5 });
    rooms.room('r').patch({ metadata: 'final' });
    assert.deepEqual(rooms.room('r').config.metadata, 'final');
    t.mock.timers.tick(1_000);
    for (const topic of ['e', 'f']) set({ topic });
    rooms.room('r').close('deleted');
    t.mock.timers.tick(5_000);
    assert.deepEqual(shown(bob).slice(2), ['final', { topic: 'e' }]);
    assert.equal(kinds().filter((kind) => kind === 'RoomMetadataUpdated').length, 4);
  });

  test('attributes are merged, and a peer changes only its own', async () => {
    const { rooms, alice, bob, kinds } = await makePair();
    alice.peer.profile.setAttributes({ hand: 'up', seat: '7' });
    await rooms.patchPeer('r', 'alice', { attributes: { role: 'host', seat: null } });
    assert.deepEqual(bob.connection.of('peerAttributesUpdated'), [
      { peerId: 'alice', attributes: { hand: 'up', seat: '7' } },
      { peerId: 'alice', attributes: { hand: 'up', role: 'host' } },
    ]);
    assert.throws(() => alice.peer.profile.setAttributes({ role: 'guest' }), { code: 'forbidden' });
    const large = Object.fromEntries(Array.from({ length: 63 }, (_, index) => [`a${index}`, '']));
    assert.throws(() => alice.peer.profile.setAttributes(large), { code: 'too_large' });
    await rooms.patchPeer('r', 'alice', { attributes: { role: null } });
    assert.deepEqual(alice.peer.view().attributes, { hand: 'up' });
    assert.deepEqual((await joinPeer(rooms, 'r', 'carol')).peer.view().attributes, {});
    assert.deepEqual((await alice.peer.welcome()).attributes, { hand: 'up' });
    assert.equal(kinds().filter((kind) => kind === 'PeerAttributesUpdated:alice').length, 3);
  });

  test('unchanged metadata emit no event', async () => {
    const { alice, bob, kinds } = await makePair();
    alice.peer.profile.setMetadata({ name: 'A' });
    alice.peer.profile.setMetadata({ name: 'A' });
    const trackId = await publish(alice, 'audio', 'mic');
    alice.peer.session.publications.setMetadata(trackId, 'mic');
    alice.peer.session.publications.setMetadata(trackId, 'mic 2');
    assert.equal(kinds().filter((kind) => kind.includes('MetadataUpdated')).length, 2);
    assert.equal(bob.connection.of('peerMetadataUpdated').length, 1);
    assert.deepEqual(bob.connection.of('trackMetadataUpdated'), [{ trackId, metadata: 'mic 2' }]);
  });
});
