// Operators that start and end while Rooms change: the result is the declared state, without duplicate or orphaned rooms.
import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { startControlPlane } from '../kit/kube/control-plane.ts';
import { type KubeJson, room } from '../kit/kube/read-objects.ts';
import { RoomFixture } from '../kit/kube/room-fixture.ts';
import { type FaultyProxy, startFaultyProxy } from '../kit/network/faulty-proxy.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { seededRandom } from '../kit/seeded-random.ts';

const fixture = await RoomFixture.start({ after }, await startControlPlane({ after }));
const node = await startNode({ after }, { SVC_IP: '127.0.0.1' });
const { api, url: nodeUrl } = node;
await fixture.addCluster('media', [node]);

/** Names of Rooms and of rooms, each with its uid. */
async function both(namespace: string, prefix: string): Promise<{ declared: string[]; there: string[] }> {
  const { items } = await fixture.object(`/apis/mediarooms.dev/v1alpha2/namespaces/${namespace}/rooms`);
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
  await fixture.server.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'passing' } });
  await fixture.addCluster('media', [{ url: nodeUrl }], {}, 'passing');
  const operator = await fixture.startOperator();
  const names = Array.from({ length: 10 }, (_, index) => `passing-${index}`);
  await fixture.server.apply(names.map((name) => room(name, { peers: [{ name: 'ann' }] }, 'passing')));
  await Promise.all(names.map((name) => fixture.waitUntilReady(name, 'passing')));
  const { code, stderr } = await fixture.server.kubectl(['delete', 'namespace', 'passing', '--timeout=100s'], { timeoutMs: 120_000 });
  assert.equal(code, 0, stderr);
  const { body } = await api.get('/room');
  // If the MediaCluster was deleted first, its nodes end with their rooms.
  const left = body.data.filter(({ id }: KubeJson) => id.startsWith('passing-'));
  for (const { id } of left) await api.delete(`/room/${id}`);
  await operator.stop();
});

test('two concurrent operators create each room once', async () => {
  const operators = [await fixture.startOperator(), await fixture.startOperator()];
  const names = Array.from({ length: 20 }, (_, index) => `twin-${index}`);
  await fixture.server.apply(names.map((name) => room(name, { peers: [{ name: 'ann' }] })));
  await Promise.all(names.map((name) => fixture.waitUntilReady(name)));
  assert.equal((await settles('default', 'twin-')).length, 20);
  for (const name of names) {
    const { body } = await api.get(`/room/${name}`);
    assert.equal(body.data.peers.length, 1);
  }
  await fixture.server.kubectl(['delete', 'mroom', '--all', '--timeout=50s']);
  await settles('default', 'twin-');
  for (const each of operators) await each.stop();
});

/** A MediaCluster in a new namespace, whose node is reached through a proxy. */
async function proxiedCluster(t: TestContext, namespace: string): Promise<FaultyProxy> {
  const proxy = await startFaultyProxy(t, Number(new URL(nodeUrl).port));
  await fixture.server.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  await fixture.addCluster('media', [{ url: proxy.url }], {}, namespace);
  // A signature is valid for the address of the node only.
  const key = `${namespace}/media`;
  fixture.pods.set(key, fixture.pods.get(key)?.map((pod) => ({ ...pod, signed: false })) ?? []);
  return proxy;
}

test('a create request that outlives its operator leaves no orphaned room', async (t) => {
  const proxy = await proxiedCluster(t, 'outlived');
  const create = proxy.hold('POST', '/room');
  const first = await fixture.startOperator();
  await fixture.server.apply(room('outlived', {}, 'outlived'));
  await create.arrived;
  await first.stop();
  await fixture.server.kubectl(['delete', 'mroom', 'outlived', '--namespace=outlived', '--wait=false']);
  const second = await fixture.startOperator();
  const asked = () => proxy.asked.some(({ method, path }) => method === 'GET' && path === '/room/outlived');
  await eventually('the second operator has probed the room', asked);
  await create.release();
  assert.equal((await api.get('/room/outlived')).status, 200);
  await eventually('the Room is deleted', async () => (await fixture.room('outlived', 'outlived')) === undefined);
  assert.equal((await api.get('/room/outlived')).status, 404);
  await second.stop();
});

test('a repeated create request that outlives the deletion of its room leaves no orphaned room', async (t) => {
  const proxy = await proxiedCluster(t, 'repeated');
  const create = proxy.hold('POST', '/room');
  const first = await fixture.startOperator();
  await fixture.server.apply(room('repeated', {}, 'repeated'));
  await create.arrived;
  // The next request creates it.
  await fixture.waitUntilReady('repeated', 'repeated');
  await first.stop();
  const second = await fixture.startOperator();
  await fixture.server.kubectl(['delete', 'mroom', 'repeated', '--namespace=repeated', '--wait=false']);
  await eventually('the room is deleted', async () => (await api.get('/room/repeated')).status === 404);
  await create.release();
  assert.equal((await api.get('/room/repeated')).status, 200);
  await eventually('the Room is deleted', async () => (await fixture.room('repeated', 'repeated')) === undefined);
  assert.equal((await api.get('/room/repeated')).status, 404);
  await second.stop();
});

test('a room that appears after the deletion of its Room is deleted', async () => {
  const operator = await fixture.startOperator({ pollMs: 500 });
  await fixture.server.apply(room('late'));
  const { metadata } = await fixture.waitUntilReady('late');
  await fixture.server.kubectl(['delete', 'mroom', 'late', '--timeout=50s']);
  assert.equal((await api.post('/room', { roomId: 'late', externalId: metadata.uid })).status, 201);
  assert.equal((await api.post('/room', { roomId: 'foreign', externalId: 'of a backend' })).status, 201);
  await eventually('the room is deleted', async () => (await api.get('/room/late')).status === 404);
  assert.equal((await api.delete('/room/foreign')).status, 204);
  await operator.stop();
});

test('operators that end at any moment leave no orphaned rooms', async (t) => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9));
  t.diagnostic(`SEED=${seed}`);
  const random = seededRandom(seed);
  // A Room that is being deleted stays until an operator has led for 12 s, so by chance all others may end.
  await fixture.server.apply(room('churn-kept', { peers: [{ name: 'ann' }] }));
  for (let round = 0; round < 15; round += 1) {
    const operator = await fixture.startOperator();
    const name = () => `churn-${Math.floor(random() * 8)}`;
    const peers = Array.from({ length: Math.floor(random() * 4) }, (_, index) => ({ name: `p${index}` }));
    const changes = [
      fixture.server.apply(room(name(), { maxPeers: 10 + Math.floor(random() * 5), peers })),
      fixture.server.apply(room(name(), {})),
      fixture.server.kubectl(['delete', 'mroom', name(), '--wait=false', '--ignore-not-found']),
    ];
    await new Promise((resolve) => setTimeout(resolve, random() * 250));
    await operator.stop();
    await Promise.all(changes);
  }
  await fixture.startOperator();
  await settles('default', 'churn-');
  const { items } = await fixture.object('/apis/mediarooms.dev/v1alpha2/namespaces/default/rooms');
  assert.ok(items.some(({ metadata }: KubeJson) => metadata.name === 'churn-kept'));
  for (const { metadata, spec } of items) {
    await fixture.waitUntilReady(metadata.name);
    const { body } = await api.get(`/room/${metadata.name}`);
    assert.equal(body.data.config.maxPeers, spec.maxPeers ?? null);
    assert.deepEqual(body.data.peers.map(({ id }: KubeJson) => id).sort(), (spec.peers ?? []).map((peer: KubeJson) => peer.name).sort());
  }
});
