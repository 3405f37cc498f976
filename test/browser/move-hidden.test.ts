// A peer that is moved to another media worker while its page is hidden, in Chromium.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openHideablePage } from '../kit/browser/browser.ts';
import { splitRooms } from '../kit/processes/start-node.ts';
import { enter, red, startClientFixture } from './client-kit.ts';
import { enterToo, moveWithoutGap, playing, publish, tones } from './move-kit.ts';

const bobsTone = 1_320;

test('a peer in a hidden page keeps audio, elements and track ids when it is moved, and later shows video', async (t) => {
  const fixture = await startClientFixture(t, splitRooms);
  const ada = await enter(fixture, 'ada');
  await publish(ada, 'main', 'ada');
  const { page, setHidden } = await openHideablePage(t, fixture.pageUrl);
  const bob = await enter({ ...fixture, browser: { newPage: async () => page } }, 'bob');
  await bob.publish({ tone: bobsTone });
  await enterToo(fixture, bob, 'carl');
  await Promise.all([bob.sees(ada, red), bob.hears(ada, tones.ada), ada.hears(bob, bobsTone)]);

  const still = { room: 'carl', peer: ada };
  await playing(bob, [{ room: 'main', peer: ada }, still]);
  await setHidden(true);
  const keptByAda = await ada.shown();
  await moveWithoutGap(t, { fixture, moved: bob, bob, ada, still, hidden: true });
  await ada.hears(bob, bobsTone);
  assert.deepEqual(await ada.shown(), keptByAda);
  assert.ok((await bob.notes('trackReplaced')).length >= 4);
  await setHidden(false);
  await bob.sees(ada, red);
});
