// `--uninstall` with the permissions of the chart hook, for each combination of its values: what stays, what is deleted, and that a namespace
// can then be deleted without an operator.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { AuditLog } from '../kit/kube/audit-log.ts';
import { isAvailable, smallCluster, startClusterFixture } from '../kit/kube/cluster-fixture.ts';
import { type ChartObject, renderChart } from '../kit/kube/helm.ts';
import { runOperator, startOperator } from '../kit/kube/operator-process.ts';
import { type KubeJson, readObject, readSecret, room } from '../kit/kube/read-objects.ts';

const audit = new AuditLog({ after });
// The plugin requires the permission to delete an object for a change of its owners, as on OpenShift.
const flags = [...audit.flags, '--enable-admission-plugins=OwnerReferencesPermissionEnforcement'];
const storage = { persistentVolumeClaim: { size: '1Gi' } };
const env = { OPERATOR_WATCH_NAMESPACES: 'default team' };
const fixture = await startClusterFixture({ after }, { plane: { flags }, operator: { env }, spec: { storage } });
const { server } = fixture;

/** The hook of a release with these values, as it runs in its Job. */
async function hookOf(release: string, values: { deleteResources: boolean; deleteClaims: boolean }) {
  const account = `${release}-operator-uninstall`;
  const objects = await renderChart({
    release,
    only: ['uninstall.yaml'],
    values: { uninstall: { ...values, timeoutSeconds: 50 }, 'operator.watchNamespaces': ['default', 'team'] },
  });
  const rules = objects.filter(({ kind }) => kind === 'Role' || kind === 'RoleBinding');
  await server.apply(rules);
  const kubeconfig = server.kubeconfigFor({ token: await server.serviceAccountToken('default', account) });
  const job = objects.find(({ kind }) => kind === 'Job') as KubeJson;
  const { args } = job.spec.template.spec.containers[0];
  const event: string = job.metadata.annotations['helm.sh/hook'];
  return { account, rules, event, run: (...more: string[]) => runOperator(server, { kubeconfig, env, args: [...args, ...more] }) };
}

const team = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } };
await server.apply(team);
const keepsAll = await hookOf('keeps-all', { deleteResources: false, deleteClaims: false });
const keepsData = await hookOf('keeps-data', { deleteResources: true, deleteClaims: false });
const deletesAll = await hookOf('deletes-all', { deleteResources: true, deleteClaims: true });

/** `verb group/resource` that the Roles grant. */
function granted(objects: readonly ChartObject[]): string[] {
  type Rule = { apiGroups: string[]; resources: string[]; verbs: string[] };
  const rules = objects.flatMap((each) => (each.rules ?? []) as Rule[]);
  const all = rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`))),
  );
  return [...new Set(all)].sort();
}

/** Asserts that the account used what the Roles grant, except for `unused`. */
function assertPermissions({ account, rules }: Pick<Awaited<ReturnType<typeof hookOf>>, 'account' | 'rules'>, unused: string[]): void {
  const calls = audit.callsOf(account);
  const used = new Set(calls.filter(({ resource }) => resource !== '').map(({ verb, group, resource }) => `${verb} ${group}/${resource}`));
  assert.deepEqual(
    calls.filter(({ code }) => code === 403),
    [],
  );
  assert.deepEqual([...used, ...unused].sort(), granted(rules));
}

const names = async (kind: 'secrets' | 'persistentVolumeClaims' | 'pods' | 'rooms' | 'mediaClusters', namespace = 'default') =>
  (await fixture.list(kind, namespace)).map(({ metadata }) => metadata.name).sort();
const generated = ['media-api-tokens', 'media-cookie', 'media-secret-keys'];

test('the hook runs after the deletion of the operator if it deletes nothing, otherwise before', () => {
  assert.deepEqual([keepsAll.event, keepsData.event, deletesAll.event], ['post-delete', 'pre-delete', 'pre-delete']);
});

test('uninstall with deleteResources deletes Rooms, MediaClusters and pods, and keeps claims and generated Secrets', async () => {
  // The garbage collector discovers new kinds every 30 s, later if it could not read all of them. It must know ours, or pods would outlive
  // their MediaCluster.
  await fixture.makeRoom('first', { peers: [{ name: 'anna' }] });
  await fixture.kubectl('delete', 'room', 'first', '--timeout=60s');
  await fixture.waitFor('secrets', 'first-peers', (secret) => secret === undefined, 120_000);

  await Promise.all([fixture.makeRoom('one', { peers: [{ name: 'anna' }] }), fixture.makeRoom('two')]);
  const tokens = await fixture.secret('media-api-tokens');
  const { code, stdout } = await keepsData.run();
  assert.equal(code, 0, stdout);
  assert.doesNotMatch(stdout, /not deleted in time/);
  for (const kind of ['rooms', 'mediaClusters', 'pods'] as const) assert.deepEqual(await names(kind), []);
  // The garbage collector deletes the others.
  await eventually('only the data is left', async () => (await names('secrets')).join() === generated.join());
  assert.deepEqual(await names('persistentVolumeClaims'), ['media-0']);
  assert.equal((await fixture.get('persistentVolumeClaims', 'media-0')).metadata.deletionTimestamp, undefined);
  assert.deepEqual(await fixture.secret('media-api-tokens'), tokens);
  // The plugin checks the permission to delete data for a change of owners. Finalizers of Rooms are removed after a timeout only.
  assertPermissions(keepsData, ['delete /persistentvolumeclaims', 'delete /secrets', 'patch mediarooms.dev/rooms']);
  await fixture.kubectl('delete', 'persistentvolumeclaim,secret', '--all', '--timeout=60s');
});

test('uninstall with deleteResources and deleteClaims deletes Rooms, MediaClusters and pods in order and leaves nothing', async () => {
  await server.apply(smallCluster('media', { storage }));
  await fixture.waitFor('mediaClusters', 'media', isAvailable);
  await Promise.all([fixture.makeRoom('one', { peers: [{ name: 'anna' }] }), fixture.makeRoom('two')]);
  const api = await fixture.api('media-0');
  const { code, stdout } = await deletesAll.run();
  assert.equal(code, 0, stdout);
  assert.doesNotMatch(stdout, /not deleted in time/);
  for (const kind of ['rooms', 'mediaClusters', 'pods'] as const) assert.deepEqual(await names(kind), []);
  await assert.rejects(api.get('/room'));
  await eventually('Secrets and claims are deleted', async () => {
    return [...(await names('secrets')), ...(await names('persistentVolumeClaims'))].length === 0;
  });
});

test('uninstall by default keeps Rooms, MediaClusters, pods, claims and Secrets, and their namespace can be deleted without an operator', async () => {
  await server.apply([smallCluster('media', { storage }, 'team'), room('kept', { peers: [{ name: 'anna' }] }, 'team')]);
  await fixture.waitFor('rooms', 'kept', ({ status }) => status?.phase === 'Ready', 60_000, 'team');
  const tokens = await readSecret(server, 'media-api-tokens', 'team');
  const { pid, uid } = { pid: fixture.runner.pidOf('media-0', 'team') ?? 0, uid: fixture.runner.pod('media-0', 'team').metadata.uid };
  await fixture.operator.stop();
  const held = room('held', {}, 'team');
  await server.apply({ ...held, metadata: { ...held.metadata, finalizers: ['mediarooms.dev/room', 'example.com/other'] } });
  const { code, stdout } = await keepsAll.run();
  assert.equal(code, 0, stdout);

  // A foreign finalizer is kept.
  const rooms = await fixture.list('rooms', 'team');
  assert.deepEqual(
    rooms.map(({ metadata }) => [metadata.name, metadata.finalizers ?? []]),
    [
      ['held', ['example.com/other']],
      ['kept', []],
    ],
  );
  assert.deepEqual(await names('mediaClusters', 'team'), ['media']);
  assert.deepEqual(await names('persistentVolumeClaims', 'team'), ['media-0']);
  assert.deepEqual(await readSecret(server, 'media-api-tokens', 'team'), tokens);
  assert.equal(((await readObject(server, 'pods', 'media-0', 'team')) as KubeJson).metadata.uid, uid);
  assert.ok(process.kill(pid, 0));
  assertPermissions(keepsAll, ['patch mediarooms.dev/mediaclusters']);

  await fixture.kubectl('-n', 'team', 'patch', 'room', 'held', '--type=merge', '-p', '{"metadata":{"finalizers":[]}}');
  await fixture.kubectl('delete', 'namespace', 'team', '--timeout=90s');
  // The next hooks list it with their Roles there.
  await server.apply([team, ...keepsAll.rules, ...deletesAll.rules]);
});

test('an operator that is installed again manages Rooms and MediaClusters that an uninstall kept', async () => {
  fixture.operator = startOperator({ after }, server, { env });
  await fixture.operator.says(/started leading/);
  await server.apply(smallCluster('media', { storage }));
  await fixture.waitFor('mediaClusters', 'media', isAvailable);
  const { status } = await fixture.makeRoom('kept');
  await fixture.operator.stop();
  assert.equal((await keepsAll.run()).code, 0);
  assert.equal((await fixture.get('rooms', 'kept')).metadata.finalizers, undefined);
  fixture.operator = startOperator({ after }, server, { env });
  const back = await fixture.waitFor('rooms', 'kept', ({ metadata }) => metadata.finalizers?.includes('mediarooms.dev/room') === true);
  assert.equal(back.status.incarnation, status.incarnation);
  await fixture.operator.stop('SIGKILL');
});

test('uninstall with deleteResources without an operator removes finalizers after the timeout', async () => {
  await fixture.kubectl(
    'patch',
    'room',
    'kept',
    '--type=merge',
    '-p',
    '{"metadata":{"finalizers":["mediarooms.dev/room","example.com/other"]}}',
  );
  const { code, stdout } = await deletesAll.run('--timeout=2');
  assert.equal(code, 0, stdout);
  assert.match(stdout, /objects not deleted in time, removing finalizers/);
  // A foreign finalizer is kept.
  const rooms = await fixture.list('rooms');
  assert.deepEqual(
    rooms.map(({ metadata }) => [metadata.name, metadata.finalizers]),
    [['kept', ['example.com/other']]],
  );
  await fixture.kubectl('patch', 'room', 'kept', '--type=merge', '-p', '{"metadata":{"finalizers":[]}}');
  // Removing finalizers of a MediaCluster is needed for interrupted uninstalls and for later versions only.
  assertPermissions(deletesAll, ['patch mediarooms.dev/mediaclusters']);
});
