// Upgrades during a conversation: the first chart to this one, and a new node image on a platform that limits grace periods to 30 s.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { versionAnnotation } from '../../crds/crd-manifests.ts';
import manifest from '../../package.json' with { type: 'json' };
import { type KubeJson, readSecret } from '../kit/kube/read-objects.ts';
import { Conversation } from './conversation.ts';
import { chart, Installed, minValues, settle } from './installed.ts';
import { tell, timing } from './timings.ts';

const firstChart = join(import.meta.dirname, '../kubernetes/fixtures/chart-0.7.0');
const { version } = manifest;
const nodeImage = 'ghcr.io/mediarooms/node';
const graceSeconds = 30;
const drainSeconds = 45;
const release = 'rooms';
const secrets = ['api-tokens', 'secret-keys', 'cookie'];

const installed = await Installed.prepare({ after });
const pods = () => installed.pods(release);
const settled = () => installed.settled(release);
/** Values of both charts. Only images of this version exist. */
const values = [
  ...minValues,
  ...[`mediaCluster.spec.drain.timeoutSeconds=${drainSeconds}`, `operator.image.tag=${version}`, `node.image.tag=${version}`].flatMap(
    (value) => ['--set', value],
  ),
];
await settle(installed, cutGrace);

/** Limits grace periods, as platforms do that reclaim Kubernetes nodes quickly. */
async function cutGrace(): Promise<void> {
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] };
  const patch = `[JSONPatch{op: "add", path: "/spec/terminationGracePeriodSeconds", value: ${graceSeconds}}]`;
  const metadata = { name: 'short-grace' };
  const apiVersion = 'admissionregistration.k8s.io/v1';
  await installed.cluster.server.apply([
    {
      apiVersion,
      kind: 'MutatingAdmissionPolicy',
      metadata,
      spec: {
        matchConstraints: { resourceRules: [rule] },
        failurePolicy: 'Fail',
        reinvocationPolicy: 'Never',
        mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: patch } }],
      },
    },
    { apiVersion, kind: 'MutatingAdmissionPolicyBinding', metadata, spec: { policyName: metadata.name } },
  ]);
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'tried' }, spec: { containers: [{ name: 'x', image: 'x' }] } };
  await installed.cluster.until('grace periods are limited', async () => {
    const path = `/api/v1/namespaces/${installed.namespace}/pods?dryRun=All`;
    const { body } = await installed.cluster.server.client.call(path, { method: 'POST', body: pod });
    return (body as KubeJson).spec?.terminationGracePeriodSeconds === graceSeconds;
  });
}

/** State that must be kept: the Room with the credentials of its peers, the nodes, every Secret. */
async function kept(room: string) {
  const { metadata, status } = await installed.get('room', room);
  return {
    room: { uid: metadata.uid, incarnation: status.incarnation, node: status.node, address: status.address },
    peers: await readSecret(installed.cluster.server, `${room}-peers`, installed.namespace),
    nodes: (await pods()).map(({ metadata: { uid }, status: is }) => [uid, is.containerStatuses[0].restartCount]).sort(),
    secrets: await Promise.all(secrets.map((name) => readSecret(installed.cluster.server, `${release}-${name}`, installed.namespace))),
  };
}

/** Starts a conversation and records the drain notification of the first peer. */
async function conversationIn(t: TestContext, room: string): Promise<Conversation> {
  const conversation = await Conversation.start(t, installed, room);
  await conversation.anna.page.evaluate(() => {
    const { main } = kit.rooms;
    main?.room.on('draining', ({ deadline }) => main.notes.push({ at: performance.now(), name: 'draining', detail: deadline?.getTime() }));
  });
  return conversation;
}

test('an upgrade from the first chart keeps a live room, its node and every Secret', async (t) => {
  await installed.helm('install', release, firstChart, ...values);
  await settled();
  const conversation = await Conversation.start(t, installed, 'kept');
  const before = await kept('kept');
  await timing('upgrade from the first chart', () => installed.helm('upgrade', release, chart, ...values, '--wait', '--timeout=90s'));
  await settled();
  const { metadata } = await installed.cluster.get<KubeJson>('crd', 'rooms.mediarooms.dev');
  assert.equal(metadata.annotations[versionAnnotation], version);
  await installed.room('made-after-upgrade');
  assert.deepEqual(await kept('kept'), before);
  await conversation.assertUndisturbed();
});

test('a rollback to the first chart keeps the room, and peers rejoin with their original tokens', async (t) => {
  const before = await kept('kept');
  const conversation = await Conversation.start(t, installed, 'kept');
  await timing('rollback to the first chart', () => installed.helm('rollback', release, '1', '--wait', '--timeout=90s'));
  await settled();
  await installed.room('made-after-rollback');
  assert.deepEqual(await kept('kept'), before);
  await conversation.assertUndisturbed();
});

test(`a rollout of a new image keeps a live room on its node for the drain of ${drainSeconds} s despite a grace period of ${graceSeconds} s, then recreates it`, async (t) => {
  const conversation = await conversationIn(t, 'moved');
  const before = await installed.get('room', 'moved');
  const old = (await pods()).map(({ metadata }) => metadata.uid);
  const [from, to] = [version, 'newer'].map((tag) => `${nodeImage}:${tag}`) as [string, string];
  await Promise.all(installed.cluster.nodes.map((node) => node.ctr(['images', 'tag', from, to])));

  const started = Date.now();
  await installed.helm('upgrade', release, chart, ...values, '--set', 'node.image.tag=newer');
  // Before another operator process starts, one node replaces the empty node, then a second one.
  const reported = (await conversation.anna.waitForNote('draining', 0, 150_000)).detail as number;
  assert.ok(reported - started >= drainSeconds * 1_000, `peers are notified of ${reported - started} ms`);
  assert.equal((await installed.get('room', 'moved')).status.incarnation, before.status.incarnation);
  // The websocket may have passed through the other node, which was removed immediately.
  await conversation.assertUndisturbed(['draining', 'reconnecting', 'joined']);
  const { node } = await conversation.movedFrom(installed, before.status.incarnation, 120_000);
  const moved = Date.now();
  assert.ok(moved >= reported - 1_000, `the room ended ${reported - moved} ms before the announced deadline`);
  assert.notEqual(node, before.status.node);
  await conversation.cameBack();
  tell('room ended at its deadline to video and audio elsewhere', Date.now() - reported);
  await installed.cluster.until('all nodes are new', async () => {
    const now = await pods();
    return now.length === 2 && now.every(({ metadata, spec }) => !old.includes(metadata.uid) && spec.containers[0].image === to);
  });
  assert.ok((await pods()).every(({ spec }) => spec.terminationGracePeriodSeconds === graceSeconds));
});

test(`peers of a node killed after its grace period of ${graceSeconds} s have media until then, and elsewhere without a reload`, async (t) => {
  await settled();
  const conversation = await conversationIn(t, 'ended');
  const before = await installed.get('room', 'ended');
  const started = performance.now();
  const deletion = installed.kubectl('delete', 'pod', before.status.node, '--timeout=90s').then(() => performance.now() - started);
  await conversation.anna.waitForNote('draining');
  await conversation.assertUndisturbed(['draining']);
  assert.equal((await installed.get('room', 'ended')).status.incarnation, before.status.incarnation);
  const lasted = await deletion;
  tell(`node killed by Kubernetes with a live room, grace of ${graceSeconds} s`, lasted);
  assert.ok(lasted >= graceSeconds * 1_000 - 1_000, `the node ended after ${lasted} ms`);
  await conversation.movedFrom(installed, before.status.incarnation);
  tell('node ended to Room Ready elsewhere', performance.now() - started - lasted);
  await conversation.cameBack();
  tell('node ended to video and audio in both directions', performance.now() - started - lasted);
  await settled();
});
