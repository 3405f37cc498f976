// `--uninstall` with what the hook of the chart may do: everything ends in order while an operator works, and is let go of where none does.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { AuditLog } from '../kit/kube/audit-log.ts';
import { renderChart } from '../kit/kube/chart.ts';
import { startClusterFixture } from '../kit/kube/cluster-fixture.ts';
import { runOperator } from '../kit/kube/operator-process.ts';

const audit = new AuditLog({ after });
const stage = await startClusterFixture({ after }, { plane: { flags: audit.flags } });
const { server } = stage;
const account = 'mediarooms-operator-uninstall';
const kubeconfig = server.kubeconfigFor({ token: await server.serviceAccountToken('default', account) });
const hook = (await renderChart({ only: ['uninstall.yaml'] })).filter(({ kind }) => kind === 'Role' || kind === 'RoleBinding');
await server.apply(hook);

const uninstall = (timeout: number) => runOperator(server, { kubeconfig, args: ['--uninstall', '--timeout', String(timeout)] });
const left = async () => (await Promise.all((['rooms', 'mediaClusters', 'pods'] as const).map((kind) => stage.list(kind)))).flat();

test('Rooms, MediaClusters and pods end in order, and nothing is left', async () => {
  // The garbage collector looks for new kinds every 30 s only, and again so much later where it could not read them all: it must know ours,
  // or pods would outlive their MediaCluster so long.
  await stage.makeRoom('first', { peers: [{ name: 'anna' }] });
  await stage.kubectl('delete', 'room', 'first', '--timeout=60s');
  await stage.waitFor('secrets', 'first-peers', (secret) => secret === undefined, 120_000);

  await Promise.all([stage.makeRoom('one', { peers: [{ name: 'anna' }] }), stage.makeRoom('two')]);
  const api = await stage.api('media-0');
  const { code, stdout } = await uninstall(50);
  assert.equal(code, 0, stdout);
  assert.doesNotMatch(stdout, /not gone in time/);
  assert.deepEqual(await left(), []);
  await assert.rejects(api.get('/room'));
  await stage.waitFor('secrets', 'one-peers', (secret) => secret === undefined);
});

test('with a dead operator the finalizers are taken away at the timeout, and no more is done than the hook of the chart may', async () => {
  await stage.operator.stop('SIGKILL');
  const held = (name: string, ...finalizers: string[]) => ({ ...stage.room(name), metadata: { name, namespace: 'default', finalizers } });
  await server.apply([held('dead', 'mediarooms.dev/room'), held('held', 'mediarooms.dev/room', 'example.com/other')]);
  const { code, stdout } = await uninstall(2);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /not gone in time: their finalizers are taken away/);
  // A finalizer of somebody else is theirs to take away.
  const rooms = await stage.list('rooms');
  assert.deepEqual(
    rooms.map(({ metadata }) => [metadata.name, metadata.finalizers]),
    [['held', ['example.com/other']]],
  );
  await stage.kubectl('patch', 'room', 'held', '--type=merge', '-p', '{"metadata":{"finalizers":[]}}');

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
  // Letting go of a MediaCluster is for one with a finalizer of a later version.
  assert.deepEqual([...used, 'patch mediarooms.dev/mediaclusters'].sort(), granted.sort());
});
