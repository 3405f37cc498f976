// Operators that start and end while Rooms change: the result is the declared state, without duplicate or orphaned rooms.
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

/** Names of Rooms and of rooms, each with its uid. */
async function both(namespace: string, prefix: string): Promise<{ declared: string[]; there: string[] }> {
  const { items } = await stage.object(`/apis/mediarooms.dev/v1alpha2/namespaces/${namespace}/rooms`);
  const { body } = await api.get('/room');
  return {
    // A Room being deleted is neither declared nor deleted yet.
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
    () => `the rooms match the declared ones: ${JSON.stringify(last)}`,
    async () => {
      const { declared, there } = await both(namespace, prefix);
      last = { declared, there };
      return JSON.stringify(declared) === JSON.stringify(there) ? there : undefined;
    },
  );
}

test('deleting a namespace deletes its rooms, in whatever order', async () => {
  await stage.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'passing' } });
  await stage.addCluster('media', [{ url: nodeUrl }], {}, 'passing');
  const operator = await stage.startOperator();
  const names = Array.from({ length: 10 }, (_, index) => `passing-${index}`);
  await stage.apply(names.map((name) => room(name, { peers: [{ name: 'ann' }] }, 'passing')));
  await Promise.all(names.map((name) => stage.waitUntilReady(name, 'passing')));
  const { code, stderr } = await stage.server.kubectl(['delete', 'namespace', 'passing', '--timeout=100s'], { timeoutMs: 120_000 });
  assert.equal(code, 0, stderr);
  const { body } = await api.get('/room');
  // If the MediaCluster was deleted first, its nodes end with their rooms.
  const left = body.data.filter(({ id }: KubeJson) => id.startsWith('passing-'));
  for (const { id } of left) await api.delete(`/room/${id}`);
  await operator.stop();
});

test('two concurrent operators create each room once', async () => {
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

test('a create request that outlives its operator leaves no orphaned room', async (t) => {
  const proxy = await startFaultyProxy(t, Number(new URL(nodeUrl).port));
  await stage.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'outlived' } });
  await stage.addCluster('media', [{ url: proxy.url }], {}, 'outlived');
  // A signature is valid for the address of the node only.
  stage.pods.set('outlived/media', stage.pods.get('outlived/media')?.map((pod) => ({ ...pod, signed: false })) ?? []);
  const create = proxy.hold('POST', '/room');
  const first = await stage.startOperator();
  await stage.apply(room('outlived', {}, 'outlived'));
  await create.arrived;
  await first.stop();
  await stage.server.kubectl(['delete', 'mroom', 'outlived', '--namespace=outlived', '--wait=false']);
  const second = await stage.startOperator();
  const asked = () => proxy.asked.some(({ method, path }) => method === 'GET' && path === '/room/outlived');
  await eventually('the second operator has probed the room', asked);
  await create.release();
  assert.equal((await api.get('/room/outlived')).status, 200);
  await eventually('the Room is deleted', async () => (await stage.room('outlived', 'outlived')) === undefined);
  assert.equal((await api.get('/room/outlived')).status, 404);
  await second.stop();
});

test('operators that end at any moment leave no orphaned rooms', async (t) => {
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
  const { items } = await stage.object('/apis/mediarooms.dev/v1alpha2/namespaces/default/rooms');
  assert.ok(items.length > 0);
  for (const { metadata, spec } of items) {
    await stage.waitUntilReady(metadata.name);
    const { body } = await api.get(`/room/${metadata.name}`);
    assert.equal(body.data.config.maxPeers, spec.maxPeers ?? null);
    assert.deepEqual(body.data.peers.map(({ id }: KubeJson) => id).sort(), (spec.peers ?? []).map((peer: KubeJson) => peer.name).sort());
  }
});
