// The Webhooks page: state of receivers, dead letters and their redelivery, and failures.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { apiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { accept, reject, startReceiver } from '../kit/network/webhook-receiver.ts';
import { stablePort, startNodeProcess } from '../kit/processes/node-process.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { byId, launch, seeText, tabTo } from './console-kit.ts';
import { checkPage, holdRequests, openPart, waitUntilStopped } from './console-views.ts';

const hash = '#/webhooks';
const row = (name: string, value: string) => `${byId(`${name}-row`)}[data-${name === 'letter' ? 'event' : name}="${value}"]`;

/** Retries have exponential backoff: after a minute of failures the next one is up to two minutes later. */
const retried = { timeout: 180_000 };
const options = { timeout: 360_000 };

type Letter = { reason: string; event: { id: string; type: string; roomId: string } };

/** Resolves with the dead letters once there are `count`. */
async function waitForLetters(api: ReturnType<typeof apiClient>, count: number): Promise<Letter[]> {
  let letters: Letter[] = [];
  const poll = async () => {
    letters = (await api.get('/webhooks/dead')).body.data;
    return letters.length >= count;
  };
  await eventually(() => `${letters.length} of ${count} dead letters`, poll);
  return letters;
}

test('rejecting, unreachable and up-to-date receivers are shown without the path of their URL', options, async (t) => {
  const good = await startReceiver(t);
  const refusing = await startReceiver(t, reject(500));
  const silent = await startReceiver(t, (response) => void response.destroy());
  const key = 'key-of-a-receiver-in-its-address';
  const node = await startNode(t, { SVC_WEBHOOK_URLS: `${good.url}?key=${key}` });
  const { api } = node;
  const { page, complaints } = await openPart(await launch(t), { url: node.url, token: apiToken, hash });
  await api.post('/room', { roomId: 'refused', webhookUrl: `${refusing.url}?key=${key}` });
  await api.post('/room', { roomId: 'unheard', webhookUrl: `${silent.url}?key=${key}` });
  const of = (port: number) => page.locator(row('receiver', `http://127.0.0.1:${port}`));
  await of(refusing.port).filter({ hasText: 'the receiver responded with 500' }).filter({ hasText: 'rejecting' }).waitFor();
  await of(silent.port).filter({ hasText: 'unreachable' }).filter({ hasText: 'socket hang up' }).waitFor();
  await of(good.port).filter({ hasText: 'up to date' }).waitFor();
  await seeText(page, 'facts', '2 pending events');
  assert.ok(!(await page.content()).includes(key));
  const titles = await page.getByRole('table', { name: 'Receivers' }).getByRole('columnheader').allTextContents();
  assert.deepEqual(titles, ['Receiver', 'State', 'Pending', 'Rooms', 'Last error', 'Node']);
  await checkPage(page, 'webhooks-receivers');

  refusing.answer(accept);
  silent.answer(accept);
  await page.locator(byId('facts')).filter({ hasText: 'Queue empty' }).waitFor(retried);
  await of(refusing.port).waitFor({ state: 'detached' });
  await of(good.port).waitFor();
  assert.deepEqual(complaints, []);
});

test('dead letters are found, opened and redelivered with the keyboard alone', async (t) => {
  const receiver = await startReceiver(t, reject(410));
  const node = await startNode(t);
  const { api } = node;
  for (const roomId of ['one', 'two', 'three']) await api.post('/room', { roomId, webhookUrl: receiver.url });
  const letters = await waitForLetters(api, 3);
  receiver.answer(accept);
  const { page, complaints } = await openPart(await launch(t), { url: node.url, token: apiToken, hash: '#/' });
  await tabTo(page, 'nav-webhooks');
  await page.keyboard.press('Enter');
  await page.waitForSelector(byId('letter-row'));
  assert.equal(await page.locator(byId('letter-row')).count(), 3);
  await checkPage(page, 'webhooks-letters');

  await tabTo(page, 'letter-room');
  await page.keyboard.type('two');
  // The list is empty while the filtered one is loaded.
  await page.locator(byId('letter-row')).filter({ hasText: 'one' }).waitFor({ state: 'detached' });
  await seeText(page, 'letter-row', 'two');
  await tabTo(page, 'letter-open');
  await page.keyboard.press('Enter');
  await seeText(page, 'letter-reason', 'Failed permanently after 1 attempt: the receiver responded with 410.');
  const two = letters.find(({ event }) => event.roomId === 'two')?.event;
  assert.deepEqual(JSON.parse((await page.textContent(byId('letter-event'))) ?? ''), two);
  await checkPage(page, 'webhooks-letter');
  await tabTo(page, 'letter-replay');
  await page.keyboard.press('Enter');
  await seeText(page, 'replayed', '1 event queued for redelivery.');
  await receiver.untilTrue((received) => received.filter(({ id }) => id === two?.id).length >= 2);
  await seeText(page, 'no-letters', 'No dead letters of this room');

  await page.fill(byId('letter-room'), '');
  await seeText(page, 'letter-row', 'one');
  await page.focus(byId('letter-room'));
  await tabTo(page, 'replay-all');
  await page.keyboard.press('Enter');
  await seeText(page, 'replay-what', 'All dead letters of all nodes');
  await checkPage(page, 'webhooks-replay');
  await tabTo(page, 'confirm');
  await page.keyboard.press('Enter');
  await seeText(page, 'replayed', '2 events queued for redelivery.');
  await seeText(page, 'no-letters', 'No dead letters');
  await receiver.untilTrue((received) => new Set(received.map(({ id }) => id)).size === 3 && received.length >= 6);
  assert.deepEqual((await api.get('/webhooks/dead')).body.data, []);
  assert.deepEqual(complaints, []);
});

test('untrusted names in a dead letter are shown as text', async (t) => {
  const receiver = await startReceiver(t, reject(410));
  const node = await startNode(t);
  const { api } = node;
  await api.post('/room', { roomId: 'hostile', webhookUrl: receiver.url });
  const metadata = {
    name: `<img src=x onerror="document.title='taken'">\u202Eesrever\u2066 \u{1F468}\u200D\u{1F680}`,
    more: 'x'.repeat(15_000),
  };
  await api.post('/room/hostile/peer', { type: 'webrtc', peerId: 'p', metadata });
  await waitForLetters(api, 2);
  const { page, complaints } = await openPart(await launch(t), { url: node.url, token: apiToken, hash });
  await page.locator(byId('letter-open')).filter({ hasText: 'PeerAdded' }).click();
  await seeText(page, 'letter-event', 'onerror');
  const shown = (await page.textContent(byId('letter-event'))) ?? '';
  assert.ok(shown.includes('\\u202eesrever'), 'direction marks are escaped');
  assert.deepEqual(JSON.parse(shown).metadata, metadata);
  assert.equal(await page.locator('.letter-event img').count(), 0);
  await checkPage(page, 'webhooks-hostile');
  assert.equal(await page.title(), 'Webhooks · Mediarooms');
  assert.deepEqual(complaints, []);
});

test('a read-only token can view dead letters but not redeliver them', async (t) => {
  const receiver = await startReceiver(t, reject(410));
  const readToken = 'read-token-of-the-console-in-a-test';
  const node = await startNode(t, { SVC_SERVER_API_READ_TOKEN: readToken });
  const { api } = node;
  await api.post('/room', { roomId: 'one', webhookUrl: receiver.url });
  await waitForLetters(api, 1);
  const { page } = await openPart(await launch(t), { url: node.url, token: readToken, hash });
  await page.waitForSelector(byId('letter-row'));
  for (const id of ['replay-one', 'replay-all']) {
    assert.equal(await page.getAttribute(byId(id), 'aria-disabled'), 'true', id);
    await page.click(byId(id), { force: true });
  }
  assert.equal(await page.locator('dialog').count(), 0);
  assert.equal((await api.get('/webhooks/dead')).body.data.length, 1);
  assert.equal(receiver.received.length, 1);
  await checkPage(page, 'webhooks-read');
});

test('an unreachable node is named until it responds, and the page recovers from a restart of its server', async (t) => {
  const [held, asked] = ['held', 'asked'].map((name) => `${name}-${process.pid}@localhost`);
  const dist = { SVC_DIST_ENABLED: 'true', SVC_DIST_NODES: held };
  const holder = await startNodeProcess(t, { ...dist, SVC_DIST_NODE_NAME: held });
  const first = await startNodeProcess(t, { ...dist, SVC_DIST_NODE_NAME: asked, ...(await stablePort()) });
  const { page } = await openPart(await launch(t), { url: first.url, token: apiToken, hash });
  const ofHeld = page.locator(`${byId('webhook-node-row')}[data-node="${held}"]`);
  await ofHeld.waitFor();
  // After ten seconds without a response the node is lost and no longer reported, so it is stopped just before the request, and the next
  // request is held until the alert is checked.
  const requests = await holdRequests(page, /\/webhooks$/);
  await requests.arrived();
  holder.kill('SIGSTOP');
  t.after(() => holder.kill('SIGCONT'));
  await waitUntilStopped(holder.pid);
  requests.pass();
  await page.locator(byId('incomplete')).filter({ hasText: held }).waitFor();
  holder.kill('SIGCONT');
  await requests.end();
  await page.locator(byId('incomplete')).waitFor({ state: 'detached' });
  await ofHeld.waitFor();

  first.kill('SIGKILL');
  await first.ended;
  await page.waitForSelector(`${byId('status')}[data-state="lost"]`);
  await startNodeProcess(t, { ...dist, SVC_DIST_NODE_NAME: asked, SVC_PORT: String(first.port) });
  await page.waitForSelector(`${byId('status')}[data-state="live"]`, { timeout: 60_000 });
  await ofHeld.waitFor();
});
