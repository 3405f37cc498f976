// Loss: drained and failed Kubernetes nodes with live rooms.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Conversation, people } from './conversation.ts';
import { type Anything, Installed } from './installed.ts';
import { tell, timing } from './timings.ts';

const stage = await Installed.prepare({ after }, { nodeGraceMs: 16_000 });
const release = 'rooms';
const drainSeconds = 20;
const pods = () => stage.pods(release);
// The operator stays on the first Kubernetes node, because the second one fails.
const values = [`mediaCluster.spec.drain.timeoutSeconds=${drainSeconds}`, 'operator.nodeSelector.kubernetes\\.io/hostname=node1'];
await stage.settle(async () => {
  await stage.install(release, [...stage.values, ...values.flatMap((value) => ['--set', value])]);
  await stage.available(release);
  await stage.until('two nodes on two Kubernetes nodes', async () => new Set((await pods()).map(({ spec }) => spec.nodeName)).size === 2);
  await stage.agreeOn(release, 2);
});

async function hostOf(pod: string): Promise<string> {
  return (await stage.get('pod', pod)).spec.nodeName;
}

/** Starts a conversation on the second Kubernetes node; Ingress and DNS are on the first one. */
async function conversationOn(
  t: Parameters<typeof Conversation.start>[0],
  wanted: string,
  name: string,
): Promise<[Conversation, Anything]> {
  for (let attempt = 0; ; attempt += 1) {
    const room = await stage.room(`${name}-${attempt}`, people);
    if ((await hostOf(room.status.node)) === wanted) {
      const conversation = await Conversation.start(t, stage, `${name}-${attempt}`);
      return [conversation, room];
    }
    assert.ok(attempt < 10, `no room was placed on ${wanted}`);
  }
}

test('`kubectl drain` waits for a live room until its deadline, notifies its peers and removes the pod', async (t) => {
  const [conversation, room] = await conversationOn(t, 'node2', 'drained');
  await stage.until(
    'its pod is protected',
    async () => (await stage.get('pod', room.status.node)).metadata.labels['mediarooms.dev/busy'] === 'true',
  );
  const started = performance.now();
  const drained = stage.cluster.kubectl('drain', 'node2', '--delete-emptydir-data', '--ignore-daemonsets', '--timeout=120s');
  const movedAt = conversation.movedFrom(stage, room.status.incarnation, 120_000).then(() => performance.now() - started);
  await stage.until('another pod replaces it', async () => {
    const others = (await pods()).filter(
      ({ metadata, status }) =>
        metadata.name !== room.status.node &&
        status.conditions?.some(({ type, status: is }: Anything) => type === 'Ready' && is === 'True'),
    );
    return others.length === 2 && others.every(({ spec }) => spec.nodeName === 'node1');
  });
  tell('kubectl drain to a ready replacement', performance.now() - started);
  const [first] = await Promise.all([movedAt, drained]);
  tell('kubectl drain, with a live room and a deadline of 20 s', performance.now() - started);
  tell('kubectl drain to the live room being Ready elsewhere', first);
  assert.ok(first >= drainSeconds * 1_000 - 1_500, `the room ended after ${first} ms`);
  await conversation.cameBack();
  assert.ok((await pods()).every(({ spec }) => spec.nodeName === 'node1'));
  await stage.cluster.kubectl('uncordon', 'node2');
  // Kubernetes removes the taint later, and schedules no pod there until then.
  await stage.until('the Kubernetes node accepts pods', async () => (await stage.object('/api/v1/nodes/node2')).spec.taints === undefined);
});

test('after a power failure of a Kubernetes node its Rooms are Ready elsewhere and peers have media without a reload', async (t) => {
  await stage.kubectl('scale', `mediacluster/${release}`, '--replicas=3');
  await stage.until('a node is on the second Kubernetes node', async () => (await pods()).some(({ spec }) => spec.nodeName === 'node2'));
  // The new node gets rooms once all nodes are connected to it.
  await stage.agreeOn(release, 3);
  const [conversation, room] = await conversationOn(t, 'node2', 'lost');

  const started = performance.now();
  await stage.cluster.node('node2').losePower();
  await stage.until('Kubernetes detected the failure', async () => {
    const { status } = await stage.object('/api/v1/nodes/node2');
    return status.conditions.some(({ type, status: is }: Anything) => type === 'Ready' && is !== 'True');
  });
  const noticed = performance.now();
  const noticedAt = Date.now();
  tell('power lost to detected by Kubernetes', noticed - started);
  const recovered = await conversation.movedFrom(stage, room.status.incarnation);
  tell('detected to Room Ready on another node', performance.now() - noticed);
  tell('power lost to Room Ready on another node', performance.now() - started);
  assert.equal(await hostOf(recovered.node), 'node1');
  await conversation.flows();
  tell('detected to the first frames in both directions', (await conversation.firstFrames()) - noticedAt);
  tell('detected to video and audio in both directions', performance.now() - noticed);
  tell('power lost to video and audio in both directions', performance.now() - started);
  assert.equal(await conversation.pagesStayed(), true);

  await timing('restarted Kubernetes node Ready', async () => {
    await stage.cluster.node('node2').boot();
    await stage.cluster.nodesReady();
  });
  assert.equal((await stage.rest(release, 'GET', '/health')).status, 200);
});
