// Move of a peer: it receives over two paths until its client uses the second one only.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { flushEvents, makePair, publish } from '../../kit/fakes/rooms.ts';
import { fieldsOf } from '../../kit/fields.ts';

/** Bob receives two tracks of Alice, and begins to move. `over`: ids of tracks announced for a transport since the last call. */
async function startMove() {
  const made = await makePair();
  const { alice, bob } = made;
  const { session } = bob.peer;
  session.paths.supported = true;
  const trackIds = [await publish(alice, 'audio'), await publish(alice, 'video')];
  bob.connection.events.length = 0;
  const moved = session.paths.move(undefined);
  moved.catch(() => {});
  const path = bob.connection.of('migrate')[0]?.path ?? '';
  const createTransport = async () => {
    const { id } = await session.createTransport('recv', { sctp: true, path });
    await flushEvents();
    return String(id);
  };
  const over = (transportId: string) => {
    const announced = bob.connection.of('trackSubscribed').filter((track) => track.transportId === transportId);
    bob.connection.events.length = 0;
    return fieldsOf(announced, 'trackId');
  };
  const mediaOfBob = () => [...made.media.room('r').peers].filter(({ peerId }) => peerId === 'bob');
  return { ...made, session, trackIds, moved, path, createTransport, over, mediaOfBob };
}

describe('a peer that is moved', () => {
  test('receives the same tracks over both paths, then over the second one only', async () => {
    const { session, trackIds, moved, path, createTransport, over, mediaOfBob } = await startMove();
    const [before] = mediaOfBob();
    assert.deepEqual(over(await createTransport()), trackIds);
    assert.equal(mediaOfBob().length, 2);
    await session.paths.tracksReady(trackIds, path);
    assert.equal(session.media, before);
    session.paths.use(path);
    await moved;
    assert.notEqual(session.media, before);
    assert.deepEqual(mediaOfBob(), [session.media]);
    assert.deepEqual(
      mediaOfBob().flatMap(({ subscribed }) => [...subscribed.values()].map(({ paused }) => paused)),
      [false, false],
    );
  });

  test('gets later tracks, and ends of tracks, once or for each path', async () => {
    const { alice, bob, rooms, session, trackIds, path, createTransport, over, mediaOfBob } = await startMove();
    const transportId = await createTransport();
    over(transportId);
    const later = await publish(alice, 'audio');
    assert.deepEqual(fieldsOf(bob.connection.of('trackSubscribed'), 'trackId'), [later, later]);
    bob.connection.events.length = 0;
    rooms
      .room('r')
      .publisherOf(trackIds[0] ?? '')
      .removeTrack(trackIds[0] ?? '');
    assert.deepEqual(fieldsOf(bob.connection.of('trackUnsubscribed'), 'trackId'), [trackIds[0]]);
    session.subscriptions.unsubscribe(trackIds[1] ?? '');
    session.paths.use(path);
    await flushEvents();
    assert.deepEqual(
      mediaOfBob().flatMap(({ subscribed }) => [...subscribed.keys()]),
      [later],
    );
    assert.equal(session.subscriptions.size, 1);
  });

  test('keeps its path if the client does not use the second one in time, or loses it', async (t: TestContext) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    for (const how of ['late', 'publishes', 'leaves'] as const) {
      const { bob, rooms, session, trackIds, moved, path, createTransport, mediaOfBob } = await startMove();
      const [before] = mediaOfBob();
      await createTransport();
      if (how === 'late') t.mock.timers.tick(15_000);
      else if (how === 'leaves') rooms.findPeer('r', 'bob')?.disconnect();
      else {
        await publish(bob, 'audio');
        assert.throws(() => session.paths.use(path), { code: 'conflict' });
      }
      await assert.rejects(moved, { code: 'conflict' });
      assert.deepEqual(mediaOfBob(), how === 'leaves' ? [] : [before]);
      if (how === 'leaves') continue;
      assert.deepEqual(bob.connection.of('pathClosed'), [{ path }]);
      assert.equal(session.subscriptions.size, trackIds.length);
      assert.throws(() => session.paths.use(path), { code: 'not_found' });
      await assert.rejects(session.paths.tracksReady(trackIds, path), { code: 'not_found' });
    }
  });

  test('has time for each step of its client, and for all of them', async (t: TestContext) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { session, trackIds, moved, path } = await startMove();
    let ended = false;
    moved.catch(() => {
      ended = true;
    });
    for (const step of [() => session.createTransport('recv', { sctp: false, path }), () => session.paths.tracksReady(trackIds, path)]) {
      t.mock.timers.tick(12_000);
      await step();
    }
    await flushEvents();
    assert.equal(ended, false);
    t.mock.timers.tick(1_000);
    await assert.rejects(moved, { code: 'conflict', message: 'The peer was not moved: Its client did not use the new path in time' });
  });

  test('keeps its session if the path that it has is lost meanwhile', async () => {
    const { bob, media, session, trackIds, moved, createTransport } = await startMove();
    session.publications.client.migrates = true;
    await createTransport();
    bob.connection.events.length = 0;
    // Of both paths.
    media.room('r').lose('bob');
    await assert.rejects(moved, { code: 'conflict' });
    assert.deepEqual(
      bob.connection.names().filter((name) => name !== 'trackUnsubscribed'),
      ['pathClosed'],
    );
    assert.equal(session.subscriptions.size, trackIds.length);
  });
});

/** Alice publishes two tracks, which Bob receives, and begins to move. `follows`: Bob can receive a track twice. */
async function startPublisherMove({ follows }: { follows: boolean }) {
  const made = await makePair();
  const { alice, bob } = made;
  const { session } = alice.peer;
  session.paths.supported = true;
  bob.peer.session.paths.supported = follows;
  const publishOver = async (transportId: string) => {
    const over = { transportId, rtpParameters: {}, paused: false };
    const audio = await session.publications.publish({ ...over, kind: 'audio', key: 'a' });
    const video = await session.publications.publish({ ...over, kind: 'video', key: 'v' });
    await flushEvents();
    return [audio.trackId, video.trackId];
  };
  const trackIds = await publishOver(alice.send);
  await bob.peer.session.paths.tracksReady(trackIds, undefined);
  const moved = session.paths.move(undefined);
  moved.catch(() => {});
  const path = alice.connection.of('migrate')[0]?.path ?? '';
  const createTransport = async () => String((await session.createTransport('send', { sctp: false, path })).id);
  bob.connection.events.length = 0;
  return { ...made, session, trackIds, moved, path, createTransport, publishOver };
}

describe('a publishing peer that is moved', () => {
  test('keeps its tracks, and the former path until receivers have changed to their successors', async () => {
    const { alice, bob, session, trackIds, moved, path, createTransport, publishOver } = await startPublisherMove({ follows: true });
    const before = session.media;
    const transportId = await createTransport();
    assert.deepEqual(await publishOver(transportId), trackIds);
    const announced = bob.connection.of('trackSubscribed');
    assert.deepEqual(fieldsOf(announced, 'trackId'), trackIds);
    assert.deepEqual(fieldsOf(announced, 'replaces'), [true, true]);
    session.paths.use(path);
    await flushEvents();
    assert.notEqual(session.media, before);
    assert.deepEqual(alice.connection.of('pathUsed'), []);
    bob.peer.session.paths.tracksFlowing(trackIds, undefined);
    await moved;
    await flushEvents();
    assert.deepEqual(alice.connection.of('pathUsed'), [{ path }]);
    assert.deepEqual(fieldsOf([...session.publications.tracks], 'id'), trackIds);
    assert.deepEqual(bob.connection.names(), ['trackSubscribed', 'trackSubscribed']);
  });

  test('has its tracks received again by clients that cannot receive a track twice', async () => {
    const { bob, session, trackIds, moved, path, createTransport, publishOver } = await startPublisherMove({ follows: false });
    await publishOver(await createTransport());
    assert.deepEqual(bob.connection.names(), []);
    session.paths.use(path);
    await moved;
    await flushEvents();
    assert.deepEqual(fieldsOf(bob.connection.of('trackUnsubscribed'), 'trackId'), trackIds);
    assert.deepEqual(fieldsOf(bob.connection.of('trackSubscribed'), 'trackId'), trackIds);
    assert.deepEqual(fieldsOf(bob.connection.of('trackSubscribed'), 'replaces'), [undefined, undefined]);
  });

  test('is muted and paused over both paths', async () => {
    const { media, session, trackIds, createTransport, publishOver } = await startPublisherMove({ follows: true });
    const [audio = '', video = ''] = trackIds;
    await session.publications.setMuted(audio, true);
    await publishOver(await createTransport());
    await session.publications.setPaused(video, true);
    const { producers } = media.room('r');
    assert.deepEqual([producers.get(audio)?.paused, producers.get(video)?.paused], [true, true]);
    assert.deepEqual(
      [...session.publications.tracks].map(({ muted, paused }) => [muted, paused]),
      [
        [true, false],
        [false, true],
      ],
    );
  });

  test('keeps its path if the second one ends', async () => {
    const { media, session, trackIds, moved, createTransport, publishOver } = await startPublisherMove({ follows: true });
    const before = session.media;
    await publishOver(await createTransport());
    session.paths.cancel('A test ends it');
    await assert.rejects(moved, { code: 'conflict', message: 'The peer was not moved: A test ends it' });
    await flushEvents();
    assert.equal(session.media, before);
    assert.deepEqual(fieldsOf([...session.publications.tracks], 'id'), trackIds);
    assert.deepEqual([...media.room('r').peers].length, 2);
  });

  test('publishes nothing else over the second path, and each track once', async () => {
    const { session, path, createTransport, publishOver } = await startPublisherMove({ follows: true });
    const transportId = await createTransport();
    const request = { transportId, rtpParameters: {}, paused: false } as const;
    await assert.rejects(session.publications.publish({ ...request, kind: 'audio', key: 'other' }), { code: 'track_not_found' });
    await assert.rejects(session.publications.publish({ ...request, kind: 'audio' }), { code: 'track_not_found' });
    const rtpParameters = { encodings: [{}, {}, {}] };
    await assert.rejects(session.publications.publish({ ...request, kind: 'video', key: 'v', rtpParameters }), { code: 'forbidden' });
    await publishOver(transportId);
    await assert.rejects(session.publications.publish({ ...request, kind: 'audio', key: 'a' }), { code: 'track_not_found' });
    assert.throws(() => session.paths.tracksFlowing([], 'other'), { code: 'not_found' });
    session.paths.use(path);
  });
});

test('a peer whose client has one path only, or that is being moved, is not moved', async () => {
  const { bob } = await makePair();
  await assert.rejects(bob.peer.session.paths.move(undefined), { code: 'conflict', message: 'The client of peer bob cannot move' });
  bob.peer.session.paths.supported = true;
  bob.peer.session.paths.move(undefined).catch(() => {});
  await assert.rejects(bob.peer.session.paths.move(undefined), { message: 'Peer bob is being moved already' });
  bob.peer.disconnect();
});
