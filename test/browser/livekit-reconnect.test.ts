// LiveKit's unmodified client in Chromium through a drain, the loss of a node and of the network: it comes back by itself, with media.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { eventuallyIn, startBrowser } from '../kit/browser/browser.ts';
import { servePlainPage } from '../kit/browser/plain-page.ts';
import { eventually } from '../kit/eventually.ts';
import { freePort } from '../kit/network/free-ports.ts';
import { makeNamespace, mayMakeNamespaces } from '../kit/network/network-namespace.ts';
import { type NodeProcess, startNodeProcess } from '../kit/processes/node-process.ts';
import { type NodeAccess, startNode } from '../kit/processes/start-node.ts';
import { assertPrompt } from '../kit/promised-time.ts';
import { blue, type ClientFixture, css, red } from './client-kit.ts';
import { LiveKitPeer, livekitEnvironment } from './livekit-kit.ts';

/** Milliseconds from the end of a cut or the loss of a node to media. */
const goal = 10_000;

async function clusterHas({ api }: Pick<NodeAccess, 'api'>, nodes: number): Promise<void> {
  const known = async () => (await api.get('/health')).body.data.distribution.nodesInCluster;
  await eventually(`${nodes} nodes in the cluster`, async () => (await known()) === nodes);
}

/** Ada with video and audio, and Bob with video, over a node that does not own their room. */
async function startCall(
  t: TestContext,
): Promise<{ lost: NodeProcess; fixture: ClientFixture; flows: () => Promise<unknown>; peers: LiveKitPeer[] }> {
  const dist = (name: string) => ({
    ...livekitEnvironment,
    SVC_DIST_ENABLED: 'true',
    SVC_DIST_NODE_NAME: `${name}${process.pid}@localhost`,
    SVC_DIST_NODES: `lost${process.pid}@localhost`,
    SVC_SECRET_KEY_BASE: 'the same on all nodes, so that tokens stay good',
  });
  const lost = await startNodeProcess(t, dist('lost'));
  // The only node yet.
  const roomId: string = (await lost.api.post('/room', {})).body.data.room.id;
  const node = await startNode(t, dist('stays'));
  for (const each of [node, lost]) await clusterHas(each, 2);
  const pageUrl = await servePlainPage(t, '127.0.0.1', undefined, 'livekit-page.ts');
  const fixture: ClientFixture = { node, browser: await startBrowser(t, { shared: true }), pageUrl, roomId };
  const { peers, flows } = await call(fixture);
  return { lost, fixture, peers, flows };
}

async function call(fixture: ClientFixture, url = fixture.node.url): Promise<{ peers: LiveKitPeer[]; flows: () => Promise<unknown> }> {
  const token = { video: { roomCreate: true } };
  const [ada, bob] = [await LiveKitPeer.join(fixture, 'ada', { token, url }), await LiveKitPeer.join(fixture, 'bob', { token, url })];
  await ada.publish({ colour: css(red), tone: 440 });
  await bob.publish({ colour: css(blue) });
  const flows = () => Promise.all([ada.sees(bob, blue), bob.sees(ada, red), bob.hears(ada, 440)]);
  await flows();
  return { peers: [ada, bob], flows };
}

/** Resolves when the client joined again. */
async function joinsAgain({ page }: LiveKitPeer): Promise<void> {
  await eventuallyIn(page, () => (livekit.rooms.main?.notes.filter(({ name }) => name === 'connected').length ?? 0) > 1);
}

async function neverLeft(peers: readonly LiveKitPeer[]): Promise<void> {
  for (const peer of peers) assert.deepEqual(await peer.notes('reason'), []);
}

test('clients whose room is drained join again, and their media continues in the recreated room', async (t) => {
  const { lost, fixture, peers, flows } = await startCall(t);
  const { api } = fixture.node;
  const nodes: { name: string; address: string }[] = (await api.get('/cluster/nodes')).body.data;
  const name = nodes.find(({ address }) => address.endsWith(`:${lost.port}`))?.name ?? '';
  assert.equal((await api.post(`/cluster/nodes/${encodeURIComponent(name)}/drain`, { deadline: 1 })).status, 202);
  await Promise.all(peers.map(joinsAgain));
  await flows();
  assert.equal((await api.get(`/room/${fixture.roomId}`)).body.data.peers.length, 2);
  await neverLeft(peers);
});

test('clients whose node is killed join again, and their media continues in the recreated room', async (t) => {
  const { lost, peers, flows } = await startCall(t);
  lost.kill('SIGKILL');
  await lost.ended;
  const since = performance.now();
  await Promise.all(peers.map(joinsAgain));
  await flows();
  const back = performance.now() - since;
  t.diagnostic(`audio and video ${Math.round(back)} ms after the loss`);
  assertPrompt('audio and video', back, { promised: goal });
  await neverLeft(peers);
});

const withNetwork = { skip: mayMakeNamespaces ? false : 'network namespaces need root' };

test('clients without a network for five seconds have their media again after it', withNetwork, async (t) => {
  const machine = await makeNamespace(t);
  const port = await freePort(machine.here);
  const host = `${machine.hereName}:${port}`;
  const node = await startNode(t, {
    ...livekitEnvironment,
    SVC_IP: machine.here,
    SVC_PORT: String(port),
    SVC_HOST: host,
    SVC_WEBRTC_TURN_LISTEN_IP: machine.here,
  });
  const pageUrl = (await servePlainPage(t, machine.here, undefined, 'livekit-page.ts')).replace(machine.here, machine.hereName);
  const browser = await startBrowser(t, { args: [machine.nameFlag], wrap: machine.wrap });
  const { room } = (await node.api.post('/room', {})).body.data;
  const fixture: ClientFixture = { node, browser, pageUrl, roomId: room.id };
  const { peers, flows } = await call(fixture, `http://${host}`);
  await machine.setLink(false);
  const [ada] = peers;
  await eventuallyIn((ada as LiveKitPeer).page, async () => (await livekit.rooms.main?.frameOf('bob')) === undefined);
  await wait(5_000);
  await machine.setLink(true);
  const since = performance.now();
  await flows();
  t.diagnostic(`audio and video ${Math.round(performance.now() - since)} ms after the cut`);
  await neverLeft(peers);
});
