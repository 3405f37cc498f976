// Data channels of a move: receivers change to other channels while the publisher holds its messages.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { flushEvents, makePair } from '../../kit/fakes/rooms.ts';

/** Alice publishes a data track, which Bob receives. `reliable`: each message arrives; `follows`: the client of Bob can receive it twice. */
async function startData({ reliable = true, follows = true } = {}) {
  const made = await makePair();
  const { alice, bob } = made;
  const { publications, paths } = alice.peer.session;
  paths.supported = true;
  bob.peer.session.paths.supported = follows;
  const sctpStreamParameters = reliable ? {} : { maxRetransmits: 1 };
  const request = { sctpStreamParameters, label: 'chat', protocol: '' };
  const { dataTrackId } = await publications.data.publish({ ...request, transportId: alice.send });
  await flushEvents();
  await bob.peer.session.paths.data.ready(dataTrackId, 0);
  const move = async (who: typeof alice, direction: 'send' | 'recv') => {
    const { session } = who.peer;
    const moved = session.paths.move(undefined);
    moved.catch(() => {});
    const path = who.connection.of('migrate').at(-1)?.path ?? '';
    const { id } = await session.createTransport(direction, { sctp: true, path });
    await flushEvents();
    return { moved, path, transportId: String(id), use: () => session.paths.use(path) };
  };
  const moveAlice = async () => {
    const begun = await move(alice, 'send');
    await publications.data.publish({ ...request, transportId: begun.transportId, replaces: dataTrackId });
    await flushEvents();
    return begun;
  };
  const announced = () => bob.connection.of('dataTrackSubscribed').map(({ transportId, channel }) => [transportId, channel]);
  const hold = async (messages: number) => {
    await flushEvents();
    publications.data.held(dataTrackId, messages);
    await flushEvents();
  };
  const subscribed = () =>
    [...made.media.room('r').peers].filter(({ peerId }) => peerId === 'bob').flatMap(({ data }) => [...data.subscribed]);
  return {
    ...made,
    request,
    dataTrackId,
    publications,
    move,
    moveAlice,
    announced,
    hold,
    subscribed,
    bobData: bob.peer.session.paths.data,
  };
}

describe('data channels', () => {
  test('of a moving publisher continue with its successor, after the publisher held its messages', async () => {
    const { alice, bob, dataTrackId, moveAlice, announced, hold, subscribed, bobData } = await startData();
    const { moved, use, path } = await moveAlice();
    const [recv] = announced()[0] ?? [];
    assert.deepEqual(announced(), [
      [recv, 0],
      [recv, 1],
    ]);
    use();
    await flushEvents();
    assert.deepEqual(alice.connection.of('holdData'), [], 'Bob has not created the channel');
    await bobData.ready(dataTrackId, 1);
    await flushEvents();
    assert.deepEqual(alice.connection.of('holdData'), [{ dataTrackId }]);
    assert.deepEqual(alice.connection.of('continueData'), []);
    await hold(7);
    assert.deepEqual(bob.connection.of('dataSwitched'), [{ dataTrackId, channel: 1, messages: 0 }]);
    assert.deepEqual(alice.connection.of('continueData'), [{ dataTrackId, replaced: true }]);
    assert.deepEqual(
      subscribed().map(([id, { paused }]) => [id, paused]),
      [
        [dataTrackId, true],
        [`${dataTrackId}.1`, false],
      ],
    );
    assert.deepEqual(alice.connection.of('pathUsed'), [], 'messages may be missing');
    bobData.flowing(dataTrackId, 1);
    await moved;
    assert.deepEqual(alice.connection.of('pathUsed'), [{ path }]);
    assert.deepEqual(
      subscribed().map(([id]) => id),
      [`${dataTrackId}.1`],
    );
    assert.deepEqual(bob.connection.of('dataTrackUnsubscribed'), []);
  });

  test('of a moving receiver continue over its new path, while the publisher holds its messages', async () => {
    const { alice, bob, dataTrackId, move, announced, hold, bobData } = await startData();
    const { moved, use, transportId } = await move(bob, 'recv');
    assert.deepEqual(announced().at(-1), [transportId, 1]);
    await bobData.ready(dataTrackId, 1);
    use();
    await hold(3);
    assert.deepEqual(bob.connection.of('dataSwitched'), [{ dataTrackId, channel: 1, messages: 0 }]);
    assert.deepEqual(alice.connection.of('continueData'), [{ dataTrackId }]);
    bobData.flowing(dataTrackId, 1);
    await moved;
    alice.peer.session.publications.data.remove(dataTrackId);
    assert.deepEqual(bob.connection.of('dataTrackUnsubscribed'), [{ dataTrackId }]);
  });

  test('change twice if publisher and receiver move at once', async () => {
    const { bob, dataTrackId, moveAlice, move, announced, hold, subscribed, bobData } = await startData();
    const ofBob = await move(bob, 'recv');
    const ofAlice = await moveAlice();
    assert.deepEqual(
      announced().map(([, channel]) => channel),
      [0, 1, 2, 3],
    );
    for (const channel of [1, 2, 3]) await bobData.ready(dataTrackId, channel);
    ofAlice.use();
    await flushEvents();
    ofBob.use();
    await hold(1);
    await hold(1);
    const channels = bob.connection.of('dataSwitched').map(({ channel }) => channel);
    assert.equal(channels.at(-1), 3);
    bobData.flowing(dataTrackId, 3);
    await Promise.all([ofAlice.moved, ofBob.moved]);
    assert.deepEqual(subscribed(), [[`${dataTrackId}.1`, { paused: false, sent: 0 }]]);
  });

  test('that lose messages change without a hold', async () => {
    const { alice, bob, dataTrackId, moveAlice, bobData } = await startData({ reliable: false });
    const { use } = await moveAlice();
    await bobData.ready(dataTrackId, 1);
    use();
    await flushEvents();
    await flushEvents();
    assert.deepEqual(alice.connection.of('holdData'), []);
    assert.deepEqual(alice.connection.of('continueData'), [{ dataTrackId, replaced: true }]);
    assert.deepEqual(bob.connection.of('dataSwitched'), [{ dataTrackId, channel: 1, messages: null }]);
  });

  test('begin again at receivers that get one channel of a data track', async () => {
    const { bob, dataTrackId, moveAlice, hold, subscribed } = await startData({ follows: false });
    const { moved, use } = await moveAlice();
    assert.equal(bob.connection.of('dataTrackSubscribed').length, 1);
    use();
    await hold(0);
    assert.deepEqual(bob.connection.of('dataTrackUnsubscribed'), [{ dataTrackId }]);
    assert.deepEqual(
      bob.connection.of('dataTrackSubscribed').map(({ channel }) => channel),
      [undefined, undefined],
    );
    await moved;
    assert.deepEqual(subscribed(), [[`${dataTrackId}.1`, { paused: false, sent: 0 }]]);
  });

  test('stay on their channel if a new path ends', async () => {
    const { alice, bob, dataTrackId, publications, request, moveAlice, move, hold, subscribed, bobData } = await startData();
    const ofBob = await move(bob, 'recv');
    const ofAlice = await moveAlice();
    for (const { peer } of [alice, bob]) peer.session.paths.cancel('A test ends it');
    for (const { moved } of [ofAlice, ofBob]) await assert.rejects(moved, { code: 'conflict' });
    await flushEvents();
    assert.deepEqual(bob.connection.of('dataTrackUnsubscribed'), []);
    assert.deepEqual(bob.connection.of('dataSwitched'), []);
    assert.deepEqual(subscribed()[0], [dataTrackId, { paused: false, sent: 0 }]);
    // Again, with another successor.
    const again = await moveAlice();
    await bobData.ready(dataTrackId, bob.connection.of('dataTrackSubscribed').at(-1)?.channel ?? 0);
    again.use();
    await hold(0);
    assert.deepEqual(subscribed().at(-1)?.[0], `${dataTrackId}.2`);
    await assert.rejects(publications.data.publish({ ...request, transportId: again.transportId, replaces: dataTrackId }), {
      code: 'conflict',
    });
  });

  test('change also if the publisher does not respond, or leaves', async (t: TestContext) => {
    for (const leaves of [false, true]) {
      const { alice, bob, dataTrackId, move, bobData } = await startData();
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const { use } = await move(bob, 'recv');
      await bobData.ready(dataTrackId, 1);
      use();
      await flushEvents();
      assert.deepEqual(alice.connection.of('holdData'), [{ dataTrackId }]);
      if (leaves) alice.peer.disconnect();
      t.mock.timers.tick(3_000);
      await flushEvents();
      assert.equal(bob.connection.of('dataSwitched').length, leaves ? 0 : 1);
      assert.equal(bob.connection.of('dataTrackUnsubscribed').length, leaves ? 1 : 0);
      bob.peer.disconnect();
      t.mock.timers.reset();
    }
  });

  test('are published over a new path with the id of one that exists', async () => {
    const { alice, publications, request, dataTrackId, move, moveAlice } = await startData();
    await assert.rejects(publications.data.publish({ ...request, transportId: alice.send, replaces: dataTrackId }), { code: 'conflict' });
    const { transportId } = await move(alice, 'send');
    await assert.rejects(publications.data.publish({ ...request, transportId }), { code: 'track_not_found' });
    alice.peer.session.paths.cancel('A test ends it');
    await flushEvents();
    const { use } = await moveAlice();
    publications.data.remove(dataTrackId);
    assert.throws(() => publications.data.held(dataTrackId, 0), { code: 'track_not_found' });
    use();
  });
});
