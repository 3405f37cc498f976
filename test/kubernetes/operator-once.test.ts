// `operator --once`: prints the planned changes as a diff and changes nothing, checked by resource versions, nodes and the audit log.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { eventually } from '../kit/eventually.ts';
import { type AuditEvent, AuditLog } from '../kit/kube/audit-log.ts';
import { isAvailable, isReady, smallCluster, startClusterFixture } from '../kit/kube/cluster-fixture.ts';
import { runOperator, startOperator } from '../kit/kube/operator-process.ts';
import { type KubeJson, room } from '../kit/kube/read-objects.ts';

const audit = new AuditLog({ after }, [{ level: 'Request' }]);
const fixture = await startClusterFixture({ after }, { plane: { flags: audit.flags } });
const peers = [{ name: 'anna' }, { name: 'bert' }];
await fixture.makeRoom('class', { peers });
await fixture.waitFor('mediaClusters', 'media', (cluster) => isAvailable(cluster) && cluster.status.rooms === 1);
const secretValues: string[] = (await fixture.list('secrets')).flatMap(({ data }) => Object.values<string>(data ?? {}));
await fixture.operator.stop();

const kinds = [
  ...['rooms', 'mediaclusters', 'pods', 'services', 'configmaps', 'secrets', 'serviceaccounts', 'persistentvolumeclaims'],
  ...['poddisruptionbudgets', 'networkpolicies', 'ingresses', 'events', 'leases', 'customresourcedefinitions'],
];

/** Resource versions of every object that an operator could change. */
async function versions(): Promise<Record<string, string>> {
  const { items } = JSON.parse(await fixture.kubectl('get', kinds.join(','), '-A', '-o', 'json'));
  // The API server and kubelets renew their Leases continuously.
  const ours = items.filter(({ kind, metadata }: KubeJson) => kind !== 'Lease' || metadata.namespace === 'default');
  return Object.fromEntries(
    ours.map(({ kind, metadata }: KubeJson) => [`${kind} ${metadata.namespace}/${metadata.name}`, metadata.resourceVersion]),
  );
}

/** Versions once no controller writes any more: Kubernetes controllers update pods and budgets with a delay. */
async function restingVersions(): Promise<Record<string, string>> {
  return await eventually('no object changes', async () => {
    const before = await versions();
    await sleep(500);
    return isDeepStrictEqual(await versions(), before) && before;
  });
}

/** Write requests of an operator since that length of the audit log. */
function writesSince(length: number): AuditEvent[] {
  const calls = audit.since(length).filter(({ userAgent }) => userAgent?.startsWith('mediarooms-operator/'));
  assert.ok(calls.length > 0, 'nothing is in the audit log');
  return calls.filter(({ verb }) => !['get', 'list', 'watch'].includes(verb));
}

/** Runs once and asserts that nothing was changed. */
async function runOnce(env: Record<string, string> = {}): Promise<{ code: number; shown: string; writes: AuditEvent[] }> {
  const objects = await restingVersions();
  const length = audit.length;
  const before = { objects, rooms: (await (await fixture.api('media-0')).get('/room')).body };
  const { code, stdout, stderr } = await runOperator(fixture.server, { args: ['--once'], env });
  const writes = writesSince(length).filter(({ requestURI }) => !requestURI.includes('/selfsubjectaccessreviews'));
  assert.deepEqual({ objects: await versions(), rooms: (await (await fixture.api('media-0')).get('/room')).body }, before, stderr);
  for (const { verb, requestURI, requestObject } of writes) {
    const dry =
      verb === 'delete' || verb === 'deletecollection' ? requestObject?.dryRun?.join() === 'All' : /[?&]dryRun=All(&|$)/.test(requestURI);
    assert.ok(dry, `${verb} ${requestURI} was no dry run`);
    assert.doesNotMatch(requestURI, /\/(leases|events)/);
  }
  for (const value of secretValues) for (const form of [value, Buffer.from(value, 'base64').toString()]) assert.ok(!stdout.includes(form));
  return { code, shown: stdout, writes };
}

test('without changes it prints nothing and exits with 0', async () => {
  const { code, shown } = await runOnce();
  assert.equal(shown, '');
  assert.equal(code, 0);
});

test('planned creations, changes and deletions are printed as a diff without Secret values, and it exits with 1', async () => {
  await fixture.server.apply([
    room('lesson', { peers: [{ name: 'carl' }] }),
    room('class', { peers: [{ name: 'anna' }], maxPeers: 7 }),
    smallCluster('media', { replicas: 2 }),
  ]);
  await fixture.kubectl('delete', 'service', 'media');
  await fixture.kubectl('create', 'service', 'clusterip', 'stray', '--tcp=80');
  const { metadata } = await fixture.get('mediaClusters', 'media');
  const owner = { apiVersion: 'mediarooms.dev/v1alpha1', kind: 'MediaCluster', name: 'media', uid: metadata.uid, controller: true };
  const labels = { 'app.kubernetes.io/managed-by': 'mediarooms-operator' };
  await fixture.kubectl('patch', 'service', 'stray', '-p', JSON.stringify({ metadata: { labels, ownerReferences: [owner] } }));

  const { code, shown, writes } = await runOnce();
  const lines = shown.split('\n');
  assert.equal(code, 1, shown);
  for (const line of [
    'would create room lesson on media-0',
    'would add peer carl to room lesson on media-0',
    'would change maxPeers of room class on media-0',
    'would remove peer bert of room class on media-0',
    'would delete Service default/stray',
    '+++ Pod default/media-1 (dry run)',
    '+++ Service default/media (dry run)',
    '+++ Secret default/lesson-peers (dry run)',
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

test('for a new MediaCluster the first objects and its pods are printed', async () => {
  await fixture.kubectl('create', 'namespace', 'fresh');
  // Kubernetes adds its default objects to a namespace a moment later.
  for (const place of ['serviceaccounts/default', 'configmaps/kube-root-ca.crt'])
    await fixture.server.waitFor(place, `/api/v1/namespaces/fresh/${place}`);
  await fixture.server.apply([smallCluster('stage', { replicas: 2 }, 'fresh'), room('early', {}, 'fresh')]);
  const { code, shown } = await runOnce({ OPERATOR_WATCH_NAMESPACES: 'fresh' });
  assert.equal(code, 1);
  for (const made of [
    'Pod fresh/stage-0',
    'Pod fresh/stage-1',
    'Secret fresh/stage-secret-keys',
    'ConfigMap fresh/stage-config',
    'Service fresh/stage',
  ])
    assert.ok(shown.includes(`+++ ${made} (dry run)\n`), `${made} is missing in:\n${shown}`);
  assert.match(shown, /^\+ +reason: NoReadyNode$/m);
  assert.ok(!shown.includes('default/'), 'only watched namespaces are reconciled');
});

test('an operator afterwards performs the printed changes, and then no changes are left', async () => {
  const operator = startOperator({ after }, fixture.server);
  await operator.says(/started leading/);
  await fixture.runner.waitForPod('media-1');
  for (const room of ['class', 'lesson']) await fixture.waitFor('rooms', room, isReady);
  await fixture.waitFor('mediaClusters', 'media', (cluster) => isAvailable(cluster) && cluster.status.rooms === 2);
  assert.equal(await fixture.get('services', 'stray'), undefined);
  await operator.stop();
  const { code, shown } = await runOnce();
  assert.equal(shown, '');
  assert.equal(code, 0);
});

test('without an API server it exits with 2 and a message on stderr', async () => {
  const kubeconfig = fixture.server.kubeconfigFor({ server: 'https://127.0.0.1:9' });
  const { code, stdout, stderr } = await runOperator(fixture.server, { args: ['--once'], kubeconfig });
  assert.equal(code, 2);
  assert.equal(stdout, '');
  assert.match(stderr, /Could not reach the API server/);
});
