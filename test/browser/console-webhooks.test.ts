// The console's part Webhooks: receivers that are behind and why, dead letters that are looked at and sent again, and what it says in trouble.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { apiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { accept, reject, startReceiver } from '../kit/network/webhook-receiver.ts';
import { stablePort, startNodeProcess } from '../kit/processes/node-process.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { byId, launch, seeText, tabTo } from './console-kit.ts';
import { holdQuestions, lookAt, openPart, standsStill, tokenFile } from './console-views.ts';

const hash = '#/webhooks';
const row = (name: string, value: string) => `${byId(`${name}-row`)}[data-${name === 'letter' ? 'event' : name}="${value}"]`;

/** What was refused for a minute is tried again after one more, or two: each pause is twice the one before. */
const retried = { timeout: 180_000 };
const options = { timeout: 360_000 };

type Letter = { reason: string; event: { id: string; type: string; roomId: string } };

/** Dead letters once there are so many. */
async function waitForLetters(api: ReturnType<typeof apiClient>, count: number): Promise<Letter[]> {
  let letters: Letter[] = [];
  const look = async () => {
    letters = (await api.get('/webhooks/dead')).body.data;
    return letters.length >= count;
  };
  await eventually(() => `${letters.length} of ${count} dead letters`, look);
  return letters;
}

test('receivers that refuse, do not answer and are up to date are told apart, without what follows their host', options, async (t) => {
  const good = await startReceiver(t);
  const refusing = await startReceiver(t, reject(500));
  const silent = await startReceiver(t, (response) => void response.destroy());
  const key = 'key-of-a-receiver-in-its-address';
  const node = await startNode(t, { SVC_WEBHOOK_URLS: `${good.url}?key=${key}` });
  const api = apiClient(node.url, apiToken);
  const { page, complaints } = await openPart(await launch(t), { url: node.url, token: apiToken, hash });
  await api.post('/room', { roomId: 'refused', webhookUrl: `${refusing.url}?key=${key}` });
  await api.post('/room', { roomId: 'unheard', webhookUrl: `${silent.url}?key=${key}` });
  const of = (port: number) => page.locator(row('receiver', `http://127.0.0.1:${port}`));
  await of(refusing.port).filter({ hasText: 'the receiver answered 500' }).filter({ hasText: 'refuses' }).waitFor();
  await of(silent.port).filter({ hasText: 'does not answer' }).filter({ hasText: 'socket hang up' }).waitFor();
  await of(good.port).filter({ hasText: 'up to date' }).waitFor();
  await seeText(page, 'facts', '2 events wait');
  assert.ok(!(await page.content()).includes(key));
  const titles = await page.getByRole('table', { name: 'Receivers' }).getByRole('columnheader').allTextContents();
  assert.deepEqual(titles, ['Receiver', 'State', 'Waiting', 'Of rooms', 'Last error', 'Node']);
  await lookAt(page, 'webhooks-receivers');

  refusing.answer(accept);
  silent.answer(accept);
  await page.locator(byId('facts')).filter({ hasText: 'Nothing waits' }).waitFor(retried);
  await of(refusing.port).waitFor({ state: 'detached' });
  await of(good.port).waitFor();
  assert.deepEqual(complaints, []);
});

test('dead letters are found, looked at and sent again with the keyboard alone', async (t) => {
  const receiver = await startReceiver(t, reject(410));
  const node = await startNode(t);
  const api = apiClient(node.url, apiToken);
  for (const roomId of ['one', 'two', 'three']) await api.post('/room', { roomId, webhookUrl: receiver.url });
  const letters = await waitForLetters(api, 3);
  receiver.answer(accept);
  const { page, complaints } = await openPart(await launch(t), { url: node.url, token: apiToken, hash: '#/' });
  await tabTo(page, 'nav-webhooks');
  await page.keyboard.press('Enter');
  await page.waitForSelector(byId('letter-row'));
  assert.equal(await page.locator(byId('letter-row')).count(), 3);
  await lookAt(page, 'webhooks-letters');

  await tabTo(page, 'letter-room');
  await page.keyboard.type('two');
  // The list is away while that of the room is asked for.
  await page.locator(byId('letter-row')).filter({ hasText: 'one' }).waitFor({ state: 'detached' });
  await seeText(page, 'letter-row', 'two');
  await tabTo(page, 'look');
  await page.keyboard.press('Enter');
  await seeText(page, 'letter-reason', 'Given up after 1 try: the receiver answered 410.');
  const two = letters.find(({ event }) => event.roomId === 'two')?.event;
  assert.deepEqual(JSON.parse((await page.textContent(byId('letter-event'))) ?? ''), two);
  await lookAt(page, 'webhooks-letter');
  await tabTo(page, 'letter-replay');
  await page.keyboard.press('Enter');
  await seeText(page, 'replayed', '1 event is sent again.');
  await receiver.untilTrue((received) => received.filter(({ id }) => id === two?.id).length >= 2);
  await seeText(page, 'no-letters', 'No dead letters of this room');

  await page.fill(byId('letter-room'), '');
  await seeText(page, 'letter-row', 'one');
  await page.focus(byId('letter-room'));
  await tabTo(page, 'replay-all');
  await page.keyboard.press('Enter');
  await seeText(page, 'replay-what', 'Every dead letter of every node');
  await lookAt(page, 'webhooks-replay');
  await tabTo(page, 'confirm');
  await page.keyboard.press('Enter');
  await seeText(page, 'replayed', '2 events are sent again.');
  await seeText(page, 'no-letters', 'No dead letters');
  await receiver.untilTrue((received) => new Set(received.map(({ id }) => id)).size === 3 && received.length >= 6);
  assert.deepEqual((await api.get('/webhooks/dead')).body.data, []);
  assert.deepEqual(complaints, []);
});

test('what people call themselves is shown as it is in a dead letter, and does nothing', async (t) => {
  const receiver = await startReceiver(t, reject(410));
  const node = await startNode(t);
  const api = apiClient(node.url, apiToken);
  await api.post('/room', { roomId: 'hostile', webhookUrl: receiver.url });
  const metadata = {
    name: `<img src=x onerror="document.title='taken'">\u202Eesrever\u2066 \u{1F468}\u200D\u{1F680}`,
    more: 'x'.repeat(15_000),
  };
  await api.post('/room/hostile/peer', { type: 'webrtc', peerId: 'p', metadata });
  await waitForLetters(api, 2);
  const { page, complaints } = await openPart(await launch(t), { url: node.url, token: apiToken, hash });
  await page.locator(byId('look')).filter({ hasText: 'PeerAdded' }).click();
  await seeText(page, 'letter-event', 'onerror');
  const shown = (await page.textContent(byId('letter-event'))) ?? '';
  assert.ok(shown.includes('\\u202eesrever'), 'marks that turn text are written out');
  assert.deepEqual(JSON.parse(shown).metadata, metadata);
  assert.equal(await page.locator('.letter-event img').count(), 0);
  await lookAt(page, 'webhooks-hostile');
  assert.equal(await page.title(), 'Webhooks · Mediarooms');
  assert.deepEqual(complaints, []);
});

test('with a token that may only read everything is seen and nothing is sent', async (t) => {
  const receiver = await startReceiver(t, reject(410));
  const readToken = 'read-token-of-the-console-in-a-test';
  const node = await startNode(t, { SVC_SERVER_API_READ_TOKEN: readToken });
  const api = apiClient(node.url, apiToken);
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
  await lookAt(page, 'webhooks-read');
});

test('a node that does not answer is named, and the part recovers when it does, and when its own server was away', async (t) => {
  const [held, asked] = ['held', 'asked'].map((name) => `${name}-${process.pid}@localhost`);
  const dist = { SVC_DIST_ENABLED: 'true', SVC_DIST_NODES: held };
  const holder = await startNodeProcess(t, { ...dist, SVC_DIST_NODE_NAME: held });
  const first = await startNodeProcess(t, { ...dist, SVC_DIST_NODE_NAME: asked, ...(await stablePort()) });
  const { page } = await openPart(await launch(t), { url: first.url, token: apiToken, hash });
  const ofHeld = page.locator(`${byId('webhook-node-row')}[data-node="${held}"]`);
  await ofHeld.waitFor();
  // After ten seconds of silence the node is lost, and missing no more: it is silent when it is asked, and not asked again before that is seen.
  const questions = await holdQuestions(page, /\/webhooks$/);
  await questions.asked();
  holder.kill('SIGSTOP');
  t.after(() => holder.kill('SIGCONT'));
  await standsStill(holder.pid);
  questions.pass();
  await page.locator(byId('incomplete')).filter({ hasText: held }).waitFor();
  holder.kill('SIGCONT');
  await questions.end();
  await page.locator(byId('incomplete')).waitFor({ state: 'detached' });
  await ofHeld.waitFor();

  first.kill('SIGKILL');
  await first.ended;
  await page.waitForSelector(`${byId('status')}[data-state="lost"]`);
  await startNodeProcess(t, { ...dist, SVC_DIST_NODE_NAME: asked, SVC_PORT: String(first.port) });
  await page.waitForSelector(`${byId('status')}[data-state="live"]`, { timeout: 60_000 });
  await ofHeld.waitFor();
});

test('a token that is revoked leads to the login, and back to the part', async (t: TestContext) => {
  const tokens = await tokenFile(t, 'first-token-of-the-console-in-a-test');
  const node = await startNode(t, { SVC_SERVER_API_TOKEN: undefined, SVC_CONFIG_FILES: tokens.path });
  const { page } = await openPart(await launch(t), { url: node.url, token: 'first-token-of-the-console-in-a-test', hash });
  await page.waitForSelector(byId('no-receivers'));
  await tokens.replace('second-token-of-the-console-in-a-test');
  await page.waitForSelector(byId('login-token'), { timeout: 60_000 });
  await page.getByText('no longer accepts').waitFor();
  await page.fill(byId('login-token'), 'second-token-of-the-console-in-a-test');
  await page.click(byId('login-submit'));
  await page.waitForSelector(byId('no-receivers'));
});
