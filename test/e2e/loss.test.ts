// Loss: drained and failed Kubernetes nodes with live rooms.
import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { type KubeJson, readObject } from '../kit/kube/read-objects.ts';
import { Conversation, people } from './conversation.ts';
import { EncodedRoom, equipment } from './encoded-room.ts';
import { Installed, minValues, settle } from './installed.ts';
import { tell, timing } from './timings.ts';

const installed = await Installed.prepare({ after }, { nodeGraceMs: 16_000 });
const release = 'rooms';
const drainSeconds = 20;
const pods = () => installed.pods(release);
const values = [`mediaCluster.spec.drain.timeoutSeconds=${drainSeconds}`, 'operator.highAvailability=true'];
await settle(installed, async () => {
  await installed.install(release, [...minValues, ...values.flatMap((value) => ['--set', value])]);
  await installed.available(release);
  await installed.cluster.until(
    'two nodes on two Kubernetes nodes',
    async () => new Set((await pods()).map(({ spec }) => spec.nodeName)).size === 2,
  );
  await installed.agreeOn(release, 2);
});

async function hostOf(pod: string): Promise<string> {
  return (await installed.get('pod', pod)).spec.nodeName;
}

const operators = async (): Promise<KubeJson[]> => {
  const { items } = await installed.get('pods', '-l', 'app.kubernetes.io/component=operator');
  return items.filter(({ metadata, status }: KubeJson) => metadata.deletionTimestamp === undefined && status.phase === 'Running');
};
const leader = async (): Promise<string> => (await installed.get('lease', 'mediarooms-operator')).spec.holderIdentity;

/** Deletes operator pods until each Kubernetes node has one and the leader is on `wanted`. @returns its pod */
async function leadFrom(wanted: string): Promise<string> {
  return installed.cluster.until(`the leader is on ${wanted}`, async () => {
    const [running, name] = [await operators(), await leader()];
    if (running.length !== 2) return undefined;
    const hosts = new Set(running.map(({ spec }) => spec.nodeName));
    const leading = running.find(({ metadata }) => metadata.name === name);
    if (hosts.size === 2 && leading?.spec.nodeName === wanted) return name;
    // A leader that ends releases its Lease; its replacement avoids the Kubernetes node of the other operator.
    const extra = hosts.size === 1 ? running[0] : leading;
    if (extra !== undefined) await installed.kubectl('delete', 'pod', extra.metadata.name);
    return undefined;
  });
}

/** Creates Rooms until one is on the second Kubernetes node; Ingress and DNS are on the first one. */
async function roomOn(wanted: string, name: string, spec: object): Promise<KubeJson> {
  for (let attempt = 0; ; attempt += 1) {
    const room = await installed.room(`${name}-${attempt}`, spec);
    if ((await hostOf(room.status.node)) === wanted) return room;
    assert.ok(attempt < 10, `no room was placed on ${wanted}`);
  }
}

async function conversationOn(t: TestContext, wanted: string, name: string): Promise<[Conversation, KubeJson]> {
  const room = await roomOn(wanted, name, people);
  return [await Conversation.start(t, installed, room.metadata.name), room];
}

test('`kubectl drain` waits for live rooms until their deadline, notifies peers and removes the pod; encoders and players offer again', async (t) => {
  // Both before the media of one: rooms are placed where fewer tracks are forwarded.
  const room = await roomOn('node2', 'drained', people);
  const { metadata, status } = await roomOn('node2', 'encoded', equipment);
  const conversation = await Conversation.start(t, installed, room.metadata.name);
  const owner = await installed.get('pod', status.node);
  const other = (await pods()).find((pod) => pod.metadata.name !== status.node);
  const encoded = await EncodedRoom.start(t, installed, metadata.name, `/n/${other.metadata.labels['mediarooms.dev/index']}`);
  encoded.assertAddresses([owner]);
  await installed.cluster.until(
    'its pod is protected',
    async () => (await installed.get('pod', room.status.node)).metadata.labels['mediarooms.dev/busy'] === 'true',
  );
  const started = performance.now();
  const drained = installed.cluster.kubectl('drain', 'node2', '--delete-emptydir-data', '--ignore-daemonsets', '--timeout=120s');
  const movedAt = conversation.movedFrom(installed, room.status.incarnation, 120_000).then(() => performance.now() - started);
  await installed.cluster.until('another pod replaces it', async () => {
    const others = (await pods()).filter(
      ({ metadata, status }) =>
        metadata.name !== room.status.node &&
        status.conditions?.some(({ type, status: is }: KubeJson) => type === 'Ready' && is === 'True'),
    );
    return others.length === 2 && others.every(({ spec }) => spec.nodeName === 'node1');
  });
  tell('kubectl drain to a ready replacement', performance.now() - started);
  const [first] = await Promise.all([movedAt, drained]);
  tell('kubectl drain, with a live room and a deadline of 20 s', performance.now() - started);
  tell('kubectl drain to the live room being Ready elsewhere', first);
  assert.ok(first >= drainSeconds * 1_000 - 1_500, `the room ended after ${first} ms`);
  await Promise.all([conversation.cameBack(), encoded.cameBack()]);
  encoded.assertAddresses([owner, await installed.get('pod', (await installed.get('room', metadata.name)).status.node)]);
  await encoded.end();
  assert.ok((await pods()).every(({ spec }) => spec.nodeName === 'node1'));
  await installed.cluster.kubectl('uncordon', 'node2');
  // Kubernetes removes the taint later, and schedules no pod there until then.
  await installed.cluster.until(
    'the Kubernetes node accepts pods',
    async () => ((await readObject(installed.cluster.server, 'nodes', 'node2')) as KubeJson).spec.taints === undefined,
  );
});

test('after a power failure of the Kubernetes node of the leader its Rooms are Ready elsewhere and peers have media without a reload', async (t) => {
  await installed.kubectl('scale', `mediacluster/${release}`, '--replicas=3');
  await installed.cluster.until('a node is on the second Kubernetes node', async () =>
    (await pods()).some(({ spec }) => spec.nodeName === 'node2'),
  );
  // The new node gets rooms once all nodes are connected to it.
  await installed.agreeOn(release, 3);
  const lostLeader = await leadFrom('node2');
  const [conversation, room] = await conversationOn(t, 'node2', 'lost');

  const started = performance.now();
  await installed.cluster.node('node2').losePower();
  const takenOver = installed.cluster
    .until('the other operator leads', async () => (await leader()) !== lostLeader)
    .then(() => tell('power lost to the other operator leading', performance.now() - started));
  await installed.cluster.until('Kubernetes detected the failure', async () => {
    const { status } = (await readObject(installed.cluster.server, 'nodes', 'node2')) as KubeJson;
    return status.conditions.some(({ type, status: is }: KubeJson) => type === 'Ready' && is !== 'True');
  });
  const noticed = performance.now();
  const noticedAt = Date.now();
  tell('power lost to detected by Kubernetes', noticed - started);
  const recovered = await conversation.movedFrom(installed, room.status.incarnation);
  tell('detected to Room Ready on another node', performance.now() - noticed);
  tell('power lost to Room Ready on another node', performance.now() - started);
  assert.equal(await hostOf(recovered.node), 'node1');
  await takenOver;
  await conversation.flows();
  tell('detected to the first frames in both directions', (await conversation.firstFrames()) - noticedAt);
  tell('detected to video and audio in both directions', performance.now() - noticed);
  tell('power lost to video and audio in both directions', performance.now() - started);
  assert.equal(await conversation.pagesStayed(), true);

  await timing('restarted Kubernetes node Ready', async () => {
    await installed.cluster.node('node2').boot();
    await installed.cluster.nodesReady();
  });
  assert.equal((await installed.rest(release, 'GET', '/health')).status, 200);
});
