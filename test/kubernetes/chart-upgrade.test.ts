// From the first chart, which is kept as it was, to this one and back, with a room that lives; operators and nodes are pods that run.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { versionAnnotation } from '../../crds/crd-manifests.ts';
import manifest from '../../package.json' with { type: 'json' };
import { startControlPlane } from '../kit/kube/control-plane.ts';
import { chartFolder, helmOf, mustRun } from '../kit/kube/helm.ts';
import { startPodRunner } from '../kit/kube/pods/pod-runner.ts';

const firstChart = join(import.meta.dirname, 'fixtures/chart-0.7.0');
const server = await startControlPlane({ after });
const runner = await startPodRunner(server);
const helm = helmOf(server);
const values = ['--set', 'mediaCluster.spec.replicas=1', '--set', 'mediaCluster.spec.drain.timeoutSeconds=2'];
/** Seconds for what takes some twelve on a quiet machine: nothing here is about time. */
const timeoutSeconds = 200;
const slow = { timeout: 4_000 * timeoutSeconds };
const wait = ['--wait', '--timeout', `${timeoutSeconds}s`];
const secrets = ['rooms-api-tokens', 'rooms-secret-keys', 'rooms-cookie'];

async function kubectl(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await server.kubectl(args, { timeoutMs: 1_100 * timeoutSeconds });
  assert.equal(code, 0, `kubectl ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
}

/** All that must stay: where the room is and since when, the process of its node, and every secret. */
async function kept() {
  await kubectl('wait', '--for=condition=Ready', 'mroom/kept', `--timeout=${timeoutSeconds}s`);
  const room = JSON.parse(await kubectl('get', 'mroom', 'kept', '-o', 'json'));
  const found = JSON.parse(await kubectl('get', 'secrets', ...secrets, '-o', 'json'));
  const { incarnation, node, address } = room.status;
  return {
    room: { uid: room.metadata.uid, incarnation, node, address },
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

/** Until the MediaCluster is as its newest spec says. */
async function settled(): Promise<void> {
  const generation = await kubectl('get', 'mcl', 'rooms', '-o', 'jsonpath={.metadata.generation}');
  await kubectl('wait', `--for=jsonpath={.status.observedGeneration}=${generation}`, 'mcl/rooms', `--timeout=${timeoutSeconds}s`);
  for (const condition of ['Available=True', 'Progressing=False', 'ConfigSynced=True'])
    await kubectl('wait', `--for=condition=${condition}`, 'mcl/rooms', `--timeout=${timeoutSeconds}s`);
}

test(
  'an upgrade from the first chart replaces the operator and older definitions, and touches neither room, node nor secret',
  slow,
  async () => {
    await mustRun(helm, ['install', 'rooms', firstChart, ...wait, ...values]);
    await settled();
    await server.apply({ apiVersion: 'mediarooms.dev/v1alpha1', kind: 'Room', metadata: { name: 'kept', namespace: 'default' } });
    const before = await kept();
    const operators = await operatorPods();

    // Whatever differs between the two, there is a new operator.
    const more = ['--set', 'operator.podAnnotations.upgraded=yes', '--set', 'mediaCluster.spec.config.limits.maxRooms=7'];
    await mustRun(helm, ['upgrade', 'rooms', chartFolder, ...wait, ...values, ...more]);
    await settled();
    assert.deepEqual(await kept(), before);
    assert.equal(await maxRooms(), '7');
    assert.equal(await definitionVersion(), manifest.version);
    // Helm waits for the new one; the old one has its time to end.
    for (const name of operators) await kubectl('wait', '--for=delete', `pod/${name}`, `--timeout=${timeoutSeconds}s`);
    const now = await operatorPods();
    assert.deepEqual(
      operators.filter((name) => now.includes(name)),
      [],
    );
  },
);

test('the same upgrade again changes nothing', slow, async () => {
  const versions = () => kubectl('get', 'mcl,deployment,role,rolebinding,serviceaccount', '-o', 'jsonpath={.items[*].metadata.generation}');
  const [before, objects] = [await kept(), await versions()];
  await mustRun(helm, ['upgrade', 'rooms', chartFolder, ...wait, '--reuse-values']);
  assert.deepEqual([await kept(), await versions()], [before, objects]);
});

test('an upgrade that the schema refuses leaves everything as it is', slow, async () => {
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

test('a rollback to the first chart brings its settings back, with the room and the secrets as they are', slow, async () => {
  const before = await kept();
  await mustRun(helm, ['rollback', 'rooms', '1', ...wait]);
  await settled();
  assert.deepEqual(await kept(), before);
  assert.equal(await maxRooms(), undefined);
  // Definitions are never replaced by older ones.
  assert.equal(await definitionVersion(), manifest.version);
});

test('what the first chart installed is gone after the uninstall of this one', slow, async () => {
  await mustRun(helm, ['upgrade', 'rooms', chartFolder, ...wait, ...values]);
  await mustRun(helm, ['uninstall', 'rooms', '--timeout', `${timeoutSeconds}s`]);
  await kubectl('wait', '--for=delete', 'mroom,mcl,pods,secrets', '--all', `--timeout=${timeoutSeconds}s`);
  assert.equal(await kubectl('get', 'clusterroles,roles', '-A', '-l', 'app.kubernetes.io/managed-by=Helm', '-o', 'name'), '');
});
