// Chart upgrade: from the first chart (fixture) to this one and back, with a live room; operators and nodes run as pods.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { versionAnnotation } from '../../crds/crd-manifests.ts';
import manifest from '../../package.json' with { type: 'json' };
import { startControlPlane } from '../kit/kube/control-plane.ts';
import { chartFolder, helmOf, mustRun } from '../kit/kube/helm.ts';
import { mustKubectl } from '../kit/kube/kubectl.ts';
import { startPodRunner } from '../kit/kube/pods/pod-runner.ts';

const firstChart = join(import.meta.dirname, 'fixtures/chart-0.7.0');
const server = await startControlPlane({ after });
const runner = await startPodRunner(server);
const helm = helmOf(server);
const values = [
  '--set',
  'mediaCluster.spec.replicas=1',
  '--set',
  'mediaCluster.spec.drain.timeoutSeconds=2',
  '--set',
  'mediaCluster.spec.config.componentsUsed={recording}',
];
/** Generous timeout in seconds, because this test is not about time. */
const timeoutSeconds = 200;
const slow = { timeout: 4_000 * timeoutSeconds };
const wait = ['--wait', '--timeout', `${timeoutSeconds}s`];
const secrets = ['rooms-api-tokens', 'rooms-secret-keys', 'rooms-cookie'];

const mustRunKubectl = mustKubectl(server, [], 1_100 * timeoutSeconds);
const kubectl = async (...args: string[]) => (await mustRunKubectl(...args)).trim();

/** State that must be kept: location and start of the room, the process of its node, and every Secret. */
async function kept() {
  await kubectl('wait', '--for=condition=Ready', 'mroom/kept', `--timeout=${timeoutSeconds}s`);
  const room = JSON.parse(await kubectl('get', 'mroom', 'kept', '-o', 'json'));
  const found = JSON.parse(await kubectl('get', 'secrets', ...secrets, '-o', 'json'));
  const { incarnation, node, address, components } = room.status;
  return {
    room: { uid: room.metadata.uid, incarnation, node, address, components },
    pid: runner.pidOf(node),
    secrets: found.items.map(({ metadata, data }: { metadata: { uid: string }; data: object }) => ({ uid: metadata.uid, data })),
  };
}

const maxRooms = async () =>
  /maxRooms: (\d+)/.exec(await kubectl('get', 'configmap', 'rooms-config', '-o', 'jsonpath={.data.config\\.yaml}'))?.[1];
const definitionVersion = async () => {
  const { metadata } = JSON.parse(await kubectl('get', 'crd', 'rooms.mediarooms.dev', '-o', 'json'));
  return metadata.annotations[versionAnnotation];
};
const operatorPods = async () =>
  (await kubectl('get', 'pods', '-l', 'app.kubernetes.io/component=operator', '-o', 'jsonpath={.items[*].metadata.name}')).split(' ');

/** Waits until the MediaCluster matches its latest spec. */
async function settled(): Promise<void> {
  const generation = await kubectl('get', 'mcl', 'rooms', '-o', 'jsonpath={.metadata.generation}');
  await kubectl('wait', `--for=jsonpath={.status.observedGeneration}=${generation}`, 'mcl/rooms', `--timeout=${timeoutSeconds}s`);
  for (const condition of ['Available=True', 'Progressing=False', 'ConfigSynced=True'])
    await kubectl('wait', `--for=condition=${condition}`, 'mcl/rooms', `--timeout=${timeoutSeconds}s`);
}

test('an upgrade from the first chart replaces the operator and older CRDs, and keeps room, node and Secrets', slow, async () => {
  await mustRun(helm, ['install', 'rooms', firstChart, ...wait, ...values]);
  await settled();
  // A component in the form of v1alpha1, which the first chart has.
  const spec = { components: [{ name: 'tape', type: 'recording', options: { subscribeMode: 'manual' } }] };
  await server.apply({ apiVersion: 'mediarooms.dev/v1alpha1', kind: 'Room', metadata: { name: 'kept', namespace: 'default' }, spec });
  const before = await kept();
  const operators = await operatorPods();

  // Forces a new operator pod. The values of the first chart are reused, which does not have those of this one.
  const more = ['--set', 'operator.podAnnotations.upgraded=yes', '--set', 'mediaCluster.spec.config.limits.maxRooms=7'];
  await mustRun(helm, ['upgrade', 'rooms', chartFolder, ...wait, '--reuse-values', ...more]);
  await settled();
  assert.deepEqual(await kept(), before);
  assert.match(
    await kubectl('get', 'mroom', 'kept', '-o', 'jsonpath={.status.conditions[?(@.type=="Accepted")].message}'),
    /in mediarooms\.dev\/v1alpha2 it is/,
  );
  assert.equal(await maxRooms(), '7');
  assert.equal(await definitionVersion(), manifest.version);
  // Helm waits for the new pod; the old pod has its grace period.
  for (const name of operators) await kubectl('wait', '--for=delete', `pod/${name}`, `--timeout=${timeoutSeconds}s`);
  const now = await operatorPods();
  assert.deepEqual(
    operators.filter((name) => now.includes(name)),
    [],
  );
});

test('the same upgrade again changes nothing', slow, async () => {
  const versions = () => kubectl('get', 'mcl,deployment,role,rolebinding,serviceaccount', '-o', 'jsonpath={.items[*].metadata.generation}');
  const [before, objects] = [await kept(), await versions()];
  await mustRun(helm, ['upgrade', 'rooms', chartFolder, ...wait, '--reuse-values']);
  assert.deepEqual([await kept(), await versions()], [before, objects]);
});

test('an upgrade that the schema rejects changes nothing', slow, async () => {
  const before = await kept();
  const { code, stderr } = await helm(['upgrade', 'rooms', chartFolder, '--reuse-values', '--set', 'mediaCluster.spec.replica=2']);
  assert.equal(code, 1);
  assert.match(stderr, /additional properties 'replica' not allowed/);
  const late = await helm(['upgrade', 'rooms', chartFolder, '--reuse-values', '--set', 'mediaCluster.spec.ingress.host=https://a']);
  assert.equal(late.code, 1);
  assert.match(late.stderr, /must be a host name in lower case/);
  assert.deepEqual(await kept(), before);
  assert.equal(await maxRooms(), '7');
});

test('a rollback to the first chart restores its settings and keeps the room and the Secrets', slow, async () => {
  const before = await kept();
  await mustRun(helm, ['rollback', 'rooms', '1', ...wait]);
  await settled();
  assert.deepEqual(await kept(), before);
  assert.equal(await maxRooms(), undefined);
  // CRDs are never downgraded.
  assert.equal(await definitionVersion(), manifest.version);
});

test('an uninstall of this chart with deleteResources and deleteClaims deletes the objects of the first chart too', slow, async () => {
  const deletesAll = ['--set', 'uninstall.deleteResources=true,uninstall.deleteClaims=true'];
  await mustRun(helm, ['upgrade', 'rooms', chartFolder, ...wait, ...values, ...deletesAll]);
  await mustRun(helm, ['uninstall', 'rooms', '--timeout', `${timeoutSeconds}s`]);
  await kubectl('wait', '--for=delete', 'mroom,mcl,pods,secrets', '--all', `--timeout=${timeoutSeconds}s`);
  assert.equal(await kubectl('get', 'clusterroles,roles', '-A', '-l', 'app.kubernetes.io/managed-by=Helm', '-o', 'name'), '');
});
