// The room page in Chromium: stats, moderation, components of every type, events, and a read-only token.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { eventually } from '../kit/eventually.ts';
import { postWhenIdle } from '../kit/media/sources.ts';
import { freePorts } from '../kit/network/free-ports.ts';
import { runCommand } from '../kit/processes/command.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { account, Kamailio } from '../kit/sip/kamailio.ts';
import * as far from '../kit/sip/sipp.ts';
import {
  byId,
  type ConsoleOptions,
  enter,
  launch,
  logInByKeys,
  openConsole,
  seesMovingVideo,
  seeText,
  tabTo,
  tileOf,
} from './console-kit.ts';
import { checkPage } from './console-views.ts';
import { hostOn, openGuest } from './guest-kit.ts';

const readToken = `read-${apiToken}`;
const wide = { viewport: { width: 1440, height: 900 } };
/** Large enough for three layers. A shared camera has the size that the first page requests. */
const withLayers = { ...wide, wholeCamera: true };

async function openRoom(browser: Browser, url: string, roomId: string, token = apiToken, options: ConsoleOptions = wide) {
  const opened = await openConsole(browser, `${url}/#/room/${roomId}`, options);
  await opened.page.fill(byId('login-token'), token);
  await opened.page.click(byId('login-submit'));
  await opened.page.waitForSelector(byId('room-panel'));
  return opened;
}

const peer = (page: Page, name: string) => page.locator(`${byId('peer')}[data-name=${JSON.stringify(name)}]`);
const component = (page: Page, type: string) => page.locator(`${byId('component-row')}[data-type="${type}"]`);
const open = (entry: ReturnType<Page['locator']>) => entry.locator('summary').first().click();

async function peerOf(api: ApiClient, roomId: string, name: string) {
  const { body } = await api.get(`/room/${roomId}`);
  return body.data.peers.find((each: { metadata: { name?: string } | null }) => each.metadata?.name === name);
}

/** Runs a copied command line in a shell. */
async function runCopied(t: TestContext, command: string): Promise<void> {
  assert.equal(command.includes(apiToken), false, command);
  assert.ok(command.includes('$TOKEN'), command);
  const { stdout } = await runCommand(['sh', '-c', `${command} -w '%{http_code}'`], { env: { ...process.env, TOKEN: apiToken } });
  t.diagnostic(stdout.slice(-3));
  assert.match(stdout, /2\d\d$/);
}

test('peers are shown with stats and charts, and are muted, unpublished, restricted and removed without joining', async (t) => {
  const { api, url } = await startNode(t);
  await api.post('/room', { roomId: 'fixture' });
  const browser = await launch(t);
  const ada = await openRoom(browser, url, 'fixture', apiToken, withLayers);
  await enter(ada.page, 'Ada');
  const bob = await openRoom(browser, url, 'fixture', apiToken, withLayers);
  await enter(bob.page, 'Bob');
  await seesMovingVideo(ada.page, 'Bob');
  // Both microphones beep: the active speaker is definite only if one is muted.
  await ada.page.click(byId('toggle-mic'));
  await ada.page.waitForSelector(`${tileOf('Bob')}.speaking`);
  await ada.page
    .locator(`${tileOf('Bob')} ${byId('tile-received')}[data-layers="3"][data-layer]`)
    .filter({ hasText: /^\d+×\d+ · layer [123] of 3$/ })
    .waitFor();

  const { page, complaints } = await openRoom(browser, url, 'fixture');
  await open(peer(page, 'Bob'));
  const entry = peer(page, 'Bob');
  await eventually('three points in the chart', async () => Number(await entry.locator(byId('chart-up')).getAttribute('data-points')) >= 3);
  // Separate checks, because on a busy machine a measurement may be zero.
  const eventuallyMatches = (name: string, read: () => Promise<string | null>, pattern: RegExp) =>
    eventually(`${name}: ${pattern}`, async () => pattern.test((await read()) ?? ''));
  const chart = entry.locator(byId('chart-up')).locator('svg');
  await eventuallyMatches('the chart', () => chart.getAttribute('aria-label'), /^Sends: now [\d.]+ [kM]b\/s/);
  await eventuallyMatches('the facts', () => entry.locator(byId('peer-facts')).textContent(), /↑ [\d.]+ [kM]b\/s.*ms/);
  await eventuallyMatches('the quality', () => entry.locator(byId('quality')).getAttribute('data-quality'), /^(excellent|good|poor|bad)$/);
  await checkPage(page, 'room-peers');

  const camera = entry.locator(`${byId('track')}[data-kind="video"]`);
  const microphone = entry.locator(`${byId('track')}[data-kind="audio"]`);
  await camera.locator(byId('mute')).click();
  await camera.locator(byId('unmute')).waitFor();
  await ada.page.waitForSelector(`${tileOf('Bob')} video`, { state: 'detached' });
  // The message about the microphone replaces the one about the camera, and disappears with the unmute.
  const notice = bob.page.getByText('was muted by the server.');
  await notice.waitFor();
  await microphone.locator(byId('mute')).click();
  await microphone.locator(byId('unmute')).click();
  await notice.waitFor({ state: 'detached' });
  await bob.page.click(byId('toggle-camera'));
  await camera.waitFor({ state: 'detached' });
  await bob.page.click(byId('toggle-camera'));
  await camera.locator(byId('unmute')).waitFor();
  await notice.waitFor();
  assert.equal(await notice.textContent(), 'The camera was muted by the server.');
  const unmute = await camera.locator(byId('copy-curl')).first().getAttribute('data-command');
  await runCopied(t, unmute ?? '');
  await camera.locator(byId('mute')).waitFor();
  await seesMovingVideo(ada.page, 'Bob');

  await microphone.locator(byId('unpublish')).click();
  await microphone.waitFor({ state: 'detached' });
  assert.deepEqual(
    (await peerOf(api, 'fixture', 'Bob')).tracks.map(({ type }: { type: string }) => type),
    ['video'],
  );

  await entry.locator(byId('permit-video')).click();
  await eventuallyIn(page, `document.querySelector('${byId('peer')}[data-name="Bob"] ${byId('permit-video')}').checked === false`);
  assert.deepEqual((await peerOf(api, 'fixture', 'Bob')).permissions, { publish: ['audio'], subscribe: true, data: true });
  await ada.page.waitForSelector(`${tileOf('Bob')} video`, { state: 'detached' });
  await entry.locator(byId('permit-room-metadata')).click();
  await eventually(
    'Bob may change the metadata of the room',
    async () => (await peerOf(api, 'fixture', 'Bob')).permissions.roomMetadata === true,
  );

  await entry.locator(byId('remove-peer')).click();
  await page.click(byId('confirm'));
  await seeText(bob.page, 'call-over', 'You were removed from this room');
  await entry.waitFor({ state: 'detached' });
  await ada.page.waitForSelector(tileOf('Bob'), { state: 'detached' });
  assert.equal(await peerOf(api, 'fixture', 'Bob'), undefined);
  assert.deepEqual([complaints, ada.complaints, bob.complaints], [[], [], []]);
});

test('waiting participants are admitted, denied or admitted together, and the user of the console does not wait', async (t) => {
  const { api, url } = await startNode(t);
  const hosted = await hostOn({ url }, api, 'fixture');
  const browser = await launch(t);
  const { page, complaints } = await openRoom(browser, url, 'fixture');
  await page.click(byId('manual-admission'));
  await eventually('admission is manual', async () => (await api.get('/room/fixture')).body.data.config.admission === 'manual');
  await enter(page, 'Host');
  const guests = await Promise.all(
    ['Ada', 'Bob', 'Cyd'].map(async (name) => {
      const guest = await openGuest(browser, hosted);
      await guest.page.fill(byId('guest-name'), name);
      await guest.page.click(byId('guest-join'));
      await guest.page.waitForSelector(`${byId('status')}[data-state="waiting"]`);
      return guest;
    }),
  );
  const [ada, bob, cyd] = guests.map((guest) => guest.page) as [Page, Page, Page];
  const entry = (name: string) => page.locator(`${byId('waiting-peer')}[data-name="${name}"]`);
  for (const name of ['Ada', 'Bob', 'Cyd']) await entry(name).waitFor();
  await checkPage(page, 'room-waiting');
  await entry('Ada').locator(byId('admit')).click();
  await ada.waitForSelector(`${byId('status')}[data-state="joined"]`);
  await seesMovingVideo(ada, 'Host');
  await page.waitForSelector(tileOf('Ada'));
  await entry('Bob').locator(byId('deny')).click();
  await seeText(bob, 'guest-over', 'You were not admitted to the room');
  await entry('Bob').waitFor({ state: 'detached' });
  await page.click(byId('admit-all'));
  await cyd.waitForSelector(`${byId('status')}[data-state="joined"]`);
  await page.waitForSelector(byId('waiting-list'), { state: 'detached' });
  assert.deepEqual([complaints, ...guests.map((guest) => guest.complaints)], [[], [], [], []]);
});

test('components of each type are added by generated forms, with the error message of the server at its field', async (t) => {
  const [farEndPort = 0, firstPort = 0] = await freePorts(2);
  const kamailio = await Kamailio.start(t, { farEndPort });
  const { api, url } = await startNode(t, { SVC_COMPONENTS_USED: 'file hls recording sip', SVC_SIP_PORT: String(firstPort) });
  await api.post('/room', { roomId: 'fixture' });
  await api.post('/room/fixture/peer', { type: 'webrtc', peerId: 'ada', metadata: { name: 'Ada' } });
  const { page, complaints } = await openRoom(await launch(t), url, 'fixture');
  const fill = (name: string, value: string) => page.fill(byId(`option-${name}`), value);
  const properties = async (kind: string) =>
    (await api.get('/room/fixture')).body.data.components.find(({ type }: { type: string }) => type === kind)?.properties;

  await page.click(byId('components'));
  await page.waitForSelector(byId('no-components'));
  await page.click(byId('type-file'));
  await fill('filePath', 'missing.ogg');
  await page.click(byId('add-component'));
  await seeText(page, 'component-problem', 'File not found');

  await page.click(byId('type-hls'));
  assert.equal(await page.isChecked(byId('option-lowLatency')), true);
  assert.equal(await page.getAttribute(byId('option-framerate'), 'placeholder'), '24');
  await fill('width', '641');
  await page.click(byId('add-component'));
  await seeText(page, 'component-problem', 'Expected width to be even, got: 641.');
  await eventuallyIn(page, `document.activeElement?.dataset.testid === 'option-width' && document.activeElement.ariaInvalid === 'true'`);
  await checkPage(page, 'room-add-stream');
  await fill('width', '640');
  await fill('height', '360');
  await page.selectOption(byId('option-subscribeMode'), 'manual');
  const command = await page.locator(`form ${byId('copy-curl')}`).getAttribute('data-command');
  assert.ok(command?.includes('"options":{"subscribeMode":"manual","width":640,"height":360}'), command ?? '');
  // A busy machine rejects the stream for now: retry after each response.
  const busy = page.locator(byId('component-problem')).filter({ hasText: 'too busy' });
  await eventually('the stream is accepted', async () => {
    await page.click(byId('add-component'));
    await page.waitForSelector(`${byId('add-component')}:enabled`);
    if ((await busy.count()) === 0) return true;
    await page.waitForTimeout(1_000);
    return false;
  });
  await component(page, 'hls').waitFor();
  const { width, height, subscribeMode } = await properties('hls');
  assert.deepEqual([width, height, subscribeMode], [640, 360, 'manual']);
  await open(component(page, 'hls'));
  await page.check(`${byId('origin')}[data-origin="ada"]`);
  await page.click(byId('subscribe'));
  await seeText(page, 'subscribed', '1 subscribed.');
  assert.equal(await page.getAttribute(byId('watch'), 'href'), '#/watch/fixture');

  await page.click(byId('type-recording'));
  await page.click(byId('add-component'));
  await component(page, 'recording').waitFor();

  await page.click(byId('type-sip'));
  await fill('registrarCredentials.address', 'nowhere at all');
  await fill('registrarCredentials.username', account.username);
  await fill('registrarCredentials.password', account.password);
  await page.click(byId('add-component'));
  await seeText(page, 'component-problem', 'Expected registrarCredentials.address to be the address of a registrar');
  const withPassword = await page
    .locator(`form ${byId('copy-curl')}`)
    .last()
    .getAttribute('data-command');
  assert.equal(withPassword?.includes(account.password), false, 'the password is in the command line');
  await fill('registrarCredentials.address', `127.0.0.1:${kamailio.port};transport=tcp`);
  await page.click(byId('add-component'));
  await component(page, 'sip').filter({ hasText: 'Registered' }).waitFor();
  await open(component(page, 'sip'));
  const steps = [
    far.expectInvite,
    far.answer('180 Ringing'),
    far.pause(200),
    far.answer('200 OK', { sdp: true }),
    far.expectAck,
    far.expectBye,
  ];
  await far.Sipp.answer(t, steps, { port: farEndPort, timeout: 160 });
  await page.fill(byId('phone-number'), 'no number!');
  await page.click(byId('phone-number-send'));
  await seeText(page, 'action-problem', 'phoneNumber');
  await page.fill(byId('phone-number'), '+49123456');
  await page.click(byId('phone-number-send'));
  await page.waitForSelector(`${byId('phone-call')}[data-state="active"]`);
  await page.fill(byId('digits'), '12#');
  await page.click(byId('digits-send'));
  await eventuallyIn(page, `document.querySelector('${byId('digits')}')?.value === ''`);
  assert.equal(await page.locator(byId('action-problem')).count(), 0);
  await checkPage(page, 'room-components');
  await page.click(byId('hang-up'));
  await page.waitForSelector(byId('phone-call'), { state: 'detached' });

  for (const kind of ['hls', 'recording', 'sip']) {
    if ((await component(page, kind).locator(byId('remove-component')).count()) === 0) await open(component(page, kind));
    await component(page, kind).locator(byId('remove-component')).click();
    await page.click(byId('confirm'));
    await component(page, kind).waitFor({ state: 'detached' });
  }
  assert.deepEqual((await api.get('/room/fixture')).body.data.components, []);
  await page.click(byId('events'));
  for (const type of ['SipCallRinging', 'SipCallStarted', 'SipCallEnded', 'ComponentRemoved'])
    await page.waitForSelector(`${byId('event')}[data-type="${type}"]`);
  assert.deepEqual(complaints, []);
});

const hostile = '<img src=x onerror="document.title=\'owned\'"> \u202Eevil\u202C 🦊👩‍👩‍👧‍👦 &amp; ';

test('events are shown from the start of the room, filtered, paused and resumed; untrusted names are shown as text', async (t) => {
  const { api, url } = await startNode(t);
  await api.post('/room', { roomId: 'log' });
  await api.post('/room/log/peer', { type: 'webrtc', peerId: 'early', metadata: { name: 'Early' } });
  const { page, complaints } = await openRoom(await launch(t), url, 'log');
  await page.click(byId('events'));
  await page.waitForSelector(`${byId('event')}[data-type="RoomCreated"]`);
  await page
    .locator(`${byId('event')}[data-type="PeerAdded"]`)
    .filter({ hasText: 'Early' })
    .waitFor();

  await page.click(byId('event-pause'));
  const name = hostile + 'ü'.repeat(7_900);
  assert.ok(Buffer.byteLength(JSON.stringify({ name })) < 16 * 1024);
  assert.equal((await api.post('/room/log/peer', { type: 'webrtc', peerId: 'late', metadata: { name } })).status, 201);
  await seeText(page, 'event-pause', 'Resume (1 new)');
  assert.equal(await page.locator(`${byId('event')}[data-type="PeerAdded"]`).count(), 1);
  await page.click(byId('event-pause'));
  const late = page.locator(byId('event')).filter({ hasText: '<img src=x onerror=' });
  await late.waitFor();
  await late.locator('summary').click();
  assert.equal(
    await page
      .locator(byId('event-json'))
      .textContent()
      .then((text) => JSON.parse(text ?? '').metadata.name),
    name,
  );
  await checkPage(page, 'room-events');

  await page.selectOption(byId('event-group'), 'Room');
  await eventuallyIn(page, `document.querySelectorAll('${byId('event')}').length === 1`);
  await page.selectOption(byId('event-group'), '');
  await page.fill(byId('event-filter'), 'early');
  await eventuallyIn(page, `document.querySelectorAll('${byId('event')}').length === 1`);

  await page.click(byId('peers'));
  const entry = page.locator(`${byId('peer')}[data-peer="late"]`);
  await open(entry);
  assert.ok((await entry.getAttribute('data-name'))?.startsWith('<img src=x'));
  await entry.getByText('Metadata', { exact: true }).click();
  assert.equal(JSON.parse((await entry.locator(byId('metadata')).textContent()) ?? '').name, name);
  await checkPage(page, 'room-hostile-names');
  assert.equal(await page.title(), 'log · Mediarooms');
  assert.equal(await page.locator('.room-panel img').count(), 0);
  assert.deepEqual(complaints, []);
});

test('a read-only token can view the room page and change nothing', async (t) => {
  const { api, url } = await startNode(t, { SVC_SERVER_API_READ_TOKEN: readToken, SVC_COMPONENTS_USED: 'hls' });
  await api.post('/room', { roomId: 'seen' });
  await api.post('/room/seen/peer', { type: 'webrtc', peerId: 'ada', metadata: { name: 'Ada' } });
  assert.equal((await postWhenIdle(api, '/room/seen/component', { type: 'hls', options: {} })).status, 201);
  const before = (await api.get('/room/seen')).body.data;
  const { page, complaints } = await openRoom(await launch(t), url, 'seen', readToken);
  await seeText(page, 'cannot-join', 'Your token is read-only.');
  await open(peer(page, 'Ada'));
  await peer(page, 'Ada').locator(byId('permit-video')).click({ force: true });
  await peer(page, 'Ada').locator(byId('remove-peer')).click({ force: true });
  assert.equal(await page.locator(byId('confirm')).count(), 0);
  assert.equal(await peer(page, 'Ada').locator(byId('remove-peer')).getAttribute('aria-disabled'), 'true');
  await checkPage(page, 'room-read-only');
  await page.click(byId('components'));
  await open(component(page, 'hls'));
  await component(page, 'hls').locator(byId('remove-component')).click({ force: true });
  await page.locator(byId('add-component')).click({ force: true });
  await page.click(byId('events'));
  await page.waitForSelector(`${byId('event')}[data-type="ComponentAdded"]`);
  const after = (await api.get('/room/seen')).body.data;
  assert.deepEqual([after.peers, after.components.length], [before.peers, 1]);
  assert.deepEqual(complaints, []);
});

test('the panel is opened, used and closed with the keyboard alone on a phone', async (t) => {
  const { api, url } = await startNode(t);
  await api.post('/room', { roomId: 'by-keys' });
  await api.post('/room/by-keys/peer', { type: 'webrtc', peerId: 'ada', metadata: { name: 'Ada' } });
  const { page, complaints } = await openConsole(await launch(t), `${url}/#/room/by-keys`, { viewport: { width: 360, height: 740 } });
  await logInByKeys(page, apiToken);
  await page.waitForSelector(byId('panel-toggle'));
  await tabTo(page, 'panel-toggle');
  await page.keyboard.press('Enter');
  await page.waitForSelector(byId('room-panel'));
  await peer(page, 'Ada').waitFor();
  await tabTo(page, 'peers');
  await page.keyboard.press('ArrowRight');
  await page.waitForSelector(`${byId('components')}[aria-selected="true"]`);
  await page.keyboard.press('ArrowLeft');
  await page.waitForSelector(`${byId('peers')}[aria-selected="true"]`);
  for (let i = 0; i < 5 && (await peer(page, 'Ada').locator(byId('permit-data')).count()) === 0; i += 1) {
    await page.keyboard.press('Tab');
    if (await page.evaluate('document.activeElement?.tagName === "SUMMARY"')) await page.keyboard.press('Enter');
  }
  await tabTo(page, 'permit-data');
  await page.keyboard.press('Space');
  await eventually('the permission is changed', async () => (await peerOf(api, 'by-keys', 'Ada')).permissions.data === false);
  await tabTo(page, 'remove-peer');
  await page.keyboard.press('Enter');
  await page.waitForSelector(byId('confirm'));
  await tabTo(page, 'confirm');
  await page.keyboard.press('Enter');
  await page.waitForSelector(byId('no-peers'));
  await page.locator(byId('room-panel')).press('Escape');
  await page.waitForSelector(byId('room-panel'), { state: 'detached' });
  await eventuallyIn(page, `document.activeElement?.dataset.testid === 'panel-toggle'`);
  assert.deepEqual(complaints, []);
});
