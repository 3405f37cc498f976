// Moves in the console, in Chromium: a participant is moved to another media worker, and others see no change.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { byId, enter, launch, openConsole, seesMovingVideo, tileOf } from './console-kit.ts';

type Leg = { worker: number; peers: number };

test('a participant is moved to another media worker from the room page, and others see that participant as before', async (t) => {
  const { api, url } = await startNode(t, { SVC_WEBRTC_WORKERS: '2', SVC_WORKER_MAX_TRACKS: '1' });
  await api.post('/room', { roomId: 'moves' });
  const browser = await launch(t);
  const [ada, bob] = [await openRoom('Ada'), await openRoom('Bob')];
  await seesMovingVideo(ada.page, 'Bob');
  const occupied = async () => {
    const { legs } = (await api.get('/room/moves')).body.data as { legs: Leg[] };
    return [0, 1].map((worker) => legs.find((leg) => leg.worker === worker)?.peers ?? 0);
  };
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
