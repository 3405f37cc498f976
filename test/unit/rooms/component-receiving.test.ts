// Receiving components: tracks in auto and manual mode, and one component per type and room.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flushEvents, joinPeer, makeRoom, publish } from '../../kit/fakes/rooms.ts';

async function setup(subscribeMode?: string) {
  const made = await makeRoom();
  const alice = await joinPeer(made.rooms, 'r', 'alice');
  const bob = await joinPeer(made.rooms, 'r', 'bob');
  const first = await publish(alice, 'video', 'camera');
  const add = () => made.rooms.addComponent('r', { type: 'recording', ...(subscribeMode && { options: { subscribeMode } }) });
  const { component } = await add();
  await flushEvents();
  const runner = made.components.last;
  const received = () => runner.received.at(-1)?.map(({ id }) => id);
  return { ...made, alice, bob, first, component, runner, received, add };
}

test('a component in auto mode receives all tracks as they are added and removed, with their properties', async () => {
  const { alice, bob, first, runner, received, rooms } = await setup();
  const camera = { id: first, origin: { peerId: 'alice' }, kind: 'video', encoding: 'vp8', metadata: 'camera' };
  assert.deepEqual(runner.received, [[camera]]);
  const second = await publish(bob, 'audio');
  assert.deepEqual(received(), [first, second]);
  const { component: file } = await rooms.addComponent('r', { type: 'file', options: { filePath: 'a.ogg' } });
  assert.deepEqual(received(), [file.tracks[0]?.id, first, second]);
  await rooms.deleteComponent('r', file.id);
  alice.peer.session.publications.removeTrack(first, 'publisher');
  assert.deepEqual(received(), [second]);
  await rooms.deletePeer('r', 'bob');
  assert.deepEqual(received(), []);
});

test('a component in manual mode receives only its origins, also those that join later', async () => {
  const { bob, component, received, rooms, runner } = await setup('manual');
  assert.deepEqual(runner.received, [[]]);
  await rooms.subscribeComponent('r', component.id, ['bob', 'carol']);
  assert.deepEqual(received(), []);
  const track = await publish(bob, 'audio');
  assert.deepEqual(received(), [track]);
  const carol = await joinPeer(rooms, 'r', 'carol');
  const late = await publish(carol, 'video');
  assert.deepEqual(received(), [track, late]);
});

test('a component in manual mode receives the origins of its options from the start, and shows them in its properties', async () => {
  const { rooms, alice, bob, components, first } = await setup();
  const [auto] = (await rooms.getRoom('r')).components;
  await rooms.deleteComponent('r', auto?.id ?? '');
  const options = { subscribeMode: 'manual', origins: ['alice', 'carol'] };
  const { component } = await rooms.addComponent('r', { type: 'recording', options });
  await flushEvents();
  const received = () => components.last.received.at(-1)?.map(({ id }) => id);
  await publish(bob, 'audio');
  assert.deepEqual([received(), component.properties.origins], [[first], ['alice', 'carol']]);
  await rooms.subscribeComponent('r', component.id, ['bob']);
  const [now] = (await rooms.getRoom('r')).components;
  assert.deepEqual([received()?.length, now?.properties.origins], [2, ['alice', 'carol', 'bob']]);
  alice.peer.session.publications.removeTrack(first, 'publisher');
  assert.equal(received()?.length, 1);
});

test('a component leaves encrypted tracks out, and reports each once', async () => {
  const { alice, bob, component, events, first, received, rooms } = await setup();
  const secret = await publish(alice, 'audio', null, true);
  const open = await publish(bob, 'audio');
  assert.deepEqual(received(), [first, open]);
  const dropped = () => events.filter(({ type }) => type === 'ComponentTrackDropped');
  assert.deepEqual(
    dropped().map(({ componentId, track, reason }) => [componentId, track?.id, track?.encrypted, reason]),
    [[component.id, secret, true, 'The track is end-to-end encrypted']],
  );
  const { tracks } = (await rooms.getRoom('r')).peers.find(({ id }) => id === 'alice') ?? {};
  assert.deepEqual(
    tracks?.map(({ id, encrypted }) => [id, encrypted]),
    [
      [first, false],
      [secret, true],
    ],
  );
  assert.deepEqual(bob.connection.of('trackAdded').at(-1)?.track.encrypted, true);
});

test('a component in manual mode reports only encrypted tracks of its origins', async () => {
  const { alice, bob, component, events, rooms } = await setup('manual');
  await publish(alice, 'audio', null, true);
  await rooms.subscribeComponent('r', component.id, ['bob']);
  const secret = await publish(bob, 'video', null, true);
  assert.deepEqual(
    events.filter(({ type }) => type === 'ComponentTrackDropped').map(({ track }) => track?.id),
    [secret],
  );
});

test('a component gets transcripts of the peers whose tracks it receives, if they are for all peers', async () => {
  const captionsOf = async (subscribeMode?: string) => {
    const { alice, bob, rooms, runner, component, events } = await setup(subscribeMode);
    if (subscribeMode) await rooms.subscribeComponent('r', component.id, ['alice']);
    await rooms.patchPeer('r', 'alice', { name: 'Alice' });
    const transcript = (speakerId: string, text: string) => ({ message: {}, bytes: 1, transcripts: [{ id: 's', speakerId, text }] });
    bob.peer.session.relay({ ...transcript('alice', 'public'), to: undefined });
    bob.peer.session.relay({ ...transcript('alice', 'private'), to: ['alice'] });
    bob.peer.session.relay({ ...transcript('bob', 'of bob'), to: undefined });
    await publish(alice, 'audio', null, true);
    bob.peer.session.relay({ ...transcript('alice', 'encrypted'), to: undefined });
    assert.equal(events.filter(({ type }) => type === 'TranscriptAdded').length, 4);
    return runner.captions;
  };
  const ofAlice = { text: 'public', speaker: 'Alice' };
  assert.deepEqual(await captionsOf(), [ofAlice, { text: 'of bob', speaker: null }]);
  assert.deepEqual(await captionsOf('manual'), [ofAlice]);
});

test('a component that receives tracks is rejected while the room is encrypted', async () => {
  const { rooms } = await makeRoom();
  const alice = await joinPeer(rooms, 'r', 'alice');
  const secret = await publish(alice, 'audio', null, true);
  await assert.rejects(rooms.addComponent('r', { type: 'recording' }), {
    code: 'conflict',
    message: 'Room r is end-to-end encrypted; a component of type recording cannot decode its tracks',
  });
  await rooms.addComponent('r', { type: 'file' });
  alice.peer.session.publications.removeTrack(secret, 'publisher');
  await rooms.addComponent('r', { type: 'recording' });
});

test('an invalid subscription is rejected with an error message', async () => {
  const { component, rooms } = await setup();
  await assert.rejects(rooms.subscribeComponent('r', component.id, ['alice']), {
    code: 'bad_request',
    message: `Component ${component.id} receives all tracks: its option subscribeMode is not manual`,
  });
  const { component: file } = await rooms.addComponent('r', { type: 'file' });
  await assert.rejects(rooms.subscribeComponent('r', file.id, ['alice']), {
    code: 'bad_request',
    message: 'Components of type file receive no tracks',
  });
  await assert.rejects(rooms.subscribeComponent('r', 'none', ['alice']), { code: 'component_not_found' });
  const { rooms: others, component: manual } = await setup('manual');
  const origins = Array.from({ length: 1001 }, (_, index) => `p${index}`);
  await assert.rejects(others.subscribeComponent('r', manual.id, origins), { code: 'bad_request' });
});

test('a room has at most one recording, also while one is being created', async () => {
  const { add, component, rooms, components } = await setup();
  await assert.rejects(add(), { code: 'bad_request', message: 'Room r already has a component of type recording' });
  await rooms.deleteComponent('r', component.id);
  const both = await Promise.allSettled([add(), add()]);
  assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  assert.equal(components.runners.length, 2);
});

test('egresses close with the component that opened them', async () => {
  const { component, media, rooms, runner } = await setup();
  runner.host.openOutput();
  runner.host.openOutput();
  assert.equal(media.room('r').outputs.size, 2);
  await rooms.deleteComponent('r', component.id);
  assert.equal(media.room('r').outputs.size, 0);
  assert.throws(() => runner.host.openOutput(), { code: 'component_not_found' });
});

test('a component receives interrupted tracks again when they continue, and all tracks when its own media was lost', async () => {
  const { alice, bob, first, received, runner, media, rooms } = await setup();
  const second = await publish(bob, 'audio');
  const { component: file } = await rooms.addComponent('r', { type: 'file', options: { filePath: 'a.ogg' } });
  const played = file.tracks[0]?.id;
  alice.peer.session.publications.client.migrates = true;
  const { trackId: keyed } = await alice.peer.session.publications.publish({
    ...{ transportId: alice.send, kind: 'audio', rtpParameters: {}, key: 'k', paused: false },
  });
  assert.deepEqual(received(), [played, first, keyed, second]);
  media.room('r').lose('alice');
  assert.deepEqual(received(), [played, second], 'the track without a key has ended');
  const { id: transportId } = await alice.peer.session.createTransport('send', { sctp: false });
  await alice.peer.session.publications.publish({
    ...{ transportId: String(transportId), kind: 'audio', rtpParameters: {}, key: 'k', paused: false },
  });
  assert.deepEqual(received(), [played, keyed, second]);
  const input = [...media.room('r').inputs].at(-1);
  input?.listener?.interrupted();
  assert.deepEqual(received(), [keyed, second]);
  input?.listener?.restored();
  assert.deepEqual(received(), [played, keyed, second]);
  runner.host.openOutput();
  const before = runner.received.length;
  [...media.room('r').outputs].at(-1)?.listener?.interrupted();
  assert.deepEqual(
    runner.received.slice(before).map((tracks) => tracks.map(({ id }) => id)),
    [[], [played, keyed, second]],
  );
});

test('a component crashes if its media cannot be restored', async () => {
  const { events, media, runner } = await setup();
  runner.host.openOutput();
  [...media.room('r').outputs].at(-1)?.listener?.failed(new Error('no port'));
  await flushEvents();
  const { type, reason } = events.at(-1) ?? {};
  assert.deepEqual([type, reason, runner.closed], ['ComponentCrashed', 'The media of the component was lost', true]);
});
