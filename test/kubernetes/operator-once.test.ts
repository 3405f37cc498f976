// `operator --once`: what an operator would do, as a diff, and nothing of it done: seen in resource versions, on nodes, and in the audit log.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { eventually } from '../kit/eventually.ts';
import { lengthOf, linesOf } from '../kit/kube/audit-log.ts';
import { isAvailable, isReady, type KubeJson, mediaCluster, startClusterFixture } from '../kit/kube/cluster-fixture.ts';
import { runOperator, startOperator } from '../kit/kube/operator-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'mediarooms-audit-'));
const [policy, auditLog] = [join(folder, 'policy.json'), join(folder, 'audit.log')];
writeFileSync(
  policy,
  JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Request' }], omitStages: ['RequestReceived'] }),
);
after(() => rmSync(folder, { recursive: true, force: true }));

const stage = await startClusterFixture({ after }, { plane: { flags: [`--audit-policy-file=${policy}`, `--audit-log-path=${auditLog}`] } });
const peers = [{ name: 'anna' }, { name: 'bert' }];
await stage.makeRoom('class', { peers });
await stage.waitFor('mediaClusters', 'media', (cluster) => isAvailable(cluster) && cluster.status.rooms === 1);
const secretValues: string[] = (await stage.list('secrets')).flatMap(({ data }) => Object.values<string>(data ?? {}));
await stage.operator.stop();

const kinds = [
  ...['rooms', 'mediaclusters', 'pods', 'services', 'configmaps', 'secrets', 'serviceaccounts', 'persistentvolumeclaims'],
  ...['poddisruptionbudgets', 'networkpolicies', 'ingresses', 'events', 'leases', 'customresourcedefinitions'],
];

/** Of every object that an operator could touch. */
async function versions(): Promise<Record<string, string>> {
  const { items } = JSON.parse(await stage.kubectl('get', kinds.join(','), '-A', '-o', 'json'));
  // The API server renews a Lease of its own all the time, and hosts theirs.
  const ours = items.filter(({ kind, metadata }: KubeJson) => kind !== 'Lease' || metadata.namespace === 'default');
  return Object.fromEntries(
    ours.map(({ kind, metadata }: KubeJson) => [`${kind} ${metadata.namespace}/${metadata.name}`, metadata.resourceVersion]),
  );
}

/** Once nobody writes any more: what Kubernetes' own controllers note of a pod or a budget comes some time after what it is about. */
async function restingVersions(): Promise<Record<string, string>> {
  return await eventually('nobody writes', async () => {
    const before = await versions();
    await sleep(500);
    return isDeepStrictEqual(await versions(), before) && before;
  });
}

type Audited = {
  verb: string;
  requestURI: string;
  userAgent: string;
  requestObject?: { dryRun?: string[] };
  responseStatus?: { code: number };
};

/** Calls that an operator made beyond looking, since the audit log was so long. */
function writesSince(length: number): Audited[] {
  const calls = linesOf(auditLog, length)
    .map((line): Audited => JSON.parse(line))
    .filter(({ userAgent }) => userAgent?.startsWith('mediarooms-operator/'));
  assert.ok(calls.length > 0, 'nothing is in the audit log');
  return calls.filter(({ verb }) => !['get', 'list', 'watch'].includes(verb));
}

/** Looks once, and sees to it that nothing was done. */
async function look(env: Record<string, string> = {}): Promise<{ code: number | null; shown: string; writes: Audited[] }> {
  const objects = await restingVersions();
  const length = lengthOf(auditLog);
  const before = { objects, rooms: (await (await stage.api('media-0')).get('/room')).body };
  const { code, stdout, stderr } = await runOperator(stage.server, { args: ['--once'], env });
  const writes = writesSince(length).filter(({ requestURI }) => !requestURI.includes('/selfsubjectaccessreviews'));
  assert.deepEqual({ objects: await versions(), rooms: (await (await stage.api('media-0')).get('/room')).body }, before, stderr);
  for (const { verb, requestURI, requestObject } of writes) {
    const dry =
      verb === 'delete' || verb === 'deletecollection' ? requestObject?.dryRun?.join() === 'All' : /[?&]dryRun=All(&|$)/.test(requestURI);
    assert.ok(dry, `${verb} ${requestURI} was no dry run`);
    assert.doesNotMatch(requestURI, /\/(leases|events)/);
  }
  for (const value of secretValues) for (const form of [value, Buffer.from(value, 'base64').toString()]) assert.ok(!stdout.includes(form));
  return { code, shown: stdout, writes };
}

test('where all is as declared it says nothing and ends with 0', async () => {
  const { code, shown } = await look();
  assert.equal(shown, '');
  assert.equal(code, 0);
});

test('what would be made, changed and removed is shown as a diff, of Secrets without values; it ends with 1', async () => {
  await stage.server.apply([
    stage.room('lesson', { peers: [{ name: 'carl' }] }),
    stage.room('class', { peers: [{ name: 'anna' }], maxPeers: 7 }),
    mediaCluster('media', { replicas: 2 }),
  ]);
  await stage.kubectl('delete', 'service', 'media');
  await stage.kubectl('create', 'service', 'clusterip', 'stray', '--tcp=80');
  const { metadata } = await stage.get('mediaClusters', 'media');
  const owner = { apiVersion: 'mediarooms.dev/v1alpha1', kind: 'MediaCluster', name: 'media', uid: metadata.uid, controller: true };
  const labels = { 'app.kubernetes.io/managed-by': 'mediarooms-operator' };
  await stage.kubectl('patch', 'service', 'stray', '-p', JSON.stringify({ metadata: { labels, ownerReferences: [owner] } }));

  const { code, shown, writes } = await look();
  const lines = shown.split('\n');
  assert.equal(code, 1, shown);
  for (const line of [
    'would create room lesson on media-0',
    'would add peer carl to room lesson on media-0',
    'would change maxPeers of room class on media-0',
    'would remove peer bert of room class on media-0',
    'would delete Service default/stray',
    '+++ Pod default/media-1 (rehearsed)',
    '+++ Service default/media (rehearsed)',
    '+++ Secret default/lesson-peers (rehearsed)',
    '--- Secret default/class-peers',
    '--- Room default/lesson',
    '--- Room default/class',
  ])
    assert.ok(lines.includes(line), `${line} is missing in:\n${shown}`);
  assert.ok(!shown.includes('managedFields'));
  assert.match(shown, /^\+ +carl\.token: "?\*\*\*"?$/m);
  assert.match(shown, /^- +bert\.token: "?\*\*\*"?$/m);
  assert.match(shown, /^\+ +phase: Ready$/m);
  assert.ok(writes.some(({ verb }) => verb === 'delete') && writes.some(({ verb }) => verb === 'create'));
});

test('of a MediaCluster that nobody ever looked at everything is shown that comes first, its pods with it', async () => {
  await stage.kubectl('create', 'namespace', 'fresh');
  // What Kubernetes itself puts into a namespace comes a moment later.
  for (const place of ['serviceaccounts/default', 'configmaps/kube-root-ca.crt'])
    await stage.server.waitFor(place, `/api/v1/namespaces/fresh/${place}`);
  await stage.server.apply([mediaCluster('stage', { replicas: 2 }, 'fresh'), stage.room('early', {}, 'fresh')]);
  const { code, shown } = await look({ OPERATOR_WATCH_NAMESPACES: 'fresh' });
  assert.equal(code, 1);
  for (const made of [
    'Pod fresh/stage-0',
    'Pod fresh/stage-1',
    'Secret fresh/stage-secret-keys',
    'ConfigMap fresh/stage-config',
    'Service fresh/stage',
  ])
    assert.ok(shown.includes(`+++ ${made} (rehearsed)\n`), `${made} is missing in:\n${shown}`);
  assert.match(shown, /^\+ +reason: NoReadyNode$/m);
  assert.ok(!shown.includes('default/'), 'only what is watched is looked at');
});

test('an operator that works afterwards does what was shown, and then there is nothing left to show', async () => {
  const operator = startOperator({ after }, stage.server);
  await operator.says(/this operator works now/);
  await stage.runner.waitForPod('media-1');
  for (const room of ['class', 'lesson']) await stage.waitFor('rooms', room, isReady);
  await stage.waitFor('mediaClusters', 'media', (cluster) => isAvailable(cluster) && cluster.status.rooms === 2);
  assert.equal(await stage.get('services', 'stray'), undefined);
  await operator.stop();
  const { code, shown } = await look();
  assert.equal(shown, '');
  assert.equal(code, 0);
});

test('where it cannot be said what would be done it ends with 2 and a sentence, on the other way out', async () => {
  const kubeconfig = stage.server.kubeconfigFor({ server: 'https://127.0.0.1:9' });
  const { code, stdout, stderr } = await runOperator(stage.server, { args: ['--once'], kubeconfig });
  assert.equal(code, 2);
  assert.equal(stdout, '');
  assert.match(stderr, /The API server cannot be reached/);
});
