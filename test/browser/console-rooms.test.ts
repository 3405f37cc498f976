// The rooms page: log-in, live list, keyboard, phone width, and a restart of the server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { stablePort, startNodeProcess } from '../kit/processes/node-process.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { byId, launch, logIn, logInByKeys, openConsole, overflow, seeText, tabTo } from './console-kit.ts';
import { holdRequests } from './console-views.ts';

test('the console requires the API token, rejects an invalid one, and stores it for the tab only', async (t) => {
  const node = await startNode(t);
  const browser = await launch(t);
  const { page, context, complaints } = await openConsole(browser, node.url);
  await page.fill(byId('login-token'), 'wrong');
  await page.click(byId('login-submit'));
  await seeText(page, 'login-problem', 'Invalid token.');
  await logIn(page, apiToken);
  await page.reload();
  await page.waitForSelector(byId('create-room'));
  const second = await context.newPage();
  await second.goto(node.url);
  await second.waitForSelector(byId('login-token'));
  assert.equal(await page.evaluate('localStorage.length'), 0);
  assert.deepEqual(complaints, []);
});

test('development mode needs no log-in', async (t) => {
  const node = await startNodeProcess(t, { SVC_SERVER_API_TOKEN: undefined, SVC_SECRET_KEY_BASE: undefined });
  const browser = await launch(t);
  const { page } = await openConsole(browser, node.url);
  await page.waitForSelector(byId('create-room'));
  assert.equal(await page.locator(byId('login-token')).count(), 0);
});

test('rooms that are created and deleted through the API appear and disappear live, and errors of the server are shown', async (t) => {
  const { api, url } = await startNode(t);
  const browser = await launch(t);
  const { page, complaints } = await openConsole(browser, url);
  await logIn(page, apiToken);
  await seeText(page, 'no-rooms', 'No rooms yet');
  await api.post('/room', { roomId: 'made-elsewhere', maxPeers: 7 });
  await seeText(page, 'room-row', 'made-elsewhere');
  await seeText(page, 'peer-count', '0 of 7');
  await page.click(byId('create-room'));
  await page.fill(byId('room-id'), 'no/slash');
  await page.click(byId('create-submit'));
  await seeText(page, 'create-problem', 'may contain only alphanumeric characters, hyphens and underscores');
  await page.fill(byId('room-id'), 'made-here');
  await page.selectOption('select[name=maxPeers-choice]', 'value');
  await page.fill('input[name=maxPeers]', '3');
  await page.selectOption('select[name=videoCodec]', 'h264');
  await page.selectOption('select[name=peerlessPurgeTimeout-choice]', 'null');
  await page.selectOption('select[name=peerDisconnectedTimeout-choice]', 'value');
  await page.fill('input[name=peerDisconnectedTimeout]', '60');
  await page.fill('input[name=webhookUrl]', 'https://127.0.0.1:9/events');
  await page.fill('input[name=externalId]', 'lesson-7');
  await page.click(byId('create-submit'));
  await seeText(page, 'room-row', 'made-here');
  const { config, externalId } = (await api.get('/room/made-here')).body.data;
  const { roomId, ...rest } = config;
  assert.deepEqual(
    [rest, externalId],
    [
      {
        maxPeers: 3,
        videoCodec: 'h264',
        admission: 'automatic',
        metadata: null,
        webhookUrl: 'https://127.0.0.1:9/events',
        peerlessPurgeTimeout: null,
        peerDisconnectedTimeout: 60,
      },
      'lesson-7',
    ],
  );
  await page.locator('[data-room="made-here"]').locator(byId('remove-room')).click();
  await page.click(byId('confirm'));
  await page.waitForSelector('[data-room="made-here"]', { state: 'detached' });
  assert.equal((await api.get('/room/made-here')).status, 404);
  await api.delete('/room/made-elsewhere');
  await seeText(page, 'no-rooms', 'No rooms yet');
  assert.deepEqual(complaints, []);
});

test('the form of a new room shows the defaults of the server and applies them', async (t) => {
  const node = await startNode(t, {
    SVC_PEERLESS_PURGE_TIMEOUT: '5400',
    SVC_PEER_DISCONNECTED_TIMEOUT: 'none',
    SVC_MAX_PEERS_PER_ROOM: '40',
  });
  const browser = await launch(t);
  const { page, complaints } = await openConsole(browser, node.url);
  await logIn(page, apiToken);
  await page.click(byId('create-room'));
  const firstOption = (name: string) => page.locator(`select[name=${name}-choice] option`).first();
  await firstOption('maxPeers').filter({ hasText: 'Default: at most 40' }).waitFor({ state: 'attached' });
  assert.equal(await firstOption('peerlessPurgeTimeout').textContent(), 'Default: after 1 hour 30 minutes');
  assert.equal(await firstOption('peerDisconnectedTimeout').textContent(), 'Default: never');
  await page.fill(byId('room-id'), 'as-it-says');
  await page.click(byId('create-submit'));
  await seeText(page, 'room-row', 'as-it-says');
  const { config } = (await node.api.get('/room/as-it-says')).body.data;
  assert.deepEqual([config.maxPeers, config.peerlessPurgeTimeout, config.peerDisconnectedTimeout], [null, 5400, null]);
  assert.deepEqual(complaints, []);
});

test('a response to a closed dialog does not close another one', async (t) => {
  const { api, url } = await startNode(t);
  await api.post('/room', { roomId: 'ended' });
  const { page, complaints } = await openConsole(await launch(t), url);
  await logIn(page, apiToken);
  await page.click(byId('remove-room'));
  const requests = await holdRequests(page, /\/room\/ended$/);
  await page.click(byId('confirm'));
  await requests.arrived();
  await page.keyboard.press('Escape');
  await page.click(byId('create-room'));
  await page.fill(byId('room-id'), 'filled-in-meanwhile');
  const answered = page.waitForResponse(/\/room\/ended$/);
  await requests.end();
  await answered;
  await seeText(page, 'no-rooms', 'No rooms yet');
  assert.equal(await page.inputValue(byId('room-id')), 'filled-in-meanwhile');
  await page.click(byId('create-submit'));
  await seeText(page, 'room-row', 'filled-in-meanwhile');
  await page.waitForSelector('dialog', { state: 'detached' });
  assert.deepEqual(complaints, []);
});

test('a room that ends right after it is recreated can be recreated again', async (t) => {
  const node = await startNode(t);
  const { page, complaints } = await openConsole(await launch(t), `${node.url}/#/room/brief`);
  await page.fill(byId('login-token'), apiToken);
  await page.click(byId('login-submit'));
  await page.waitForSelector(byId('recreate'));
  let made = 0;
  page.on('request', (request) => {
    if (request.method() === 'POST') made += 1;
  });
  // The first recreated room does not exist any more.
  await page.route(/\/room\/brief$/, (route) =>
    made > 1 ? route.continue() : route.fulfill({ status: 404, json: { code: 'room_not_found', errors: 'Room brief does not exist' } }),
  );
  for (let time = 0; time < 2; time += 1) await page.click(byId('recreate'));
  await page.waitForSelector(byId('tile-video'));
  assert.deepEqual(complaints, []);
});

test('the rooms page is usable with the keyboard alone', async (t) => {
  const node = await startNode(t);
  const browser = await launch(t);
  const { page } = await openConsole(browser, node.url);
  const focused = () => page.evaluate<string>('document.activeElement?.dataset.testid ?? document.activeElement?.tagName ?? ""');
  await logInByKeys(page, apiToken);
  await page.waitForSelector(byId('create-room'));
  await tabTo(page, 'create-room');
  await page.keyboard.press('Enter');
  await page.waitForSelector(byId('room-id'));
  assert.equal(await focused(), 'room-id', 'the first field of the dialog has the focus');
  await page.keyboard.type('by-keys');
  await page.keyboard.press('Enter');
  await seeText(page, 'room-row', 'by-keys');
  await page.waitForSelector('dialog', { state: 'detached' });
  assert.equal(await focused(), 'create-room');
  await tabTo(page, 'invite');
  await page.keyboard.press('Enter');
  await eventuallyIn(page, `document.querySelector('${byId('invite-link')}')?.value.includes('#/join?')`);
  await tabTo(page, 'publish-with-obs');
  await page.keyboard.press('Enter');
  assert.equal(await page.inputValue(byId('whip-url')), `${node.url}/whip/by-keys`);
  const token = await page.inputValue(byId('whip-token'));
  assert.ok((await page.inputValue(byId('invite-link'))).includes(`token=${token}`), 'an encoder is the peer of the link');
  await tabTo(page, 'play-elsewhere');
  await page.keyboard.press('Enter');
  assert.equal(await page.inputValue(byId('whep-url')), `${node.url}/whep/by-keys`);
  assert.equal(await page.inputValue(byId('whep-token')), token, 'a player is the peer of the link');
  await tabTo(page, 'whep-token');
  await page.keyboard.press('Escape');
  await page.waitForSelector('dialog', { state: 'detached' });
  assert.equal(await focused(), 'invite', 'the focus returns to the button');
  await tabTo(page, 'remove-room');
  await page.keyboard.press('Enter');
  await page.waitForSelector(byId('confirm'));
  await tabTo(page, 'confirm');
  await page.keyboard.press('Enter');
  await seeText(page, 'no-rooms', 'No rooms yet');
});

test('every page fits a phone of 360 pixels without horizontal scrolling, in light and dark', async (t) => {
  const { api, url } = await startNode(t);
  await api.post('/room', { roomId: 'a_name_as_long_as_nobody_would_ever_choose_'.repeat(2), maxPeers: 1000 });
  const browser = await launch(t);
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page } = await openConsole(browser, url, { viewport: { width: 360, height: 700 }, colorScheme, hasTouch: true });
    await page.waitForSelector(byId('login-token'));
    assert.equal(await overflow(page), 0, 'login');
    await logIn(page, apiToken);
    await page.waitForSelector(byId('room-row'));
    assert.equal(await overflow(page), 0, 'rooms');
    await page.click(byId('create-room'));
    await page.waitForSelector(byId('room-id'));
    assert.equal(await overflow(page), 0, 'new room');
    await page.keyboard.press('Escape');
    await page.click(byId('invite'));
    await page.waitForSelector(byId('invite-link'));
    assert.equal(await overflow(page), 0, 'invite');
    await page.click(byId('publish-with-obs'));
    assert.equal(await overflow(page), 0, 'publish with OBS');
    await page.click(byId('invite-close'));
    await page.click(byId('open-room'));
    await page.waitForSelector(byId('tile-video'));
    assert.equal(await overflow(page), 0, 'lobby');
    await page.goto(`${url}/#/room/not-created`);
    await page.waitForSelector(byId('recreate'));
    assert.equal(await overflow(page), 0, 'ended');
  }
});

test('the rooms page reports an unreachable server and recovers', async (t) => {
  const first = await startNodeProcess(t, await stablePort());
  const browser = await launch(t);
  const { page } = await openConsole(browser, first.url);
  await logIn(page, apiToken);
  await first.api.post('/room', { roomId: 'before' });
  await seeText(page, 'room-row', 'before');
  first.kill('SIGKILL');
  await first.ended;
  await seeText(page, 'status', 'Disconnected. Reconnecting…');
  const again = await startNodeProcess(t, { SVC_PORT: String(first.port) });
  await seeText(page, 'no-rooms', 'No rooms yet');
  await page.waitForSelector(`${byId('status')}[data-state="live"]`);
  await again.api.post('/room', { roomId: 'after' });
  await seeText(page, 'room-row', 'after');
});

test('the console works under a path', async (t) => {
  const node = await startNode(t, { SVC_HOST: '127.0.0.1:5002/rooms/of/ours' });
  const browser = await launch(t);
  const { page, complaints } = await openConsole(browser, `${node.url}/rooms/of/ours/`);
  await logIn(page, apiToken);
  await page.click(byId('create-room'));
  await page.fill(byId('room-id'), 'under-a-path');
  await page.click(byId('create-submit'));
  await seeText(page, 'room-row', 'under-a-path');
  await page.click(byId('invite'));
  await eventuallyIn(page, `document.querySelector('${byId('invite-link')}')?.value.includes('/rooms/of/ours/#/join?')`);
  assert.deepEqual(complaints, []);
});
