// What fails around the nodes, and what is changed about them, while people talk.
import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Conversation } from './conversation.ts';
import { type Anything, Installed } from './installed.ts';
import { tell, timing } from './timings.ts';

const stage = await Installed.prepare({ after });
const release = 'rooms';
const drainSeconds = 15;
await stage.install(release, [...stage.values, '--set', `mediaCluster.spec.drain.timeoutSeconds=${drainSeconds}`]);
await stage.available(release);
await bothCount();

/** When each of both nodes knows of the other. */
async function bothCount(): Promise<void> {
  await stage.until('the nodes know of each other', async () => {
    const items = await pods();
    const answers = await Promise.all(
      items.map(({ metadata }) => stage.rest(release, 'GET', `/n/${metadata.labels['mediarooms.dev/index']}/health`)),
    );
    return items.length === 2 && answers.every(({ body }) => body?.data?.distribution.nodesInCluster === 2);
  });
}

async function pods(): Promise<Anything[]> {
  const { items } = await stage.get('pods', '-l', `mediarooms.dev/cluster=${release}`);
  return items.filter(({ metadata }: Anything) => metadata.deletionTimestamp === undefined);
}

/** The operator does its work: a Room is made and goes. */
async function operatorWorks(t: TestContext, name: string, what: string): Promise<void> {
  await timing(what, () => stage.room(name));
  t.after(() => stage.kubectl('delete', 'room', name, '--timeout=60s'));
}

test('an operator that is killed: media goes on, and its successor works', async (t) => {
  const conversation = await Conversation.start(t, stage, 'operator');
  await stage.kubectl('delete', 'pod', '-l', 'app.kubernetes.io/component=operator', '--grace-period=0', '--force');
  await operatorWorks(t, 'after-operator', 'operator killed to a new Room Ready');
  await conversation.assertUndisturbed();
});

test('an API server that is away for 20 s: media goes on, no pod is replaced, and Rooms are made afterwards', async (t) => {
  const conversation = await Conversation.start(t, stage, 'api');
  const before = (await pods()).map(({ metadata }) => metadata.uid);
  await stage.cluster.server.stopApiServer();
  await sleep(20_000);
  await conversation.assertUndisturbed();
  await timing('API server started again', () => stage.cluster.server.startApiServer());
  await timing('API server back to all hosts Ready', () => stage.cluster.nodesReady());
  await operatorWorks(t, 'after-api', 'API server back to a new Room Ready');
  await conversation.assertUndisturbed();
  assert.deepEqual(
    (await pods()).map(({ metadata }) => metadata.uid),
    before,
  );
});

test('names that are gone for a minute: media goes on, and the nodes still know each other', async (t) => {
  const conversation = await Conversation.start(t, stage, 'names');
  const names = ['-n', 'kube-system'];
  await stage.cluster.kubectl(...names, 'scale', 'deployment/coredns', '--replicas=0');
  await stage.cluster.kubectl(...names, 'wait', '--for=delete', 'pod', '-l', 'app=coredns', '--timeout=60s');
  await sleep(60_000);
  await conversation.assertUndisturbed();
  await bothCount();
  await stage.cluster.kubectl(...names, 'scale', 'deployment/coredns', '--replicas=1');
  await stage.cluster.kubectl(...names, 'rollout', 'status', 'deployment/coredns', '--timeout=60s');
});

test('what cannot change in a living pod is a rollout: new nodes first, a live room has its time, its people are told', async (t) => {
  const conversation = await Conversation.start(t, stage, 'rollout');
  const { node } = (await stage.get('room', 'rollout')).status;
  const before = new Map((await pods()).map(({ metadata }) => [metadata.name, metadata.uid]));
  const started = performance.now();
  const closedAt = conversation.anna.waitForNote('closed').then(() => performance.now() - started);
  closedAt.catch(() => {});
  let least = Number.POSITIVE_INFINITY;
  await stage.kubectl(
    'patch',
    'mediacluster',
    release,
    '--type=merge',
    '-p',
    JSON.stringify({ spec: { resources: { requests: { cpu: '20m' } } } }),
  );
  await stage.until(
    'all pods are new',
    async () => {
      const now = await pods();
      const ready = now.filter(({ status }) =>
        status.conditions?.some(({ type, status: is }: Anything) => type === 'Ready' && is === 'True'),
      );
      least = Math.min(least, ready.length);
      return (
        now.length === 2 && ready.length === 2 && ![...before.values()].some((uid) => now.some(({ metadata }) => metadata.uid === uid))
      );
    },
    120_000,
  );
  tell('rollout of two nodes, one with a live room and a deadline of 15 s', performance.now() - started);
  const told = await closedAt;
  assert.ok(told >= drainSeconds * 1_000, `the room on ${node} ended after ${told} ms`);
  assert.ok(least >= 1, 'there is always a node');
});
