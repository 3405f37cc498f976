// Hosts that are emptied and hosts that are lost, with people in rooms on them.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Conversation, people } from './conversation.ts';
import { type Anything, Installed } from './installed.ts';
import { tell, timing } from './timings.ts';

const stage = await Installed.prepare({ after }, { nodeGraceMs: 16_000 });
const release = 'rooms';
const drainSeconds = 20;
const pods = () => stage.pods(release);
// The operator stays on the first host: it is not to be lost with the second one.
const values = [`mediaCluster.spec.drain.timeoutSeconds=${drainSeconds}`, 'operator.nodeSelector.kubernetes\\.io/hostname=node1'];
await stage.settle(async () => {
  await stage.install(release, [...stage.values, ...values.flatMap((value) => ['--set', value])]);
  await stage.available(release);
  await stage.until('two nodes on two hosts', async () => new Set((await pods()).map(({ spec }) => spec.nodeName)).size === 2);
  await stage.agreeOn(release, 2);
});

async function hostOf(pod: string): Promise<string> {
  return (await stage.get('pod', pod)).spec.nodeName;
}

/** People in a Room on the second host: Ingress and names are on the first one, and stay. */
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
    assert.ok(attempt < 10, `no room came to ${wanted}`);
  }
}

test('`kubectl drain` waits for a live room until its deadline; the people are told, and the host is empty afterwards', async (t) => {
  const [conversation, room] = await conversationOn(t, 'node2', 'drained');
  await stage.until(
    'its pod is protected',
    async () => (await stage.get('pod', room.status.node)).metadata.labels['mediarooms.dev/busy'] === 'true',
  );
  const started = performance.now();
  const drained = stage.cluster.kubectl('drain', 'node2', '--delete-emptydir-data', '--ignore-daemonsets', '--timeout=120s');
  const movedAt = conversation.movedFrom(stage, room.status.incarnation, 120_000).then(() => performance.now() - started);
  await stage.until('another pod takes its place', async () => {
    const others = (await pods()).filter(
      ({ metadata, status }) =>
        metadata.name !== room.status.node &&
        status.conditions?.some(({ type, status: is }: Anything) => type === 'Ready' && is === 'True'),
    );
    return others.length === 2 && others.every(({ spec }) => spec.nodeName === 'node1');
  });
  tell('kubectl drain to a replacement that is ready', performance.now() - started);
  const [first] = await Promise.all([movedAt, drained]);
  tell('kubectl drain, with a live room and a deadline of 20 s', performance.now() - started);
  tell('kubectl drain to the live room being Ready elsewhere', first);
  assert.ok(first >= drainSeconds * 1_000 - 1_500, `the room ended after ${first} ms`);
  await conversation.cameBack();
  assert.ok((await pods()).every(({ spec }) => spec.nodeName === 'node1'));
  await stage.cluster.kubectl('uncordon', 'node2');
  // Kubernetes takes it off later, and until then no pod goes there.
  await stage.until('the host takes pods', async () => (await stage.object('/api/v1/nodes/node2')).spec.taints === undefined);
});

test('a host that loses its power: its Rooms are Ready elsewhere and people see each other again, without a reload', async (t) => {
  await stage.kubectl('scale', `mediacluster/${release}`, '--replicas=3');
  await stage.until('a node is on the second host', async () => (await pods()).some(({ spec }) => spec.nodeName === 'node2'));
  // Others are ready all the time; this one gets rooms once they know of it.
  await stage.agreeOn(release, 3);
  const [conversation, room] = await conversationOn(t, 'node2', 'lost');

  const started = performance.now();
  await stage.cluster.node('node2').losePower();
  await stage.until('Kubernetes noticed', async () => {
    const { status } = await stage.object('/api/v1/nodes/node2');
    return status.conditions.some(({ type, status: is }: Anything) => type === 'Ready' && is !== 'True');
  });
  const noticed = performance.now();
  const noticedAt = Date.now();
  tell('power lost to noticed by Kubernetes', noticed - started);
  const recovered = await conversation.movedFrom(stage, room.status.incarnation);
  tell('noticed to Room Ready on another node', performance.now() - noticed);
  tell('power lost to Room Ready on another node', performance.now() - started);
  assert.equal(await hostOf(recovered.node), 'node1');
  await conversation.flows();
  tell('noticed to the first pictures both ways again', (await conversation.firstPictures()) - noticedAt);
  tell('noticed to pictures and sound both ways again', performance.now() - noticed);
  tell('power lost to pictures and sound both ways again', performance.now() - started);
  assert.equal(await conversation.pagesStayed(), true);

  await timing('a host that is back: Ready', async () => {
    await stage.cluster.node('node2').boot();
    await stage.cluster.nodesReady();
  });
  assert.equal((await stage.rest(release, 'GET', '/health')).status, 200);
});
