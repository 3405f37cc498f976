// Peers that are moved to another media worker, in Chromium: what they receive, and what others receive of them, continues without a gap.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { splitRooms } from '../kit/processes/start-node.ts';
import { blue, enter, red, startClientFixture } from './client-kit.ts';
import { enterToo, moveWithoutGap, publish, tones } from './move-kit.ts';

/** Ada publishes video and audio, and Bob receives them. */
async function startPair(t: TestContext) {
  const fixture = await startClientFixture(t, splitRooms);
  const ada = await enter(fixture, 'ada');
  await publish(ada, 'main', 'ada');
  const bob = await enter(fixture, 'bob');
  await Promise.all([bob.sees(ada, red), bob.hears(ada, tones.ada)]);
  return { fixture, ada, bob };
}

test('a receiving peer keeps frames, audio, elements and track ids when it is moved', async (t) => {
  const { fixture, ada, bob } = await startPair(t);
  await enterToo(fixture, bob, 'carl');
  await moveWithoutGap(t, { fixture, moved: bob, bob, ada, still: { room: 'carl', peer: ada } });
  assert.ok((await bob.notes('trackReplaced')).length >= 4);
});

test('receivers of a peer keep frames, audio, elements and track ids when it is moved', async (t) => {
  const { fixture, ada, bob } = await startPair(t);
  const dora = { id: 'dora' };
  await enterToo(fixture, ada, dora.id);
  await publish(ada, dora.id, 'dora');
  await Promise.all([bob.sees(dora, blue), bob.hears(dora, tones.dora)]);
  const published = () => ada.page.evaluate(() => kit.rooms.main?.room.localTracks.map(({ id }) => id));
  const before = await published();
  await moveWithoutGap(t, { fixture, moved: ada, bob, ada, still: { room: 'main', peer: dora } });
  assert.deepEqual(await published(), before);
});
