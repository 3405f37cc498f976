// A killed media worker of a room that uses two: its peers continue in their sessions, with the same tracks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { watchEvents } from '../kit/network/room-sockets.ts';
import { splitRooms } from '../kit/processes/start-node.ts';
import { assertPrompt } from '../kit/promised-time.ts';
import { blue, css, enter, type PagePeer, red, startClientFixture } from './client-kit.ts';

const localIds = ({ page }: PagePeer) => page.evaluate(() => kit.rooms.main?.room.localTracks.map(({ id }) => id) ?? []);

test('peers of a killed media worker see and hear the room again within two seconds, without an event', async (t) => {
  const fixture = await startClientFixture(t, splitRooms);
  const { node, roomId } = fixture;
  const stays = await enter(fixture, 'stays');
  await stays.publish({ colour: css(red), tone: 440 });
  const moved = await enter(fixture, 'moved');
  await moved.publish({ colour: css(blue), tone: 880 });
  await Promise.all([stays.sees(moved, blue), stays.hears(moved, 880), moved.sees(stays, red), moved.hears(stays, 440)]);
  const before = await Promise.all([stays, moved].map(localIds));
  const legs = async () => (await node.api.get(`/room/${roomId}`)).body.data.legs as { worker: number; peers: number }[];
  assert.deepEqual(
    (await legs()).map(({ worker, peers }) => [worker, peers]),
    [
      [0, 1],
      [1, 1],
    ],
  );
  const events = await watchEvents(t, node);
  const [stayed, lost] = [await stays.now(), await moved.now()];
  process.kill(node.node.parts.media.workers()[1]?.pid ?? 0, 'SIGKILL');
  await Promise.all([stays.waitForNote('trackUnsubscribed', stayed), moved.waitForNote('trackUnsubscribed', lost)]);
  const gaps = [(await stays.firstFrameOf(moved)) - stayed, (await moved.firstFrameOf(stays)) - lost];
  t.diagnostic(`first frames after ${gaps.map((gap) => Math.round(gap)).join(' and ')} ms`);
  await Promise.all([stays.sees(moved, blue), stays.hears(moved, 880), moved.sees(stays, red), moved.hears(stays, 440)]);
  for (const gap of gaps) assertPrompt('the next frame', gap, { promised: 2_000 });
  assert.deepEqual(await Promise.all([stays, moved].map(localIds)), before);
  for (const peer of [stays, moved])
    for (const name of ['reconnecting', 'closed', 'localTrackEnded']) assert.deepEqual(await peer.notes(name), []);
  assert.deepEqual(
    (await legs()).map(({ worker, peers }) => [worker, peers]),
    [[0, 2]],
  );
  assert.deepEqual(events.events('roomEvent'), []);
});
