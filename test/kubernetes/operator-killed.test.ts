// Two operators, of which the leader is killed repeatedly while Rooms are created, changed and deleted: the declared state is reached.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect, isDeepStrictEqual } from 'node:util';
import { eventually } from '../kit/eventually.ts';
import { isAvailable, isReady, smallCluster, startClusterFixture } from '../kit/kube/cluster-fixture.ts';
import { type OperatorProcess, startOperator } from '../kit/kube/operator-process.ts';
import { type KubeJson, room } from '../kit/kube/read-objects.ts';
import { seededRandom } from '../kit/seeded-random.ts';

const kills = 20;
const seed = Number(process.env.TEST_SEED ?? 4711);
const random = seededRandom(seed);
/** A random integer below `count`. */
const any = (count: number) => Math.floor(random() * count);

/** @param leaseMs time after which the other operator takes over */
const options = (leaseMs: number) => ({ env: { OPERATOR_LEASE_DURATION: String(leaseMs), OPERATOR_LOG_LEVEL: 'info' } });
const fixture = await startClusterFixture({ after }, { spec: { replicas: 2 }, operator: options(5_000) });
/** Lease duration of new operators: short while they are killed, so that the next one leads soon. */
let leaseMs = 1_000;
const { client } = fixture.server;
const lease = '/apis/coordination.k8s.io/v1/namespaces/default/leases/mediarooms-operator';
const rooms = '/apis/mediarooms.dev/v1alpha2/namespaces/default/rooms';
let operators: OperatorProcess[] = [fixture.operator];

type Spec = { maxPeers: number; peers: { name: string }[] };
/** The declared Rooms. */
const declared = new Map<string, Spec>();
let made = 0;

function anySpec(): Spec {
  return { maxPeers: 2 + any(50), peers: ['anna', 'bert'].slice(0, any(3)).map((name) => ({ name })) };
}

async function declare(name: string, spec: Spec): Promise<void> {
  declared.set(name, spec);
  const path = `${rooms}/${name}?fieldManager=test&force=true`;
  const { status, body } = await client.call(path, {
    method: 'PATCH',
    contentType: 'application/apply-patch+yaml',
    body: room(name, spec),
  });
  assert.ok(status < 300, JSON.stringify(body));
}

let lastChange = Promise.resolve();
/** Adds, changes or deletes one Room; sequentially, because a change that overtakes a deletion would recreate the Room. */
function changeSomething(): Promise<void> {
  lastChange = lastChange.then(changeNow);
  return lastChange;
}

async function changeNow(): Promise<void> {
  const names = [...declared.keys()];
  const name = names[any(names.length)];
  const what = any(4);
  if (name === undefined || (what < 2 && names.length < 20)) await declare(`room-${++made}`, anySpec());
  else if (what === 2) await declare(name, anySpec());
  else {
    declared.delete(name);
    assert.equal((await client.call(`${rooms}/${name}`, { method: 'DELETE' })).status, 200);
  }
}

/** Keeps two operators running, also if one lost its Lease on a slow machine and ended. */
function keepTwo(): void {
  operators = operators.filter(({ running }) => running);
  while (operators.length < 2) operators.push(startOperator({ after }, fixture.server, options(leaseMs)));
}

async function working(): Promise<OperatorProcess> {
  const check = async () => {
    keepTwo();
    const { holderIdentity } = ((await client.call(lease)).body as KubeJson).spec;
    const holder = operators.find(({ identity }) => identity === holderIdentity);
    return holder?.running && holder.output.includes('started leading') ? holder : undefined;
  };
  return eventually(() => `one is the leader:\n${operators.map(({ output }) => output.slice(-2_000)).join('\n')}`, check, { every: 20 });
}

async function untilAsDeclared(): Promise<void> {
  const isAsDeclared = (room: KubeJson) => declared.has(room.metadata.name) && isReady(room);
  let items: KubeJson[] = [];
  const check = async () => {
    // On a busy machine an operator may lose its short Lease and end.
    keepTwo();
    ({ items } = (await client.call(rooms)).body as { items: KubeJson[] });
    return items.length === declared.size && items.every(isAsDeclared);
  };
  const state = () => {
    const wrong = items.filter((room) => !isAsDeclared(room)).map(({ metadata, status }) => ({ metadata, status }));
    return `${items.length} of ${declared.size} Rooms, these not as declared: ${JSON.stringify(wrong, null, 1)}\n${fixture.operator.output}`;
  };
  await eventually(state, check, { every: 200 });
}

/** Rooms of the whole cluster as reported by one node, and the number of its rooms. */
async function roomsAt(pod: string): Promise<{ rooms: KubeJson[]; own: number }> {
  const api = await fixture.api(pod);
  // The other node may respond slowly, or a removed node may count as unreachable for a moment.
  const all = async () => {
    const { body } = await api.get('/room?limit=1000');
    return body.incomplete.length === 0 ? (body.data as KubeJson[]) : undefined;
  };
  return {
    rooms: await eventually(`${pod} lists the rooms of all nodes`, all, { every: 200 }),
    own: (await api.get('/health')).body.data.load.rooms,
  };
}

test(`after ${kills} kills of the leading operator at random times each declared Room exists exactly once`, {
  timeout: 280_000,
}, async (t) => {
  t.diagnostic(`TEST_SEED=${seed}`);
  const began = performance.now();
  for (let kill = 1; kill <= kills; kill += 1) {
    const victim = await working();
    // Pods are created and drained in the meantime too.
    if (kill === 6) await fixture.server.apply(smallCluster('media', { replicas: 3 }));
    if (kill === 13) await fixture.server.apply(smallCluster('media', { replicas: 2 }));
    const changes = Array.from({ length: 1 + any(4) }, () => any(600));
    const changing = Promise.all(changes.map((delay) => sleep(delay).then(changeSomething)));
    await sleep(any(800));
    victim.signal('SIGKILL');
    await Promise.all([victim.ended, changing]);
  }
  // A busy machine repeatedly loses short Leases, and then nothing would settle.
  leaseMs = 15_000;
  fixture.operator = await working();
  const killed = performance.now();
  await untilAsDeclared();
  await fixture.waitFor('mediaClusters', 'media', (cluster) => isAvailable(cluster) && cluster.status.replicas === 2, 60_000);
  await untilAsDeclared();
  t.diagnostic(
    `${made} Rooms created, ${declared.size} left; ${Math.round(killed - began)} ms, settled ${Math.round(performance.now() - killed)} ms later`,
  );

  // From the API server, because the runner may be notified of a deletion later than the operator.
  const pods = (await fixture.list('pods')).map(({ metadata }) => metadata.name as string);
  assert.equal(pods.length, 2, pods.join());
  const stored = new Map(((await client.call(rooms)).body as { items: KubeJson[] }).items.map((room) => [room.metadata.name, room]));
  const expected = [...declared].map(([name, { maxPeers, peers }]) => ({
    id: name,
    externalId: stored.get(name).metadata.uid,
    maxPeers,
    peers: peers.map((peer) => peer.name),
  }));
  const viewOf = ({ rooms }: { rooms: KubeJson[] }) =>
    rooms.map(({ id, externalId, config, peers }) => ({
      id,
      externalId,
      maxPeers: config.maxPeers,
      peers: peers.map((peer: { id: string }) => peer.id).sort(),
    }));
  let nodes: { rooms: KubeJson[]; own: number }[] = [];
  const areDeclared = async () => {
    nodes = await Promise.all(pods.map(roomsAt));
    // A room on two nodes would be listed once by most nodes, but counted twice.
    const own = nodes.reduce((sum, node) => sum + node.own, 0);
    return own === declared.size && nodes.every((node) => isDeepStrictEqual(byId(viewOf(node)), byId(expected)));
  };
  // A node without CPU time may execute a request of an ended operator late; the operator deletes such a room at its next listing.
  const state = () => `the rooms are ${inspect(byId(expected), { depth: 4 })}, and are ${inspect(nodes.map(viewOf), { depth: 4 })}`;
  await eventually(state, areDeclared, { every: 500 });
  const secrets = async () =>
    (await fixture.list('secrets'))
      .map(({ metadata }) => metadata.name as string)
      .filter((name) => name.endsWith('-peers'))
      .sort();
  const wanted = [...declared].flatMap(([name, { peers }]) => (peers.length > 0 ? [`${name}-peers`] : [])).sort();
  // Secrets of deleted Rooms are deleted later by the garbage collector.
  let there: string[] = [];
  const areThose = async () => {
    there = await secrets();
    return String(there) === String(wanted);
  };
  await eventually(() => `the Secrets are ${wanted}, and are ${there}`, areThose, { every: 100 });
  const services = (await fixture.list('services'))
    .map(({ metadata }) => metadata.name as string)
    .filter((name) => name.startsWith('media'));
  const ofPods = pods.flatMap((pod) => [pod, `${pod}-media`]);
  assert.deepEqual(services.sort(), ['media', 'media-nodes', ...ofPods].sort());
  const { spec } = (await client.call(lease)).body as KubeJson;
  assert.ok(spec.leaseTransitions >= kills, `${spec.leaseTransitions} transitions`);
});

function byId<T extends { id: string }>(views: readonly T[]): T[] {
  return views.toSorted((one, other) => (one.id < other.id ? -1 : 1));
}
