// Moves in the console, in Chromium: a participant is moved to another media worker, and others see no change.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { apiToken, splitRooms, startNode } from '../kit/processes/start-node.ts';
import { peersByWorker } from './client-kit.ts';
import { byId, enter, launch, openConsole, seesMovingVideo, tileOf } from './console-kit.ts';

test('a participant is moved to another media worker from the room page, and others see that participant as before', async (t) => {
  const { api, url } = await startNode(t, splitRooms);
  await api.post('/room', { roomId: 'moves' });
  const browser = await launch(t);
  const [ada, bob] = [await openRoom('Ada'), await openRoom('Bob')];
  await seesMovingVideo(ada.page, 'Bob');
  const occupied = () => peersByWorker(api, 'moves');
  const before = await occupied();
  const entry = ada.page.locator(`${byId('peer')}[data-name="Bob"]`);
  await entry.locator('summary').first().click();
  await entry.locator(byId('move-peer')).click();
  await eventually('Bob is at the other media worker', async () => (await occupied()).join() !== before.join());
  await entry.locator(`${byId('move-peer')}:not([aria-disabled="true"])`).waitFor();
  assert.equal(await entry.locator(byId('action-problem')).count(), 0);
  await seesMovingVideo(ada.page, 'Bob');
  await seesMovingVideo(bob.page, 'Ada');
  assert.equal(await bob.page.locator(`${byId('status')}[data-state="joined"]`).count(), 1);
  assert.equal(await ada.page.locator(tileOf('Bob')).count(), 1);
  assert.deepEqual([ada.complaints, bob.complaints], [[], []]);

  async function openRoom(name: string) {
    const opened = await openConsole(browser, `${url}/#/room/moves`, { viewport: { width: 1440, height: 900 } });
    await opened.page.fill(byId('login-token'), apiToken);
    await opened.page.click(byId('login-submit'));
    await enter(opened.page, name);
    return opened;
  }
});
