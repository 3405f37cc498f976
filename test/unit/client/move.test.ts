// Move of a room client: a second path, over which it publishes its tracks too, before the former one ends.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { FakeMediaStreamTrack } from 'fake-mediastreamtrack';
import { testFakeParameters } from 'mediasoup-client';
import { eventually } from '../../kit/eventually.ts';
import { joinedWithMedia } from './media-kit.ts';

/** A client with one published track. `accepts`: the server accepts it over the second path. */
async function startMove(t: TestContext, accepts: boolean) {
  const joined = await joinedWithMedia(t);
  const { socket, published, room } = joined;
  const audio = await room.publish(new FakeMediaStreamTrack({ kind: 'audio' }));
  const transports: { direction: string; path: string }[] = [];
  published.length = 0;
  socket
    .automatically('createTransport', ({ data }) => {
      const { direction, path = '' } = data as { direction: string; path?: string };
      transports.push({ direction, path });
      return { ...testFakeParameters.generateTransportRemoteParameters(), id: `${path}-${direction}` };
    })
    .automatically('publish', ({ data }) => {
      published.push(data);
      return { trackId: audio.id };
    });
  if (!accepts) socket.manually('publish');
  socket.event('migrate', { reason: 'moved', path: 'n1' });
  return { ...joined, audio, transports };
}

test('a client that is moved publishes its tracks over both paths, then over the new one, with the same ids', async (t) => {
  const { socket, published, room, reported, audio, transports } = await startMove(t, true);
  const before = audio.id;
  const use = await socket.next();
  assert.deepEqual([use.method, use.data], ['usePath', { path: 'n1' }]);
  assert.deepEqual(transports, [
    { direction: 'recv', path: 'n1' },
    { direction: 'send', path: 'n1' },
  ]);
  assert.deepEqual(
    published.map((data) => 'transportId' in data && data.transportId),
    ['n1-send'],
  );
  // Published meanwhile: it waits for the end of the move.
  const video = room.publish(new FakeMediaStreamTrack({ kind: 'video' }));
  socket.answer(use);
  socket.event('pathUsed', { path: 'n1' });
  await video;
  assert.deepEqual(
    published.map((data) => 'transportId' in data && data.transportId),
    ['n1-send', 'n1-send'],
  );
  assert.deepEqual([room.state, audio.id], ['joined', before]);
  assert.deepEqual(
    reported.filter(({ name }) => name === 'localTrackEnded' || name === 'closed'),
    [],
  );
});

test('a client keeps its path and its tracks if the server rejects a track over the new one', async (t) => {
  const { socket, room, reported, audio } = await startMove(t, false);
  const publish = await socket.next();
  socket.refuse(publish, 'track_not_found');
  socket.event('pathClosed', { path: 'n1' });
  const video = room.publish(new FakeMediaStreamTrack({ kind: 'video' }));
  const next = await socket.next();
  assert.equal(next.method, 'publish');
  assert.match('transportId' in next.data ? String(next.data.transportId) : '', /^transport-/);
  socket.answer(next, { trackId: 'later' });
  assert.equal((await video).id, 'later');
  await audio.pause();
  await eventually('the session continues', () => room.state === 'joined' && audio.paused);
  assert.deepEqual(
    reported.filter(({ name }) => name === 'localTrackEnded' || name === 'closed'),
    [],
  );
});
