// Calls through a node that does not own the room: signaling is proxied to the owning node, media is direct, and the proxy may be killed.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { apiClient } from '../kit/answers/api-client.ts';
import { startBrowser } from '../kit/browser/browser.ts';
import { servePlainPage } from '../kit/browser/plain-page.ts';
import { eventually } from '../kit/eventually.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { startNodeProcess } from '../kit/processes/node-process.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { assertPrompt } from '../kit/promised-time.ts';
import { blue, type ClientFixture, css, enter, red } from './client-kit.ts';

const dist = (name: string) => ({
  SVC_DIST_ENABLED: 'true',
  SVC_DIST_NODE_NAME: `${name}${process.pid}@localhost`,
  SVC_DIST_NODES: `owner${process.pid}@localhost`,
});

async function clusterOf(url: string, count: number): Promise<void> {
  const api = apiClient(url, apiToken);
  const known = async () => (await api.get('/health')).body.data.distribution.nodesInCluster;
  await eventually(`${count} nodes in the cluster`, async () => (await known()) === count);
}

async function startClientFixture(
  t: TestContext,
): Promise<{ fixture: ClientFixture; wrong: Awaited<ReturnType<typeof startNodeProcess>>; third: string }> {
  const node = await startNode(t, dist('owner'));
  const wrong = await startNodeProcess(t, dist('wrong'));
  const other = await startNode(t, dist('other'));
  for (const { url } of [node, wrong, other]) await clusterOf(url, 3);
  const pageUrl = await servePlainPage(t);
  const browser = await startBrowser(t);
  // Created on the owner directly, independent of load.
  const { room } = await node.node.parts.rooms.createRoom({});
  return { fixture: { node, browser, pageUrl, roomId: room.id }, wrong, third: other.peerSocketUrl };
}

test('sessions through a proxying node resume through another one after it is killed, and media continues', async (t) => {
  const { fixture, wrong, third } = await startClientFixture(t);
  const options = { fallbackUrls: [third] };
  const [first, second] = await Promise.all([enter(fixture, 'first', options, wrong.port), enter(fixture, 'second', options, wrong.port)]);
  await Promise.all([first.publish({ colour: css(red), tone: 440 }), second.publish({ colour: css(blue) })]);
  await Promise.all([first.sees(second, blue), second.sees(first, red), second.hears(first, 440)]);

  const events = await PeerSocket.enter(third.replace('peer', 'server'), apiToken);
  t.after(() => events.cut());
  await events.request('subscribe', { events: 'all' });
  for (const { page } of [first, second]) await page.evaluate(() => kit.rooms.main?.gaps.clear());
  const killedAt = await Promise.all([first.now(), second.now()]);
  wrong.kill('SIGKILL');
  await wrong.ended;
  await Promise.all([first.waitForNote('reconnecting', killedAt[0]), second.waitForNote('reconnecting', killedAt[1])]);
  await Promise.all([first.waitForNote('joined', killedAt[0]), second.waitForNote('joined', killedAt[1])]);
  await Promise.all([first.sees(second, blue), second.sees(first, red), second.hears(first, 440)]);
  for (const peer of [first, second]) {
    assert.deepEqual(await peer.notes('trackUnsubscribed'), [], 'the session is the same');
    const gaps = await peer.page.evaluate(() => [...(kit.rooms.main?.gaps.values() ?? [])]);
    t.diagnostic(`the longest time between two frames was ${Math.round(Math.max(...gaps))} ms`);
    assertPrompt('the next frame', Math.max(...gaps), { promised: 1_000 });
  }
  await first.page.evaluate(() => kit.rooms.main?.room.sendData('chat', 'through the third'));
  assert.equal(((await second.waitForNote('data')).detail as { payload: string }).payload, 'through the third');
  assert.deepEqual(
    events.events('roomEvent').filter(({ data }) => data.type === 'PeerDisconnected'),
    [],
  );
  await clusterOf(fixture.node.url, 2);
});
