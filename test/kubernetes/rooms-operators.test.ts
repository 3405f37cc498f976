// Operators that come and go while Rooms change: the end is always what is declared, no room twice and none left over.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type ApiClient, apiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { startControlPlane } from '../kit/kube/control-plane.ts';
import { type KubeJson, RoomFixture, room } from '../kit/kube/room-fixture.ts';
import { startFaultyProxy } from '../kit/network/faulty-proxy.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { seededRandom } from '../kit/seeded-random.ts';

const ends: (() => Promise<void>)[] = [];
const scope = { after: (end: () => Promise<void>) => void ends.push(end) };
let stage: RoomFixture;
let api: ApiClient;
let nodeUrl: string;

before(async () => {
  stage = await RoomFixture.start(scope, await startControlPlane(scope));
  const node = await startNode(scope as never, { SVC_IP: '127.0.0.1' });
  api = apiClient(node.url, node.token);
  nodeUrl = node.url;
  await stage.addCluster('media', [node]);
});
after(async () => {
  for (const end of ends.reverse()) await end();
});

/** Names of Rooms and of rooms, each by its uid. */
async function both(namespace: string, prefix: string): Promise<{ declared: string[]; there: string[] }> {
  const { items } = await stage.object(`/apis/mediarooms.dev/v1alpha1/namespaces/${namespace}/rooms`);
  const { body } = await api.get('/room');
  return {
    // One that is being deleted is neither declared any more nor gone.
    declared: items.map(({ metadata }: KubeJson) => `${metadata.name} ${metadata.deletionTimestamp ? 'going' : metadata.uid}`).sort(),
    there: body.data
      .filter(({ id }: KubeJson) => id.startsWith(prefix))
      .map((each: KubeJson) => `${each.id} ${each.externalId}`)
      .sort(),
  };
}

async function settles(namespace: string, prefix: string): Promise<string[]> {
  let last: unknown;
  return eventually(
    () => `what is there is what is declared: ${JSON.stringify(last)}`,
    async () => {
      const { declared, there } = await both(namespace, prefix);
      last = { declared, there };
      return JSON.stringify(declared) === JSON.stringify(there) ? there : undefined;
    },
  );
}

test('A namespace that is deleted takes its rooms with it, whatever goes first', async () => {
  await stage.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'passing' } });
  await stage.addCluster('media', [{ url: nodeUrl }], {}, 'passing');
  const operator = await stage.startOperator();
  const names = Array.from({ length: 10 }, (_, index) => `passing-${index}`);
  await stage.apply(names.map((name) => room(name, { peers: [{ name: 'ann' }] }, 'passing')));
  await Promise.all(names.map((name) => stage.waitUntilReady(name, 'passing')));
  const { code, stderr } = await stage.server.kubectl(['delete', 'namespace', 'passing', '--timeout=100s'], { timeoutMs: 120_000 });
  assert.equal(code, 0, stderr);
  const { body } = await api.get('/room');
  // Where the MediaCluster went first, nobody can be asked any more: its nodes end, and their rooms with them.
  const left = body.data.filter(({ id }: KubeJson) => id.startsWith('passing-'));
  for (const { id } of left) await api.delete(`/room/${id}`);
  await operator.stop();
});

test('Two operators at once make each room once', async () => {
  const operators = [await stage.startOperator(), await stage.startOperator()];
  const names = Array.from({ length: 20 }, (_, index) => `twin-${index}`);
  await stage.apply(names.map((name) => room(name, { peers: [{ name: 'ann' }] })));
  await Promise.all(names.map((name) => stage.waitUntilReady(name)));
  assert.equal((await settles('default', 'twin-')).length, 20);
  for (const name of names) {
    const { body } = await api.get(`/room/${name}`);
    assert.equal(body.data.peers.length, 1);
  }
  await stage.server.kubectl(['delete', 'mroom', '--all', '--timeout=50s']);
  await settles('default', 'twin-');
  for (const each of operators) await each.stop();
});

test('A request that outlives its operator leaves no room behind', async (t) => {
  const proxy = await startFaultyProxy(t, Number(new URL(nodeUrl).port));
  await stage.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'outlived' } });
  await stage.addCluster('media', [{ url: proxy.url }], {}, 'outlived');
  // A signature is for the node's own address.
  stage.pods.set('outlived/media', stage.pods.get('outlived/media')?.map((pod) => ({ ...pod, signed: false })) ?? []);
  const create = proxy.hold('POST', '/room');
  const first = await stage.startOperator();
  await stage.apply(room('outlived', {}, 'outlived'));
  await create.arrived;
  await first.stop();
  await stage.server.kubectl(['delete', 'mroom', 'outlived', '--namespace=outlived', '--wait=false']);
  const second = await stage.startOperator();
  const asked = () => proxy.asked.some(({ method, path }) => method === 'GET' && path === '/room/outlived');
  await eventually('the second operator has looked for the room', asked);
  await create.release();
  assert.equal((await api.get('/room/outlived')).status, 200);
  await eventually('the Room is gone', async () => (await stage.room('outlived', 'outlived')) === undefined);
  assert.equal((await api.get('/room/outlived')).status, 404);
  await second.stop();
});

test('Operators that end at any moment leave nothing behind', async (t) => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9));
  t.diagnostic(`SEED=${seed}`);
  const random = seededRandom(seed);
  for (let round = 0; round < 15; round += 1) {
    const operator = await stage.startOperator();
    const name = () => `churn-${Math.floor(random() * 8)}`;
    const peers = Array.from({ length: Math.floor(random() * 4) }, (_, index) => ({ name: `p${index}` }));
    const changes = [
      stage.apply(room(name(), { maxPeers: 10 + Math.floor(random() * 5), peers })),
      stage.apply(room(name(), {})),
      stage.server.kubectl(['delete', 'mroom', name(), '--wait=false', '--ignore-not-found']),
    ];
    await new Promise((resolve) => setTimeout(resolve, random() * 250));
    await operator.stop();
    await Promise.all(changes);
  }
  await stage.startOperator();
  await settles('default', 'churn-');
  const { items } = await stage.object('/apis/mediarooms.dev/v1alpha1/namespaces/default/rooms');
  assert.ok(items.length > 0);
  for (const { metadata, spec } of items) {
    await stage.waitUntilReady(metadata.name);
    const { body } = await api.get(`/room/${metadata.name}`);
    assert.equal(body.data.config.maxPeers, spec.maxPeers ?? null);
    assert.deepEqual(body.data.peers.map(({ id }: KubeJson) => id).sort(), (spec.peers ?? []).map((peer: KubeJson) => peer.name).sort());
  }
});
