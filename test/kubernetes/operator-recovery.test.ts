// Recovery of Rooms and their peers from a failed Kubernetes node, with real browsers and nodes.
import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { blue, css, PagePeer, red } from '../browser/client-kit.ts';
import { type StartedBrowser, startBrowser } from '../kit/browser/browser.ts';
import { servePlainPage } from '../kit/browser/plain-page.ts';
import { isReady, startClusterFixture } from '../kit/kube/cluster-fixture.ts';

const fixture = await startClusterFixture({ after }, { spec: { replicas: 2 } });
await Promise.all([fixture.runner.waitForPod('media-0'), fixture.runner.waitForPod('media-1')]);

/** Joins with the credentials of the Secret of the Room through the Service, as with an Ingress. */
async function enter(t: TestContext, browser: StartedBrowser, room: string, peer: string): Promise<PagePeer> {
  const { [`${peer}.token`]: token = '', [`${peer}.url`]: nodeUrl = '' } = await fixture.secret(`${room}-peers`);
  assert.match(nodeUrl, /^ws:\/\/127\.[\d.]+:8080\/socket\/peer\/websocket$/);
  const url = `ws://${await fixture.runner.serviceAddress('default', 'media')}/socket/peer/websocket`;
  return PagePeer.join(await browser.newPage(await servePlainPage(t)), peer, { token, url });
}

async function tokensOf(room: string): Promise<string[]> {
  return Object.entries(await fixture.secret(`${room}-peers`)).flatMap(([key, value]) => (key.endsWith('.token') ? [value] : []));
}

test('peers with tokens of the Secret recover media within seconds of a Kubernetes node failure, without a reload', async (t) => {
  await fixture.makeRoom('class', { peers: [{ name: 'anna' }, { name: 'bert' }] });
  const browser = await startBrowser(t);
  const [anna, bert] = await Promise.all([enter(t, browser, 'class', 'anna'), enter(t, browser, 'class', 'bert')]);
  await Promise.all([anna.publish({ colour: css(red), tone: 440 }), bert.publish({ colour: css(blue), tone: 1000 })]);
  await Promise.all([anna.sees(bert, blue), bert.sees(anna, red), anna.hears(bert, 1000)]);
  const first = await fixture.waitFor('rooms', 'class', (room) => room.status.peers?.connected === 2);
  const tokens = await tokensOf('class');

  const pod = fixture.runner.pod(first.status.node);
  const host = pod.spec.nodeName ?? '';
  await fixture.runner.failHost(host);
  const failedAt = performance.now();
  await fixture.waitFor('nodes', host, (node) =>
    node.status.conditions.some((each: { type: string; status: string }) => each.type === 'Ready' && each.status !== 'True'),
  );
  const noticedAt = performance.now();
  const other = (room: { status: { node?: string; incarnation?: string } }) =>
    isReady(room) && room.status.incarnation !== first.status.incarnation;
  const after = await fixture.waitFor('rooms', 'class', other);
  const recoveredAt = performance.now();
  assert.notEqual(after.status.node, first.status.node);
  await Promise.all([anna.sees(bert, blue), bert.sees(anna, red), anna.hears(bert, 1000)]);
  t.diagnostic(
    `Kubernetes detected it after ${Math.round(noticedAt - failedAt)} ms; the Room was Ready ${Math.round(recoveredAt - noticedAt)} ms after that, ` +
      `video was back ${Math.round(performance.now() - noticedAt)} ms after that`,
  );
  assert.deepEqual(await tokensOf('class'), tokens);
  const pages = await Promise.all([anna, bert].map(({ page }) => page.evaluate(() => performance.getEntriesByType('navigation').length)));
  assert.deepEqual(pages, [1, 1]);
});

test('a Room whose room is deleted over REST is Finished and not recreated', async () => {
  const { status } = await fixture.makeRoom('over');
  const api = await fixture.api(status.node);
  assert.equal((await api.delete('/room/over')).status, 204);
  const room = await fixture.waitFor('rooms', 'over', (each) => each.status.phase === 'Finished');
  assert.equal(room.status.conditions.find((each: { type: string }) => each.type === 'Finished').status, 'True');
  assert.equal((await api.get('/room/over')).status, 404);
  await fixture.kubectl('delete', 'room', 'over', '--timeout=60s');
});
