// What is changed under people who talk: the first chart becomes this one, and nodes a newer image where the platform gives pods 30 s to end.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { versionAnnotation } from '../../crds/crd-manifests.ts';
import manifest from '../../package.json' with { type: 'json' };
import { Conversation } from './conversation.ts';
import { type Anything, chart, Installed } from './installed.ts';
import { tell, timing } from './timings.ts';

const firstChart = join(import.meta.dirname, '../kubernetes/fixtures/chart-0.7.0');
const { version } = manifest;
const nodeImage = 'ghcr.io/mediarooms/node';
const graceSeconds = 30;
const drainSeconds = 45;
const release = 'rooms';
const secrets = ['api-tokens', 'secret-keys', 'cookie'];

const stage = await Installed.prepare({ after });
const pods = () => stage.pods(release);
const settled = () => stage.settled(release);
/** Of both charts. Only images of this version are there, whichever the chart is. */
const values = [
  ...stage.values,
  ...[`mediaCluster.spec.drain.timeoutSeconds=${drainSeconds}`, `operator.image.tag=${version}`, `node.image.tag=${version}`].flatMap(
    (value) => ['--set', value],
  ),
];
await stage.settle(cutGrace);

/** As platforms do that want their hosts back soon: whoever asks for more time than this does not get it. */
async function cutGrace(): Promise<void> {
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] };
  const patch = `[JSONPatch{op: "add", path: "/spec/terminationGracePeriodSeconds", value: ${graceSeconds}}]`;
  const metadata = { name: 'short-grace' };
  const apiVersion = 'admissionregistration.k8s.io/v1';
  await stage.cluster.server.apply([
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
  await stage.until('pods get so much time only', async () => {
    const path = `/api/v1/namespaces/${stage.namespace}/pods?dryRun=All`;
    const { body } = await stage.cluster.server.client.call(path, { method: 'POST', body: pod });
    return (body as Anything).spec?.terminationGracePeriodSeconds === graceSeconds;
  });
}

/** All that must stay: the Room with what its people hold, the nodes, every secret. */
async function kept(room: string) {
  const { metadata, status } = await stage.get('room', room);
  return {
    room: { uid: metadata.uid, incarnation: status.incarnation, node: status.node, address: status.address },
    peers: await stage.secret(`${room}-peers`),
    nodes: (await pods()).map(({ metadata: { uid }, status: is }) => [uid, is.containerStatuses[0].restartCount]).sort(),
    secrets: await Promise.all(secrets.map((name) => stage.secret(`${release}-${name}`))),
  };
}

/** Two people in a Room, and what the first of them is told of the end of their node. */
async function conversationIn(t: TestContext, room: string): Promise<Conversation> {
  const conversation = await Conversation.start(t, stage, room);
  await conversation.anna.page.evaluate(() => {
    const { main } = kit.rooms;
    main?.room.on('draining', ({ deadline }) => main.notes.push({ at: performance.now(), name: 'draining', detail: deadline?.getTime() }));
  });
  return conversation;
}

test('from the first chart, which is kept as it was, to this one: a live room, its node and every secret stay as they are', async (t) => {
  await stage.helm('install', release, firstChart, ...values);
  await settled();
  const conversation = await Conversation.start(t, stage, 'kept');
  const before = await kept('kept');
  await timing('upgrade from the first chart', () => stage.helm('upgrade', release, chart, ...values, '--wait', '--timeout=90s'));
  await settled();
  const { metadata } = await stage.cluster.get<Anything>('crd', 'rooms.mediarooms.dev');
  assert.equal(metadata.annotations[versionAnnotation], version);
  await stage.room('made-after-upgrade');
  assert.deepEqual(await kept('kept'), before);
  await conversation.assertUndisturbed();
});

test('and back: the same people come into the same room with the tokens that they have had all the time', async (t) => {
  const before = await kept('kept');
  const conversation = await Conversation.start(t, stage, 'kept');
  await timing('rollback to the first chart', () => stage.helm('rollback', release, '1', '--wait', '--timeout=90s'));
  await settled();
  await stage.room('made-after-rollback');
  assert.deepEqual(await kept('kept'), before);
  await conversation.assertUndisturbed();
});

test(`a newer image where pods have ${graceSeconds} s to end: a room keeps its node for the ${drainSeconds} s of its drain, its people are told, and it goes on elsewhere`, async (t) => {
  const conversation = await conversationIn(t, 'moved');
  const before = await stage.get('room', 'moved');
  const old = (await pods()).map(({ metadata }) => metadata.uid);
  const [from, to] = [version, 'newer'].map((tag) => `${nodeImage}:${tag}`) as [string, string];
  await Promise.all(stage.cluster.nodes.map((node) => node.ctr(['images', 'tag', from, to])));

  const started = Date.now();
  await stage.helm('upgrade', release, chart, ...values, '--set', 'node.image.tag=newer');
  // Before that another operator starts, a node takes the place of the empty one, and then a second one.
  const told = (await conversation.anna.waitForNote('draining', 0, 150_000)).detail as number;
  assert.ok(told - started >= drainSeconds * 1_000, `people are told ${told - started} ms`);
  assert.equal((await stage.get('room', 'moved')).status.incarnation, before.status.incarnation);
  // A socket may have come by way of the other node, which went at once.
  await conversation.assertUndisturbed(['draining', 'reconnecting', 'joined']);
  const { node } = await conversation.movedFrom(stage, before.status.incarnation, 120_000);
  const moved = Date.now();
  assert.ok(moved >= told - 1_000, `the room ended ${told - moved} ms before the time that people were told`);
  assert.notEqual(node, before.status.node);
  await conversation.cameBack();
  tell('room ended at its deadline to pictures and sound elsewhere', Date.now() - told);
  await stage.until('all nodes are new', async () => {
    const now = await pods();
    return now.length === 2 && now.every(({ metadata, spec }) => !old.includes(metadata.uid) && spec.containers[0].image === to);
  });
  assert.ok((await pods()).every(({ spec }) => spec.terminationGracePeriodSeconds === graceSeconds));
});

test(`a node that is told to end, and is ended after ${graceSeconds} s: people talk until then, and see each other again elsewhere without a reload`, async (t) => {
  await settled();
  const conversation = await conversationIn(t, 'ended');
  const before = await stage.get('room', 'ended');
  const started = performance.now();
  const gone = stage.kubectl('delete', 'pod', before.status.node, '--timeout=90s').then(() => performance.now() - started);
  await conversation.anna.waitForNote('draining');
  await conversation.assertUndisturbed(['draining']);
  assert.equal((await stage.get('room', 'ended')).status.incarnation, before.status.incarnation);
  const lasted = await gone;
  tell(`a node ended by Kubernetes with a live room, grace of ${graceSeconds} s`, lasted);
  assert.ok(lasted >= graceSeconds * 1_000 - 1_000, `the node ended after ${lasted} ms`);
  await conversation.movedFrom(stage, before.status.incarnation);
  tell('node ended to Room Ready elsewhere', performance.now() - started - lasted);
  await conversation.cameBack();
  tell('node ended to pictures and sound both ways again', performance.now() - started - lasted);
  await settled();
});
