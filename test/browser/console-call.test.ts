// Rooms in the console in Chromium: participants see and hear each other, guests join by a link, and a killed server is reported.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { eventually } from '../kit/eventually.ts';
import { stablePort, startNodeProcess } from '../kit/processes/node-process.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import {
  byId,
  deadline,
  enter,
  heardFrequency,
  hearsNothing,
  launch,
  logInByKeys,
  openConsole,
  overflow,
  seesMovingVideo,
  seeText,
  tileOf,
} from './console-kit.ts';
import { holdRequests } from './console-views.ts';

const roomAddress = (url: string, roomId: string) => `${url}/#/room/${roomId}`;

/** The fake microphone of Chromium beeps twice per second. */
const beep = { lowest: 200, highest: 1_000 };

async function hearsBeeps(page: Page, who: string): Promise<void> {
  let frequency = 0;
  // Video may start before audio.
  const isBeep = async () => {
    frequency = await heardFrequency(page, 1_000);
    return frequency > beep.lowest && frequency < beep.highest;
  };
  await eventually(() => `${who} hears beeps; the loudest frequency is ${frequency} Hz`, isBeep, { within: deadline });
}

test('two users and a guest see and hear each other, and a participant who leaves disappears from every page', async (t) => {
  const { api, url } = await startNode(t);
  await api.post('/room', { roomId: 'meeting' });
  const browser = await launch(t);
  const ada = await openConsole(browser, roomAddress(url, 'meeting'));
  const bob = await openConsole(browser, roomAddress(url, 'meeting'));
  for (const [{ page }, name] of [
    [ada, 'Ada'],
    [bob, 'Bob'],
  ] as const) {
    await logIntoRoom(page);
    await enter(page, name);
  }
  await Promise.all([seesMovingVideo(ada.page, 'Bob'), seesMovingVideo(bob.page, 'Ada')]);
  await hearsBeeps(ada.page, 'Ada');
  await hearsBeeps(bob.page, 'Bob');
  await bob.page.click(byId('toggle-mic'));
  await ada.page.waitForSelector(`${tileOf('Bob')} ${byId('tile-muted')}`);
  await hearsNothing(ada.page);
  await bob.page.click(byId('toggle-mic'));
  await ada.page.waitForSelector(`${tileOf('Bob')} ${byId('tile-muted')}`, { state: 'detached' });
  await hearsBeeps(ada.page, 'Ada');

  await ada.page.click(byId('invite'));
  await eventuallyIn(ada.page, `document.querySelector('${byId('invite-link')}')?.value.includes('#/join?')`);
  const link = await ada.page.inputValue(byId('invite-link'));
  await ada.page.click(byId('invite-close'));
  const guest = await openConsole(browser, link);
  await enter(guest.page, 'Guest', true);
  assert.equal(await guest.page.evaluate(`JSON.stringify(sessionStorage).includes(${JSON.stringify(apiToken)})`), false);
  await Promise.all([
    seesMovingVideo(ada.page, 'Guest'),
    seesMovingVideo(bob.page, 'Guest'),
    seesMovingVideo(guest.page, 'Ada'),
    seesMovingVideo(guest.page, 'Bob'),
  ]);

  await bob.page.click(byId('toggle-camera'));
  await ada.page.waitForSelector(`${tileOf('Bob')} video`, { state: 'detached' });
  await bob.page.click(byId('toggle-camera'));
  await seesMovingVideo(ada.page, 'Bob');

  await bob.page.click(byId('leave'));
  await bob.page.waitForSelector(byId('left'));
  for (const { page } of [ada, guest]) await page.waitForSelector(tileOf('Bob'), { state: 'detached' });
  await seesMovingVideo(ada.page, 'Guest');
  await ada.page.goto(`${url}/#/`);
  await guest.page.waitForSelector(tileOf('Ada'), { state: 'detached' });
  await seeText(ada.page, 'peer-count', '1');
  await eventually('participants in the room: 1', async () => (await api.get('/room/meeting')).body.data.peers.length === 1);
  assert.deepEqual([ada.complaints, bob.complaints, guest.complaints], [[], [], []]);
});

test('a shared screen has a separate tile on every page, which disappears at its end', async (t) => {
  const node = await startNode(t);
  await node.api.post('/room', { roomId: 'screens' });
  const browser = await launch(t, ['--auto-select-desktop-capture-source=Entire screen', '--auto-accept-this-tab-capture']);
  const ada = await openConsole(browser, roomAddress(node.url, 'screens'));
  const bob = await openConsole(browser, roomAddress(node.url, 'screens'));
  await logIntoRoom(ada.page);
  await enter(ada.page, 'Ada');
  await logIntoRoom(bob.page);
  await enter(bob.page, 'Bob');
  await ada.page.click(byId('toggle-screen'));
  const screen = `${byId('tile')}[data-name="Ada"][data-screen="true"]`;
  await eventuallyIn(bob.page, `document.querySelector('${screen} video')?.videoWidth > 0`);
  await ada.page.click(byId('toggle-screen'));
  await bob.page.waitForSelector(screen, { state: 'detached' });
  await seesMovingVideo(bob.page, 'Ada');
});

test('after SIGKILL and a restart the console reports the end of the room and recreates it, and guests need a new link', async (t) => {
  const first = await startNodeProcess(t, await stablePort());
  await first.api.post('/room', { roomId: 'mortal' });
  const invited = await first.api.post('/room/mortal/peer', { type: 'webrtc' });
  const { token, peer_websocket_url: url } = invited.body.data;
  const browser = await launch(t);
  const ada = await openConsole(browser, roomAddress(first.url, 'mortal'));
  const bob = await openConsole(browser, roomAddress(first.url, 'mortal'));
  const guest = await openConsole(browser, `${first.url}/#/join?${new URLSearchParams({ room: 'mortal', token, url })}`);
  await logIntoRoom(ada.page);
  await enter(ada.page, 'Ada');
  await logIntoRoom(bob.page);
  await enter(bob.page, 'Bob');
  await enter(guest.page, 'Guest', true);
  await seesMovingVideo(ada.page, 'Guest');
  first.kill('SIGKILL');
  await first.ended;
  await seeText(ada.page, 'status', 'Disconnected. Reconnecting…');
  const second = await startNodeProcess(t, { SVC_PORT: String(first.port) });
  assert.equal(second.port, first.port);
  await seeText(ada.page, 'room-ended', 'This room has ended');
  await seeText(bob.page, 'room-ended', 'This room has ended');
  await seeText(guest.page, 'guest-over', 'This room has ended');
  await seeText(guest.page, 'guest-over', 'new link');
  await ada.page.click(byId('recreate'));
  await ada.page.waitForSelector(`${byId('status')}[data-state="joined"]`);
  await bob.page.click(byId('recreate'));
  await Promise.all([seesMovingVideo(ada.page, 'Bob'), seesMovingVideo(bob.page, 'Ada')]);
});

test('a user who rejoins during a late leave request is in the room; a user who navigates away while joining is not', async (t) => {
  const { api, url } = await startNode(t);
  await api.post('/room', { roomId: 'again' });
  const peers = async (): Promise<{ id: string; status: string }[]> => (await api.get('/room/again')).body.data.peers;
  const { page, complaints } = await openConsole(await launch(t), roomAddress(url, 'again'));
  await logIntoRoom(page);
  await enter(page, 'Ada');
  const [before] = await peers();
  const goodbyes = await holdRequests(page, /\/room\/again\/peer\//);
  await page.click(byId('leave'));
  await goodbyes.arrived();
  await page.click(byId('rejoin'));
  await page.click(byId('join'));
  await page.locator(byId('join')).filter({ hasText: 'Joining…' }).waitFor();
  await goodbyes.end();
  await page.waitForSelector(`${byId('status')}[data-state="joined"]`);
  const [now, ...others] = await peers();
  assert.deepEqual([now?.status, now?.id === before?.id, others], ['connected', false, []]);

  await page.click(byId('leave'));
  await eventually('participants in the room: 0', async () => (await peers()).length === 0);
  await page.click(byId('rejoin'));
  const joining = await holdRequests(page, /\/room\/again\/peer$/);
  await page.click(byId('join'));
  await joining.arrived();
  await page.goto(`${url}/#/`);
  await page.waitForSelector('[data-room="again"]');
  const deleted = page.waitForResponse((response) => response.request().method() === 'DELETE');
  await joining.end();
  assert.equal((await deleted).status(), 204);
  assert.deepEqual(await peers(), []);
  assert.deepEqual(complaints, []);
});

test('a room is usable with the keyboard alone on a phone, without horizontal scrolling', async (t) => {
  const { api, url } = await startNode(t);
  await api.post('/room', { roomId: 'by-keys' });
  const browser = await launch(t);
  const { page, complaints } = await openConsole(browser, roomAddress(url, 'by-keys'), { viewport: { width: 360, height: 700 } });
  const tabTo = async (testId: string) => {
    for (let i = 0; i < 30; i += 1) {
      if ((await page.evaluate('document.activeElement?.dataset.testid')) === testId) return;
      await page.keyboard.press('Tab');
    }
    assert.fail(`${testId} is not reachable by Tab`);
  };
  await logInByKeys(page, apiToken);
  await page.waitForSelector(byId('tile-video'));
  await tabTo('name');
  await page.keyboard.type('Ada');
  await page.keyboard.press('Enter');
  await page.waitForSelector(`${byId('status')}[data-state="joined"]`);
  assert.equal(await overflow(page), 0);
  await tabTo('toggle-mic');
  await page.keyboard.press('Space');
  await page.waitForSelector(`${byId('toggle-mic')}[aria-checked="false"]`);
  await tabTo('leave');
  await page.keyboard.press('Enter');
  await page.waitForSelector(byId('left'));
  await eventually('participants in the room: 0', async () => (await api.get('/room/by-keys')).body.data.peers.length === 0);
  assert.deepEqual(complaints, []);
});

/** The page of a room requires a log-in first. */
async function logIntoRoom(page: Page): Promise<void> {
  await page.fill(byId('login-token'), apiToken);
  await page.click(byId('login-submit'));
}
