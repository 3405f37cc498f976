// `--uninstall` with the permissions of the chart hook: deletion in order with a running operator, and removal of finalizers without one.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { AuditLog } from '../kit/kube/audit-log.ts';
import { startClusterFixture } from '../kit/kube/cluster-fixture.ts';
import { renderChart } from '../kit/kube/helm.ts';
import { runOperator } from '../kit/kube/operator-process.ts';
import { room } from '../kit/kube/read-objects.ts';

const audit = new AuditLog({ after });
const fixture = await startClusterFixture({ after }, { plane: { flags: audit.flags } });
const { server } = fixture;
const account = 'mediarooms-operator-uninstall';
const kubeconfig = server.kubeconfigFor({ token: await server.serviceAccountToken('default', account) });
const hook = (await renderChart({ only: ['uninstall.yaml'] })).filter(({ kind }) => kind === 'Role' || kind === 'RoleBinding');
await server.apply(hook);

const uninstall = (timeout: number) => runOperator(server, { kubeconfig, args: ['--uninstall', '--timeout', String(timeout)] });
const left = async () => (await Promise.all((['rooms', 'mediaClusters', 'pods'] as const).map((kind) => fixture.list(kind)))).flat();

test('uninstall deletes Rooms, MediaClusters and pods in order and leaves nothing', async () => {
  // The garbage collector discovers new kinds every 30 s, later if it could not read all of them. It must know ours, or pods would outlive
  // their MediaCluster.
  await fixture.makeRoom('first', { peers: [{ name: 'anna' }] });
  await fixture.kubectl('delete', 'room', 'first', '--timeout=60s');
  await fixture.waitFor('secrets', 'first-peers', (secret) => secret === undefined, 120_000);

  await Promise.all([fixture.makeRoom('one', { peers: [{ name: 'anna' }] }), fixture.makeRoom('two')]);
  const api = await fixture.api('media-0');
  const { code, stdout } = await uninstall(50);
  assert.equal(code, 0, stdout);
  assert.doesNotMatch(stdout, /not deleted in time/);
  assert.deepEqual(await left(), []);
  await assert.rejects(api.get('/room'));
  await fixture.waitFor('secrets', 'one-peers', (secret) => secret === undefined);
});

test('uninstall without an operator removes finalizers after the timeout, with the permissions of the chart hook', async () => {
  await fixture.operator.stop('SIGKILL');
  const held = (name: string, ...finalizers: string[]) => ({ ...room(name), metadata: { name, namespace: 'default', finalizers } });
  await server.apply([held('dead', 'mediarooms.dev/room'), held('held', 'mediarooms.dev/room', 'example.com/other')]);
  const { code, stdout } = await uninstall(2);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /objects not deleted in time, removing finalizers/);
  // A foreign finalizer is kept.
  const rooms = await fixture.list('rooms');
  assert.deepEqual(
    rooms.map(({ metadata }) => [metadata.name, metadata.finalizers]),
    [['held', ['example.com/other']]],
  );
  await fixture.kubectl('patch', 'room', 'held', '--type=merge', '-p', '{"metadata":{"finalizers":[]}}');

  const calls = audit.callsOf(account);
  const used = new Set(calls.filter(({ resource }) => resource !== '').map(({ verb, group, resource }) => `${verb} ${group}/${resource}`));
  type Rule = { apiGroups: string[]; resources: string[]; verbs: string[] };
  const rules = hook.flatMap((each) => (each.rules ?? []) as Rule[]);
  const granted = rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`))),
  );
  assert.deepEqual(
    calls.filter(({ code }) => code === 403),
    [],
  );
  // Removing finalizers of a MediaCluster is needed for later versions only.
  assert.deepEqual([...used, 'patch mediarooms.dev/mediaclusters'].sort(), granted.sort());
});
