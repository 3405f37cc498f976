// Rooms, Cluster and Health pages: on a phone and a screen, light and dark, by keyboard, with untrusted names, and with a read-only token.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { startNodePair } from '../kit/processes/node-pair.ts';
import { apiToken, type StartedNode, startNode } from '../kit/processes/start-node.ts';
import { byId, launch, openConsole, overflow, seeText, tabTo, windows } from './console-kit.ts';
import { addressesOf, checkPage, drawnRooms, openPart } from './console-views.ts';

/** Adds a connected peer with this name. */
async function join(t: TestContext, node: StartedNode, roomId: string, name: string): Promise<void> {
  const { api } = node;
  const { body } = await api.post(`/room/${roomId}/peer`, { type: 'webrtc', metadata: { name } });
  const socket = await PeerSocket.enter(node.peerSocketUrl, body.data.token);
  t.after(() => socket.webSocket.terminate());
}

const hostileNames = {
  html: '<img src=x onerror="document.title=1"><b>bold</b>',
  rtl: '\u202Eevil\u202D \u05D0\u05D1\u05D2',
  emoji: '👩‍🚀🏳️‍🌈',
  /** With the rest of the metadata 16 KiB. */
  long: 'W'.repeat(16 * 1024 - 11),
};

const cells = (page: Page, row: string) => page.locator(`${row} [role=cell]`).allTextContents();

test('the list of rooms fits every window and shows untrusted names as text', async (t) => {
  const node = await startNode(t);
  const { api } = node;
  await api.post('/room', { roomId: 'plain', maxPeers: 20, videoCodec: 'h264', externalId: hostileNames.html });
  await api.post('/room', { roomId: 'a_name_as_long_as_nobody_would_ever_choose_'.repeat(2) });
  await api.post('/room', { roomId: 'strange' });
  for (const name of Object.values(hostileNames)) await join(t, node, 'strange', name);
  await api.post('/room/plain/peer', { type: 'webrtc' });
  const browser = await launch(t);
  const { page, complaints } = await openPart(browser, { url: node.url, token: apiToken, hash: '#/' });
  await seeText(page, 'facts', '3 rooms · 4 participants');
  const strange = '[data-room="strange"]';
  await page.waitForSelector(strange);
  assert.equal(await page.locator(`${strange} ${byId('peer-count')}`).textContent(), '4');
  const names = page.locator(`${strange} ${byId('names')} bdi`);
  assert.deepEqual(await names.allTextContents(), [`${hostileNames.html.slice(0, 40)}…`, 'evil \u05D0\u05D1\u05D2', hostileNames.emoji]);
  assert.match((await page.locator(`${strange} ${byId('names')}`).textContent()) ?? '', / and 1 more$/);
  assert.equal(await page.locator('[data-room="plain"] bdi').first().textContent(), hostileNames.html);
  assert.equal(await page.locator('table img, table b').count(), 0);
  assert.match((await cells(page, '[data-room="plain"]')).join('|'), /0 of 20.*1 invited.*H\.264/s);
  await checkPage(page, 'rooms');
  await page.click(byId('create-room'));
  await page.selectOption('select[name=maxPeers-choice]', 'value');
  await checkPage(page, 'rooms-new');
  assert.equal(
    await page
      .locator(`dialog ${byId('copy-curl')}`)
      .getAttribute('data-command')
      .then((text) => text?.includes(apiToken)),
    false,
  );
  await page.keyboard.press('Escape');
  await page.locator(`${strange} ${byId('remove-room')}`).click();
  await page.getByText('4 participants will be disconnected.').waitFor();
  await checkPage(page, 'rooms-end');
  await page.keyboard.press('Escape');
  await page.fill(byId('search'), 'PLAIN');
  await page.waitForSelector(strange, { state: 'detached' });
  assert.equal(await page.locator(byId('room-row')).count(), 1);
  await page.fill(byId('search'), '<b>');
  await page.waitForSelector('[data-room="plain"]');
  await page.fill(byId('search'), 'nothing like this');
  await seeText(page, 'none-found', 'nothing like this');
  await page.fill(byId('search'), '');
  await page.getByRole('button', { name: 'Participants' }).click();
  await page.waitForSelector('[aria-sort="descending"]');
  assert.equal(await page.locator(byId('room-row')).first().getAttribute('data-room'), 'strange');
  assert.deepEqual(complaints, []);
});

test('many rooms that are created and deleted at once cause few requests', async (t) => {
  const node = await startNode(t);
  const { api } = node;
  const browser = await launch(t);
  const { page } = await openPart(browser, { url: node.url, token: apiToken, hash: '#/' });
  await seeText(page, 'no-rooms', 'No rooms yet');
  const addresses = addressesOf(page);
  const began = Date.now();
  const ids = Array.from({ length: 120 }, (_, index) => `room-${index}`);
  await Promise.all(ids.map((roomId) => api.post('/room', { roomId })));
  await seeText(page, 'facts', '120 rooms');
  // At most one list and four single rooms per three seconds.
  const most = 10 + 2 * ((Date.now() - began) / 1_000);
  assert.ok(addresses.length <= most, `${addresses.length} requests for 120 rooms: ${addresses.join(' ')}`);
  assert.equal(await page.locator('.data-table').getAttribute('aria-rowcount'), '121');
  for (const { room, index } of await drawnRooms(page)) assert.equal(room, ids[index]);
  await Promise.all(ids.slice(1).map((roomId) => api.delete(`/room/${roomId}`)));
  await seeText(page, 'facts', '1 room ·');
});

test('a read-only token can view every page, and every button for a change explains why it is disabled', async (t) => {
  const readToken = `${apiToken}-that-reads`;
  const node = await startNode(t, { SVC_SERVER_API_READ_TOKEN: readToken });
  const { api } = node;
  await api.post('/room', { roomId: 'watched' });
  const browser = await launch(t);
  const { page, complaints } = await openPart(browser, { url: node.url, token: readToken, hash: '#/' });
  await seeText(page, 'scope', 'Read only');
  await page.waitForSelector('[data-room="watched"]');
  for (const button of ['create-room', 'invite', 'remove-room']) {
    const found = page.locator(byId(button)).first();
    assert.equal(await found.getAttribute('aria-disabled'), 'true', button);
    assert.equal(await found.getAttribute('title'), 'Your token is read-only.', button);
    await found.click({ force: true });
  }
  assert.equal(await page.locator('dialog').count(), 0);
  await api.post('/room', { roomId: 'made-meanwhile' });
  await page.waitForSelector('[data-room="made-meanwhile"]');
  await page.goto(`${node.url}/#/cluster`);
  await page.locator(byId('drain')).click({ force: true });
  assert.equal(await page.locator(byId('drain')).getAttribute('aria-disabled'), 'true');
  assert.equal(await page.locator('dialog').count(), 0);
  await page.goto(`${node.url}/#/health`);
  await page.waitForSelector(byId('config-row'));
  assert.equal((await page.content()).includes(readToken), false, 'no page contains the token');
  assert.deepEqual(complaints, []);
});

test('a node is drained and its drain cancelled by keyboard, after the console shows the impact', async (t) => {
  const { owner, nonOwner, api } = await startNodePair(t, { both: { SVC_DRAIN_TIMEOUT: '600' } });
  const nodes: string[] = (await api.get('/cluster/nodes')).body.data.map(({ name }: { name: string }) => name);
  const own = nodes.find((name) => name.startsWith('owner'));
  await owner.api.post('/room', { roomId: 'kept' });
  const holder = (await fetch(`${owner.url}/health`, { headers: { authorization: `Bearer ${apiToken}` } }).then((answer) =>
    answer.json(),
  )) as {
    data: { load: { rooms: number } };
  };
  const [busy, name] = holder.data.load.rooms === 1 ? [owner, own] : [nonOwner, nodes.find((each) => each !== own)];
  await join(t, busy, 'kept', 'Ada');
  const browser = await launch(t);
  const { page, complaints } = await openPart(browser, { url: nonOwner.url, token: apiToken, hash: '#/cluster' });
  const row = `[data-node="${name}"]`;
  await page.locator(row).getByText('Accepting rooms').waitFor();
  await seeText(page, 'facts', '2 nodes · 1 room');
  await checkPage(page, 'cluster');
  await page.locator(`${row} ${byId('drain')}`).focus();
  await page.keyboard.press('Enter');
  await page.getByText('New rooms will be created on the one other node that accepts rooms.').waitFor();
  await page.getByText('1 room with 1 participant continues until it is idle').waitFor();
  await page.getByText('Rooms with participants will be closed in 10 minutes').waitFor();
  await checkPage(page, 'cluster-drain');
  await tabTo(page, 'drain-minutes');
  await page.keyboard.type('x');
  assert.equal(await page.locator(byId('confirm')).isDisabled(), true);
  await page.keyboard.press('Backspace');
  await page.keyboard.type('90');
  await page.getByText('closed in 1 hour 30 minutes').waitFor();
  assert.match((await page.locator(`dialog ${byId('copy-curl')}`).getAttribute('data-command')) ?? '', /-X POST .*\{"deadline":5400\}/);
  await tabTo(page, 'confirm');
  await page.keyboard.press('Enter');
  await page.waitForSelector(`${row}[data-state="draining"]`);
  await seeText(page, 'drain-progress', '1 room left, deadline');
  const { deadline } = (await api.get(`/cluster/nodes/${name}/drain`)).body.data;
  const left = Date.parse(deadline) - Date.now();
  assert.ok(left > 80 * 60_000 && left <= 90 * 60_000, `${left} ms`);
  await tabTo(page, 'cancel-drain');
  await page.keyboard.press('Enter');
  await seeText(page, 'cancel-impact', 'The deadline of its 1 room is removed');
  await tabTo(page, 'confirm');
  await page.keyboard.press('Enter');
  await page.waitForSelector(`${row}[data-state="accepting"]`);
  assert.equal((await api.get(`/cluster/nodes/${name}/drain`)).body.data.state, 'accepting');
  await page.goto(`${nonOwner.url}/#/health`);
  await page.selectOption(byId('config-node'), name ?? '');
  await page.waitForSelector(`${byId('config-row')}[data-name="SVC_DIST_NODE_NAME"]`);
  await page
    .locator('[data-name="SVC_DIST_NODE_NAME"]')
    .getByText(name ?? '')
    .waitFor();
  assert.deepEqual(complaints, []);
});

test('the Health page shows the state of the node and the effective configuration without secrets', async (t) => {
  const node = await startNode(t, { SVC_DRAIN_TIMEOUT: '77' });
  const browser = await launch(t);
  const { page, complaints } = await openPart(browser, { url: node.url, token: apiToken, hash: '#/health' });
  await seeText(page, 'facts', 'accepting rooms · standalone');
  await page.waitForSelector(byId('config-row'));
  await checkPage(page, 'health');
  const drain = page.locator('[data-name="SVC_DRAIN_TIMEOUT"]');
  assert.match((await drain.textContent()) ?? '', /77[\s\S]*Environment/);
  assert.match((await page.locator('[data-name="SVC_SERVER_API_TOKEN"]').textContent()) ?? '', /hidden/);
  assert.equal((await page.content()).includes(apiToken), false);
  await tabTo(page, 'config-search');
  await page.keyboard.type('drain_time');
  await page.waitForSelector('[data-name="SVC_SERVER_API_TOKEN"]', { state: 'detached' });
  assert.equal(await page.locator(byId('config-row')).count(), 1);
  await page.fill(byId('config-search'), '');
  await tabTo(page, 'own-only');
  await page.keyboard.press('Space');
  await page.waitForSelector('[data-source="default"]', { state: 'detached' });
  assert.deepEqual(complaints, []);
});

test('no page shifts its layout while it loads or overflows, up to the widest screen', async (t) => {
  const { nonOwner, api } = await startNodePair(t);
  for (let index = 0; index < 40; index += 1) await api.post('/room', { roomId: `room-${index}` });
  const browser = await launch(t);
  const shown: Record<string, string> = { '#/': 'room-row', '#/cluster': 'node-row', '#/health': 'config-row' };
  const { page } = await openPart(browser, { url: nonOwner.url, token: apiToken, hash: '#/' });
  for (const size of [...windows, { width: 3840, height: 2160 }]) {
    await page.setViewportSize(size);
    for (const [hash, row] of Object.entries(shown)) {
      await page.goto(`${nonOwner.url}/${hash}`);
      await page.reload();
      await page.waitForSelector(byId(row));
      assert.ok((await overflow(page)) <= 0, `${hash} at ${size.width} px is too wide`);
      // Up to 0.1 is a good Cumulative Layout Shift.
      const jumps = await page.evaluate<number>(`new Promise((resolve) => {
        let sum = 0;
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value;
        }).observe({ type: 'layout-shift', buffered: true });
        setTimeout(() => resolve(sum), 500);
      })`);
      assert.ok(jumps < 0.1, `${hash} at ${size.width} px has a layout shift of ${jumps}`);
    }
  }
});

test('the shell is usable by keyboard: skip link, navigation, theme and log-out', async (t) => {
  const node = await startNode(t);
  const browser = await launch(t);
  const { page } = await openConsole(browser, node.url);
  await page.fill(byId('login-token'), apiToken);
  await page.keyboard.press('Enter');
  await page.waitForSelector(byId('create-room'));
  await page.keyboard.press('Tab');
  assert.match(await page.evaluate<string>('document.activeElement.textContent'), /Skip to the content/);
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate('document.activeElement.tagName'), 'MAIN');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate('document.activeElement.dataset.testid'), 'search');
  await page.reload();
  await page.waitForSelector(byId('create-room'));
  await tabTo(page, 'theme');
  for (const [theme, scheme] of [
    ['light', 'light'],
    ['dark', 'dark'],
  ]) {
    await page.keyboard.press('Enter');
    await page.waitForSelector(`${byId('theme')}[data-theme-now="${theme}"]`);
    assert.equal(await page.evaluate('getComputedStyle(document.documentElement).colorScheme'), scheme);
  }
  await page.reload();
  await page.waitForSelector(`${byId('theme')}[data-theme-now="dark"]`);
  assert.equal(await page.evaluate('localStorage.length'), 0);
  await tabTo(page, 'nav-health');
  await page.keyboard.press('Enter');
  await page.waitForSelector(byId('config-row'));
  assert.equal(await page.evaluate('document.activeElement.tagName'), 'MAIN', 'navigation moves the focus to the content');
  assert.equal(await page.title(), 'Health · Mediarooms');
  await page.locator(byId('log-out')).focus();
  await page.keyboard.press('Enter');
  await page.waitForSelector(byId('login-token'));
  assert.equal(await page.evaluate(`JSON.stringify(sessionStorage).includes(${JSON.stringify(apiToken)})`), false);
});
