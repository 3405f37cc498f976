// The guest page in Chromium with fake devices: devices, storage, chat, screen sharing, keyboard, and the end of the room.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { eventuallyIn, startBrowser } from '../kit/browser/browser.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import {
  assertAccessible,
  byId,
  heardFrequency,
  hearsNothing,
  launch,
  openConsole,
  overflow,
  releasesDevices,
  seesMovingVideo,
  seeText,
  tabTo,
  tileOf,
} from './console-kit.ts';
import { checkPage } from './console-views.ts';
import { hostRoom, isGreen, isGrey, isRed, joinAs, openGuest, seesColour, waitUntil } from './guest-kit.ts';

const threeDevices = '--use-fake-device-for-media-stream=fps=10,device-count=3';
const options = { timeout: 180_000 };

/** The highest level of the meter within the time. */
async function loudest(page: Page, milliseconds: number): Promise<number> {
  return page.evaluate(`(async () => {
    let most = 0;
    for (const end = performance.now() + ${milliseconds}; performance.now() < end; await new Promise((next) => setTimeout(next, 20)))
      most = Math.max(most, Number(document.querySelector('${byId('level')}').getAttribute('aria-valuenow')));
    return most;
  })()`);
}

test('devices are tested in the lobby and switched in the room without a new track', options, async (t) => {
  const hosted = await hostRoom(t);
  const browser = await launch(t, [threeDevices]);
  const ada = await openGuest(browser, hosted, { red: 'fake_device_2' });
  const bob = await openGuest(browser, hosted);
  await ada.page.waitForSelector(byId('tile-video'));
  await ada.page.waitForSelector(`${byId('level')}[data-heard="true"]`);
  await waitUntil(async () => (await loudest(ada.page, 2_000)) >= 20, 'the meter moves as the fake microphone beeps');
  await ada.page.click(byId('toggle-mic'));
  await eventuallyIn(ada.page, `document.querySelector('${byId('level')}').getAttribute('aria-valuenow') === '0'`);
  assert.equal(await loudest(ada.page, 1_500), 0, 'the meter moves although the microphone is off');
  // Another microphone that is selected while off stays off.
  await ada.page.selectOption(byId('choose-microphone'), { label: 'Fake Audio Input 2' });
  await eventuallyIn(ada.page, `document.querySelector('${byId('choose-microphone')}').selectedOptions[0].label === 'Fake Audio Input 2'`);
  assert.equal(await loudest(ada.page, 1_500), 0, 'a microphone that was selected while off is on');
  await ada.page.click(byId('toggle-mic'));
  await ada.page.waitForSelector(`${byId('level')}[data-heard="true"]`);

  await ada.page.selectOption(byId('choose-camera'), { label: 'fake_device_2' });
  await seesColour(ada.page, '.lobby-tile', isRed);
  await ada.page.selectOption(byId('choose-speaker'), { label: 'Fake Audio Output 1' });
  await ada.page.click(byId('test-sound'));
  await joinAs(ada.page, 'Ada');
  await joinAs(bob.page, 'Bob');
  await seesColour(bob.page, tileOf('Ada'), isRed);
  await seesMovingVideo(ada.page, 'Bob');
  // Remote audio uses the speaker that was selected in the lobby.
  await eventuallyIn(
    ada.page,
    `(async () => {
      const wanted = (await navigator.mediaDevices.enumerateDevices()).find(({ label }) => label === 'Fake Audio Output 1')?.deviceId;
      const players = [...document.querySelectorAll('${byId('remote-audio')}')];
      return players.length > 0 && players.every(({ sinkId }) => sinkId === wanted);
    })()`,
  );
  await waitUntil(async () => (await heardFrequency(bob.page, 1_000)) > 0, 'Bob hears Ada');

  const sentByAda = async () => {
    const { tracks } = (await hosted.api.get(`/room/${hosted.roomId}/peer/${ada.peerId}`)).body.data.peer;
    return tracks.map(({ id }: { id: string }) => id).sort();
  };
  const before = await sentByAda();
  await ada.page.click(byId('devices'));
  await ada.page.selectOption(byId('choose-camera'), { label: 'fake_device_0' });
  await seesColour(bob.page, tileOf('Ada'), isGreen);
  assert.deepEqual(await sentByAda(), before, 'another camera keeps the track, so that recordings continue in the same file');
  await ada.page.click(byId('devices-close'));
  await seesMovingVideo(bob.page, 'Ada');
  await ada.page.click(byId('toggle-mic'));
  await hearsNothing(bob.page);
  assert.deepEqual([ada.complaints, bob.complaints], [[], []]);
});

test('devices that are connected later appear, and a missing device is used immediately', options, async (t) => {
  const hosted = await hostRoom(t);
  const browser = await launch(t, [threeDevices]);
  const { link } = await hosted.invite();
  const { page } = await openConsole(browser, 'about:blank');
  // A disconnected device is neither listed nor opened. Everything else is native.
  await page.addInitScript({
    content: `(() => {
      window.plugged = { videoinput: 0, audioinput: 1 };
      const devices = navigator.mediaDevices;
      const list = devices.enumerateDevices.bind(devices);
      const open = devices.getUserMedia.bind(devices);
      devices.enumerateDevices = async () => {
        const seen = { videoinput: 0, audioinput: 0 };
        return (await list()).filter(({ kind }) => !(kind in seen) || ++seen[kind] <= window.plugged[kind]);
      };
      devices.getUserMedia = async (constraints) => {
        if (constraints.video && window.plugged.videoinput === 0) throw new DOMException('Requested device not found', 'NotFoundError');
        return open(constraints);
      };
    })()`,
  });
  await page.goto(link);
  await page.waitForSelector(`${byId('problem-camera')}[data-why="missing"]`);
  await seeText(page, 'problem-camera', 'Connect one');
  const count = (testId: string) => page.locator(`${byId(testId)} option`).count();
  await page.waitForSelector(byId('choose-microphone'));
  assert.deepEqual([await count('choose-microphone'), await page.locator(byId('choose-camera')).count()], [1, 0]);
  await page.evaluate(`window.plugged = { videoinput: 1, audioinput: 1 }; navigator.mediaDevices.dispatchEvent(new Event('devicechange'))`);
  await seesColour(page, '.lobby-tile', isGreen);
  assert.equal(await page.locator(byId('problem-camera')).count(), 0);
  await page.evaluate(`window.plugged = { videoinput: 3, audioinput: 3 }; navigator.mediaDevices.dispatchEvent(new Event('devicechange'))`);
  await waitUntil(async () => (await count('choose-camera')) === 3 && (await count('choose-microphone')) === 3, 'all devices are listed');
});

test('a denied camera and microphone are explained, and a guest can join without them', options, async (t) => {
  const hosted = await hostRoom(t);
  const browser = await launch(t, ['--use-fake-ui-for-media-stream=deny']);
  const guest = await openGuest(browser, hosted);
  for (const kind of ['camera', 'microphone']) {
    await guest.page.waitForSelector(`${byId(`problem-${kind}`)}[data-why="refused"]`);
    await seeText(guest.page, `problem-${kind}`, `Permission denied for the ${kind}.`);
    await seeText(guest.page, `problem-${kind}`, 'left of the address');
  }
  await guest.page.click(byId('again-camera'));
  await guest.page.waitForSelector(`${byId('problem-camera')}[data-why="refused"]`);
  await checkPage(guest.page, 'guest-refused');
  await joinAs(guest.page, 'Silent');
  assert.equal((await hosted.api.get(`/room/${hosted.roomId}`)).body.data.peers[0].tracks.length, 0);
  assert.deepEqual(guest.complaints, []);
});

test('nothing is stored beyond the tab without consent', options, async (t) => {
  const hosted = await hostRoom(t);
  const { browser } = await startBrowser(t, { args: [threeDevices], whole: true });
  const guest = await openGuest(browser, hosted);
  const { page } = guest;
  const stored = () => page.evaluate<string>('JSON.stringify(localStorage)');
  await page.waitForSelector(byId('tile-video'));
  await page.selectOption(byId('choose-camera'), { label: 'fake_device_1' });
  await joinAs(page, 'Ada');
  assert.equal(await stored(), '{}');
  assert.deepEqual(await page.evaluate('Promise.all([indexedDB.databases(), caches.keys(), document.cookie])'), [[], [], '']);
  await page.click(byId('leave'));
  await page.click(byId('rejoin'));
  assert.equal(await page.inputValue(byId('guest-name')), 'Ada');
  await page.check(byId('remember'));
  const kept = JSON.parse(JSON.parse(await stored())['mediarooms.choices']);
  assert.equal(kept.name, 'Ada');
  assert.equal(typeof kept.camera, 'string');
  assert.equal((await stored()).includes('token'), false);
  // Another tab of the same browser starts with them.
  const { link } = await hosted.invite();
  const next = await guest.context.newPage();
  await next.goto(link);
  assert.equal(await next.inputValue(byId('guest-name')), 'Ada');
  await seesColour(next, '.lobby-tile', isGrey);
  assert.equal(await next.isChecked(byId('remember')), true);
  await next.uncheck(byId('remember'));
  assert.equal(await next.evaluate('JSON.stringify(localStorage)'), '{}');
});

test('chat messages are exchanged, shown as text whatever their content, and counted while unread', options, async (t) => {
  const hosted = await hostRoom(t);
  const browser = await launch(t);
  const ada = await openGuest(browser, hosted);
  const bob = await openGuest(browser, hosted, { viewport: { width: 360, height: 740 } });
  const hostile = '<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script>';
  await joinAs(ada.page, 'Ada');
  await joinAs(bob.page, `${'<b>Bob</b> \u202e'.repeat(2)}${'z\u0301'.repeat(8)}`);
  await ada.page.waitForSelector(`${byId('tile')}[data-self="false"]`);
  const write = async (page: Page, text: string) => {
    await page.fill(byId('chat-input'), text);
    await page.press(byId('chat-input'), 'Enter');
  };
  const last = (page: Page) => page.locator(byId('chat-text')).last();
  await ada.page.click(byId('toggle-chat'));
  for (const text of [hostile, 'שלום עולם \u202eevil', '👩‍👩‍👧‍👦 🏳️‍🌈', 'see https://example.com/path?x=1, or javascript:alert(1)'])
    await write(ada.page, text);
  await seeText(bob.page, 'unread', '4');
  await bob.page.click(byId('toggle-chat'));
  await bob.page.waitForSelector(byId('unread'), { state: 'detached' });
  await seeText(bob.page, 'chat-text', hostile);
  await seeText(bob.page, 'chat-text', 'שלום עולם');
  await seeText(bob.page, 'chat-text', '👩‍👩‍👧‍👦');
  const links = `[...document.querySelectorAll('${byId('chat-text')} a')].map((link) => [link.href, link.rel, link.target])`;
  assert.deepEqual(await bob.page.evaluate(links), [['https://example.com/path?x=1', 'noopener noreferrer', '_blank']]);
  await write(bob.page, 'x'.repeat(4_000));
  await waitUntil(async () => (await last(ada.page).textContent())?.length === 4_000, 'the long message is received');
  // Another client may send longer messages, payloads without text, and a very long name.
  const metadata = { name: `<i>program</i> ${'n'.repeat(8 * 1024)}` };
  const { token } = (await hosted.api.post(`/room/${hosted.roomId}/peer`, { type: 'webrtc', metadata })).body.data;
  const program = await PeerSocket.enter(hosted.node.peerSocketUrl, token);
  t.after(() => program.webSocket.terminate());
  const send = async (payload: unknown) => assert.equal((await program.request('sendData', { label: 'chat', payload })).ok, true);
  await send({ text: 'y'.repeat(15 * 1024) });
  await waitUntil(async () => (await last(ada.page).textContent()) === `${'y'.repeat(4_000)}…`, 'a longer message is cut');
  await send({ text: { toString: 'x' } });
  await send({ text: 'the last' });
  await seeText(ada.page, 'chat-text', 'the last');
  assert.equal(await ada.page.locator(byId('chat-message')).count(), 7);
  for (const { page } of [ada, bob]) {
    assert.equal(await page.evaluate('window.hacked'), undefined);
    assert.equal(await overflow(page), 0);
    await assertAccessible(page, 'the chat');
  }
  // A peer without the permission to send data gets a message, and can still read.
  await hosted.api.patch(`/room/${hosted.roomId}/peer/${bob.peerId}`, {
    permissions: { publish: ['audio', 'video'], subscribe: true, data: false },
  });
  await bob.page.waitForSelector(byId('chat-input'), { state: 'detached' });
  await write(ada.page, 'can you read this?');
  await seeText(bob.page, 'chat-text', 'can you read this?');
  assert.deepEqual([ada.complaints, bob.complaints], [[], []]);
});

test('a shared screen shows its content and disappears for all participants at its end', options, async (t) => {
  const hosted = await hostRoom(t);
  const browser = await launch(t, [threeDevices, '--auto-select-desktop-capture-source=Entire screen', '--auto-accept-this-tab-capture']);
  const ada = await openGuest(browser, hosted, { red: 'fake_device_0' });
  const bob = await openGuest(browser, hosted);
  await joinAs(ada.page, 'Ada');
  await joinAs(bob.page, 'Bob');
  await ada.page.click(byId('toggle-screen'));
  const screen = `${byId('tile')}[data-name="Ada"][data-screen="true"]`;
  // The screen of headless Chromium is green, the camera is red.
  await seesColour(bob.page, screen, isGreen);
  await seesColour(bob.page, tileOf('Ada'), isRed);
  // A later participant needs a new key frame.
  const late = await openGuest(browser, hosted);
  await joinAs(late.page, 'Late');
  await seesColour(late.page, screen, isGreen);
  await late.page.click(byId('leave'));
  await ada.page.click(byId('toggle-screen'));
  await bob.page.waitForSelector(screen, { state: 'detached' });
  await seesColour(bob.page, tileOf('Ada'), isRed);
  // The bar of the browser ends it as well.
  await ada.page.click(byId('toggle-screen'));
  await seesColour(bob.page, screen, isGreen);
  await ada.page.evaluate(
    `document.querySelector('${byId('tile')}[data-screen="true"] video').srcObject.getTracks()[0].dispatchEvent(new Event('ended'))`,
  );
  await bob.page.waitForSelector(screen, { state: 'detached' });
  await ada.page.waitForSelector(`${byId('toggle-screen')}[aria-checked="false"]`);
  assert.deepEqual([ada.complaints, bob.complaints], [[], []]);
});

test('the guest page is usable with the keyboard alone on a phone', options, async (t) => {
  const hosted = await hostRoom(t);
  const browser = await launch(t);
  const host = await openGuest(browser, hosted);
  await joinAs(host.page, 'Host');
  const { page, complaints } = await openGuest(browser, hosted, { viewport: { width: 360, height: 740 } });
  await page.waitForSelector(byId('tile-video'));
  await tabTo(page, 'guest-name');
  await page.keyboard.type('Ada');
  await tabTo(page, 'check-start');
  await page.keyboard.press('Enter');
  await page.waitForSelector(`${byId('check')}[data-phase="done"]`);
  assert.equal(await overflow(page), 0);
  await page.focus(byId('guest-name'));
  await page.keyboard.press('Enter');
  await page.waitForSelector(`${byId('status')}[data-state="joined"]`);
  await tabTo(page, 'toggle-chat');
  await page.keyboard.press('Enter');
  await page.waitForSelector(byId('chat-input'));
  await page.keyboard.type('written with keys');
  await page.keyboard.press('Enter');
  await host.page.click(byId('toggle-chat'));
  await seeText(page, 'chat-text', 'written with keys');
  await tabTo(page, 'chat-close');
  await page.keyboard.press('Enter');
  await page.waitForSelector(byId('chat'), { state: 'detached' });
  assert.equal(await page.evaluate('document.activeElement.dataset.testid'), 'toggle-chat');
  await tabTo(page, 'devices');
  await page.keyboard.press('Space');
  await page.waitForSelector(byId('devices-close'));
  await page.keyboard.press('Escape');
  await page.waitForSelector(byId('devices-close'), { state: 'detached' });
  await tabTo(page, 'leave');
  await page.keyboard.press('Enter');
  await seeText(page, 'guest-over', 'You left the room');
  await host.page.waitForSelector(tileOf('Ada'), { state: 'detached' });
  assert.deepEqual(complaints, []);
});

test('lobby, connection test, room, chat and devices are accessible at 360 and 1440 pixels, light and dark', options, async (t) => {
  const hosted = await hostRoom(t);
  const browser = await launch(t);
  const { page, complaints } = await openGuest(browser, hosted);
  await page.waitForSelector(byId('tile-video'));
  await page.click(byId('check-start'));
  await page.waitForSelector(`${byId('check')}[data-phase="done"]`);
  await checkPage(page, 'guest-lobby');
  await joinAs(page, 'Ada');
  await checkPage(page, 'guest-call');
  await page.click(byId('toggle-chat'));
  await page.fill(byId('chat-input'), 'Hello, see https://example.com');
  await page.press(byId('chat-input'), 'Enter');
  await page.waitForSelector(`${byId('chat-message')}[data-state="sent"]`);
  await checkPage(page, 'guest-chat');
  await page.click(byId('chat-close'));
  await page.click(byId('devices'));
  await page.waitForSelector(byId('devices-close'));
  await checkPage(page, 'guest-devices');
  assert.deepEqual(complaints, []);
});

test('a guest is notified of a removal, a drain and the end of the room', options, async (t) => {
  const hosted = await hostRoom(t);
  const browser = await launch(t);
  const [removed, stays] = [await openGuest(browser, hosted), await openGuest(browser, hosted)];
  await joinAs(removed.page, 'Removed');
  await joinAs(stays.page, 'Stays');
  await hosted.api.delete(`/room/${hosted.roomId}/peer/${removed.peerId}`);
  await seeText(removed.page, 'guest-over', 'You were removed from the room');
  await releasesDevices(removed.page);
  await stays.page.waitForSelector(tileOf('Removed'), { state: 'detached' });
  // The link is invalid now: the connection test reports that before joining, and so does joining.
  await removed.page.reload();
  await removed.page.click(byId('check-start'));
  await seeText(removed.page, 'check-verdict', 'Ask for a new link');
  await removed.page.fill(byId('guest-name'), 'Removed');
  await removed.page.click(byId('guest-join'));
  await seeText(removed.page, 'guest-over', 'new link');
  const [{ name }] = (await hosted.api.get('/cluster/nodes')).body.data;
  const drain = `/cluster/nodes/${encodeURIComponent(name)}/drain`;
  assert.equal((await hosted.api.post(drain, { deadline: 3_600 })).status, 202);
  await seeText(stays.page, 'ends-at', 'This room closes at');
  assert.equal((await hosted.api.delete(drain)).status < 300, true);
  await stays.page.waitForSelector(byId('ends-at'), { state: 'detached' });
  await hosted.api.delete(`/room/${hosted.roomId}`);
  await seeText(stays.page, 'guest-over', 'This room has ended');
  await releasesDevices(stays.page);
  assert.deepEqual([removed.complaints, stays.complaints], [[], []]);
});
