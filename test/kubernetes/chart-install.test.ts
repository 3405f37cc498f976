// Chart installation: default values, two releases, `helm test`, uninstall; operators, hooks and nodes run as pods.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { apiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { kubernetesPrograms } from '../kit/kube/binaries.ts';
import { startControlPlane } from '../kit/kube/control-plane.ts';
import { chartFolder, helmOf, mustRun } from '../kit/kube/helm.ts';
import { mustKubectl } from '../kit/kube/kubectl.ts';
import { startPodRunner } from '../kit/kube/pods/pod-runner.ts';
import { readSecret, room } from '../kit/kube/read-objects.ts';
import { runShell } from '../kit/processes/doc-commands.ts';

const server = await startControlPlane({ after });
const runner = await startPodRunner(server);
const helm = helmOf(server);
const quick = ['--set', 'mediaCluster.spec.replicas=1', '--set', 'mediaCluster.spec.drain.timeoutSeconds=2'];

const mustRunKubectl = mustKubectl(server, [], 100_000);
const kubectl = async (...args: string[]) => (await mustRunKubectl(...args)).trim();

const install = (release: string, namespace: string, ...flags: string[]) =>
  mustRun(helm, ['install', release, chartFolder, '-n', namespace, '--create-namespace', '--wait', '--timeout', '120s', ...flags]);
const deletesAll = ['--set', 'uninstall.deleteResources=true,uninstall.deleteClaims=true'];
const uninstall = (release: string, namespace: string) =>
  mustRun(helm, ['uninstall', release, '-n', namespace, '--wait', '--timeout', '120s']);
const available = (cluster: string, namespace: string) =>
  kubectl('-n', namespace, 'wait', '--for=condition=Available', `mcl/${cluster}`, '--timeout=90s');

async function makeRoom(name: string, namespace: string, spec: object = {}): Promise<void> {
  await server.apply(room(name, spec, namespace));
  await kubectl('-n', namespace, 'wait', '--for=condition=Ready', `mroom/${name}`, '--timeout=60s');
}

/** `kind/name` of all objects of a namespace, except Events and default objects. */
async function objectsOf(namespace: string): Promise<string[]> {
  const kinds = (await kubectl('api-resources', '--namespaced', '--verbs=list', '-o', 'name')).split('\n');
  const shown = kinds.filter((kind) => !/^events(\.|$)/.test(kind));
  const found = await kubectl('-n', namespace, 'get', shown.join(','), '-o', 'name', '--ignore-not-found');
  const always = ['configmap/kube-root-ca.crt', 'serviceaccount/default', 'service/kubernetes'];
  return found.split('\n').filter((name) => name !== '' && !always.includes(name) && !/^endpoint/.test(name));
}

/** Cluster-scoped objects of a release. */
async function wideObjects(): Promise<string> {
  return kubectl('get', 'clusterroles,clusterrolebindings,priorityclasses', '-l', 'app.kubernetes.io/managed-by=Helm', '-o', 'name');
}

async function untilDeleted(namespace: string): Promise<void> {
  let left: string[] = [];
  const isEmpty = async () => {
    left = await objectsOf(namespace);
    return left.length === 0;
  };
  // The garbage collector discovers new kinds every 30 s.
  await eventually(() => `all objects of ${namespace} are deleted, except ${left}`, isEmpty, { within: 90_000, every: 500 });
}

/** Commands of NOTES.txt, each with its input lines. */
function commandsOf(notes: string): string[] {
  const lines = notes.split('\n').filter((line) => line.startsWith('  '));
  const commands: string[] = [];
  for (const line of lines.map((each) => each.slice(2))) {
    const open = /<<EOF$/.test(commands.at(-1)?.split('\n')[0] ?? '') && !/\nEOF$/.test(commands.at(-1) ?? '');
    if (open) commands.push(`${commands.pop()}\n${line}`);
    else commands.push(line);
  }
  return commands;
}

const shellEnvironment = () => ({
  ...process.env,
  PATH: [dirname(kubernetesPrograms(['kube-apiserver', 'kubectl', 'helm']).kubectl), process.env.PATH].join(delimiter),
  KUBECONFIG: server.kubeconfig,
  KUBECACHEDIR: `${server.dir}/cache`,
});

const shell = (command: string) => runShell(command, { env: shellEnvironment() });

test('default values install an operator and two nodes, and the commands of the notes work', async () => {
  const notes = await install('mediarooms', 'default');
  const commands = commandsOf(notes);
  const said = new Map<string, string>();
  for (const command of commands) {
    if (/port-forward|^http|delete crd|uninstall\./.test(command)) continue;
    said.set(
      command
        .replace(/^kubectl -n default /, '')
        .split(' ')
        .slice(0, 2)
        .join(' '),
      await shell(command),
    );
  }
  assert.deepEqual([...said.keys()], ['wait --for=condition=Available', 'get secret', 'apply -f', 'get rooms', 'helm -n']);
  assert.match(said.get('get secret') ?? '', /^[\w-]{40,}$/);
  assert.match(said.get('get rooms') ?? '', /^NAME[^\n]*\nfirst +/);
  assert.match(said.get('helm -n') ?? '', /TEST SUITE: +mediarooms-operator-smoke\n(.*\n)*Phase: +Succeeded/);
  assert.equal((await kubectl('get', 'pods', '-l', 'app.kubernetes.io/component=node', '-o', 'name')).split('\n').length, 2);
  // The kubelets of this test do not support port forwarding, but the command must be correct.
  const forward = commands.find((command) => command.includes('port-forward')) ?? '';
  assert.equal(forward, 'kubectl -n default port-forward svc/mediarooms 8080');
  assert.equal(await kubectl('get', 'svc', 'mediarooms', '-o', 'jsonpath={.spec.ports[*].port}'), '8080');
  await kubectl('wait', '--for=condition=Ready', 'mroom/first', '--timeout=60s');
  assert.ok(commands.includes('kubectl delete crd rooms.mediarooms.dev mediaclusters.mediarooms.dev'));
});

test('a failed helm test names the failed step and deletes its room', async () => {
  // Nothing listens at this address, as if clients outside used an address unreachable from inside.
  const spec = { media: { announcedAddress: '127.0.0.1' } };
  await kubectl('patch', 'mcl', 'mediarooms', '--type=merge', '-p', JSON.stringify({ spec }));
  const nodes = ['mediarooms-0', 'mediarooms-1'];
  for (const node of nodes)
    await runner.waitForPod(node, ({ metadata }) => metadata.annotations?.['mediarooms.dev/media-address'] === '127.0.0.1');
  // The address file of each node is updated later; until then clients would get the previous address.
  const files = nodes.map((node) => join(server.dir, 'pods', runner.pod(node).metadata.uid, 'volumes/pod/address'));
  await eventually('the nodes have another address', () => files.every((file) => readFileSync(file, 'utf8') === '127.0.0.1'));
  const { code } = await helm(['test', 'mediarooms', '--timeout', '60s']);
  assert.equal(code, 1);
  const said = runner.logOf('mediarooms-operator-smoke');
  assert.match(said, /The media address 127.0.0.1 port 3\d{4} does not respond over UDP: no response within 8 s/);
  assert.doesNotMatch(said, /smoke test passed/);
  await mustRun(helm, ['upgrade', 'mediarooms', chartFolder, '--wait', '--set', 'test.media=false', '--force-conflicts']);
  await mustRun(helm, ['test', 'mediarooms', '--timeout', '60s']);
  const { podIP } = runner.pod('mediarooms-0').status ?? {};
  const { body } = await apiClient(`http://${podIP}:8080`, (await readSecret(server, 'mediarooms-api-tokens'))?.admin).get('/room');
  assert.deepEqual(
    body.data.map(({ id }: { id: string }) => id),
    ['first'],
  );
  await kubectl('patch', 'mcl', 'mediarooms', '--type=json', '-p', '[{"op":"remove","path":"/spec/media"}]');
});

test('a second installation in another namespace has separate nodes, rooms and tokens, and its uninstall keeps them', async () => {
  await install('mediarooms', 'team', ...quick);
  await available('mediarooms', 'team');
  await makeRoom('first', 'team');
  const token = (namespace: string) => kubectl('-n', namespace, 'get', 'secret', 'mediarooms-api-tokens', '-o', 'jsonpath={.data.admin}');
  assert.notEqual(await token('team'), await token('default'));
  const pid = runner.pidOf('mediarooms-0', 'team') ?? 0;
  await uninstall('mediarooms', 'team');
  const left = await objectsOf('team');
  for (const name of [
    'mediacluster.mediarooms.dev/mediarooms',
    'room.mediarooms.dev/first',
    'pod/mediarooms-0',
    'secret/mediarooms-api-tokens',
  ])
    assert.ok(left.includes(name), `${name} is in ${left}`);
  // The garbage collector deletes the Lease, and the pod of the hook.
  const isWithoutOperator = async () => !(await objectsOf('team')).some((name) => /operator|^job|^role/.test(name));
  await eventually('nothing of the operator is left', isWithoutOperator, { within: 90_000, every: 500 });
  assert.equal(runner.pidOf('mediarooms-0', 'team'), pid);
  assert.equal(await kubectl('-n', 'team', 'get', 'mroom', 'first', '-o', 'jsonpath={.metadata.finalizers}'), '');
  await kubectl('delete', 'namespace', 'team', '--timeout=90s');
  // The first installation is not affected.
  await kubectl('wait', '--for=condition=Ready', 'mroom/first', '--timeout=60s');
});

test('a second release in the same namespace waits for the Lease, and its uninstall does not affect the first', async () => {
  const before = await kubectl('get', 'mroom', 'first', '-o', 'jsonpath={.status.incarnation}');
  await install('second', 'default', ...quick, ...deletesAll);
  await available('second', 'default');
  await makeRoom('of-second', 'default', { clusterRef: { name: 'second' } });
  await kubectl('delete', 'mroom', 'of-second', '--timeout=60s');
  await uninstall('second', 'default');
  await kubectl('wait', '--for=condition=Ready', 'mroom/first', '--timeout=60s');
  assert.equal(await kubectl('get', 'mroom', 'first', '-o', 'jsonpath={.status.incarnation}'), before);
  await kubectl('wait', '--for=delete', 'pod/second-0', '--timeout=60s');
});

test('uninstall with deleteResources and deleteClaims ends rooms before nodes and leaves no object, no finalizer and no process', async () => {
  const pids = runner.pods.flatMap(({ metadata }) => runner.pidOf(metadata.name, metadata.namespace) ?? []);
  assert.ok(pids.length >= 3);
  await mustRun(helm, ['upgrade', 'mediarooms', chartFolder, '--wait', '--reuse-values', '--force-conflicts', ...deletesAll]);
  await uninstall('mediarooms', 'default');
  await untilDeleted('default');
  assert.equal(await wideObjects(), '');
  for (const pid of pids) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  // The command of the notes that deletes the CRDs.
  await shell('kubectl delete crd rooms.mediarooms.dev mediaclusters.mediarooms.dev');
});
