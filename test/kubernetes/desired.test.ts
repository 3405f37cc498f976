// Desired objects of a MediaCluster in a real API server: valid, idempotent, and restricted by Pod Security if possible.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { parse } from 'yaml';
import { disruptionBudget } from '../../operator/clusters/auxiliary-objects.ts';
import { configFiles, configObjects } from '../../operator/clusters/config-files.ts';
import { sharedObjects, slotObjects } from '../../operator/clusters/desired.ts';
import type { ClusterObject, Pod } from '../../operator/clusters/manifests.ts';
import { annotation } from '../../operator/clusters/names.ts';
import { allocatedPorts, allocatePortBlock, type Exposure, fixedPortBlock, portRangeOf } from '../../operator/clusters/network/ports.ts';
import type { StoredCluster } from '../../operator/clusters/owned.ts';
import { pod } from '../../operator/clusters/pods/pod.ts';
import { missingSecrets } from '../../operator/clusters/secrets/generated-secrets.ts';
import { KubeClient } from '../../operator/kube/client.ts';
import { KubeError } from '../../operator/kube/http/kube-error.ts';
import { type Resource, resources, type Stored } from '../../operator/kube/objects.ts';
import { richSpec, testFacts } from '../kit/fakes/media-cluster.ts';
import { startApiServer } from '../kit/kube/api-server.ts';
import { applyDefinitions } from '../kit/kube/media-clusters.ts';
import { mediaCluster } from '../kit/kube/read-objects.ts';
import { monitoringDefinitions } from '../kit/kube/third-party-crds.ts';
import { silentLog } from '../kit/silent-log.ts';

const exposures: readonly Exposure[] = ['nodePort', 'loadBalancer', 'hostPort', 'hostNetwork', 'podIP'];
const server = await startApiServer({ after });
await applyDefinitions(server, monitoringDefinitions);
const client = await KubeClient.connect({
  kubeconfig: server.kubeconfig,
  log: silentLog(),
  userAgent: 'test',
  timeoutMs: 30_000,
  fieldManager: 'mediarooms-operator',
});
after(() => client.close());

const resourceOf = ({ kind }: { kind: string }): Resource => {
  const found = Object.values(resources).find((resource) => resource.kind === kind);
  assert.ok(found, kind);
  return found;
};

async function makeNamespace(name: string, labels: Record<string, string> = {}): Promise<void> {
  await client.create(resources.namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
}

/** The cluster as the API server stores it, with defaults. */
async function storeCluster(namespace: string, spec: object, name = 'media'): Promise<StoredCluster> {
  return (await client.create(resources.mediaClusters, mediaCluster(name, spec, namespace))) as unknown as StoredCluster;
}

const applied = (object: ClusterObject | Pod) => client.apply(resourceOf(object), object as never);

async function applyTwice(object: ClusterObject | Pod): Promise<Stored> {
  // The API server writes a claim again on the second apply, whatever it contains.
  if (object.kind === 'PersistentVolumeClaim') await applied(object);
  const first = await applied(object);
  const second = await applied(object);
  assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion, `${object.kind} ${object.metadata.name}`);
  assert.equal(second.metadata.generation, first.metadata.generation);
  return second;
}

function everything(cluster: StoredCluster, basePort: number): { objects: ClusterObject[]; pod: Pod } {
  const facts = testFacts();
  const files = configFiles(cluster, facts);
  assert.ok('config' in files, JSON.stringify(files));
  const slot = { index: 0, basePort };
  const { media, others } = slotObjects(cluster, slot);
  const shared = [...sharedObjects(cluster, facts), disruptionBudget(cluster, 1), ...configObjects(cluster, files)];
  const objects = [...shared, ...others, ...(media ? [media] : [])];
  return { objects, pod: pod(cluster, facts, slot) };
}

for (const exposure of exposures) {
  for (const [form, spec] of [
    ['small', {}],
    ['rich', richSpec],
  ] as const) {
    test(`every object of a ${form} cluster with ${exposure} is valid and its apply is idempotent`, async () => {
      const namespace = `twice-${form}-${exposure.toLowerCase()}`;
      await makeNamespace(namespace);
      const loadBalancer = { className: 'example.com/udp', annotations: { 'example.com/kind': 'fast' } };
      const cluster = await storeCluster(namespace, {
        ...spec,
        media: { exposure, ...(form === 'rich' && exposure === 'loadBalancer' ? { loadBalancer } : {}) },
      });
      const basePort = exposure === 'nodePort' ? (form === 'rich' ? 30_110 : 30_100) : fixedPortBlock(cluster.spec, 0);
      assert.ok(basePort);
      const { objects, pod: made } = everything(cluster, basePort);
      for (const object of [...objects, made]) {
        const stored = await applyTwice(object);
        assert.deepEqual(
          stored.metadata.ownerReferences?.map(({ uid, controller }) => ({ uid, controller })),
          [{ uid: cluster.metadata.uid, controller: true }],
        );
      }
    });
  }
}

test('a rich cluster has an object of every kind', async () => {
  await makeNamespace('kinds');
  const cluster = await storeCluster('kinds', richSpec);
  const { objects } = everything(cluster, 30_300);
  const kinds = new Set(objects.map(({ kind }) => kind));
  assert.deepEqual([...kinds].sort(), [
    'ConfigMap',
    'Ingress',
    'NetworkPolicy',
    'PersistentVolumeClaim',
    'PodDisruptionBudget',
    'Secret',
    'Service',
    'ServiceAccount',
    'ServiceMonitor',
  ]);
});

test('null in a configuration is stored and written to the file', async () => {
  await makeNamespace('nulls');
  const cluster = await storeCluster('nulls', richSpec);
  const files = configFiles(cluster, testFacts());
  assert.ok('config' in files);
  const { limits, roomDefaults, timeouts } = parse(files.config.text);
  assert.deepEqual([limits.rateLimitApi, roomDefaults.peerDisconnectedTimeout, timeouts.rawRecordingTtl], [null, null, null]);
});

test('missing Secrets can be created only once', async () => {
  await makeNamespace('made');
  const cluster = await storeCluster('made', {});
  const random = (size: number) => Buffer.alloc(size, 5);
  const secrets = missingSecrets(cluster, { secrets: new Map() }, random);
  assert.equal(secrets.length, 3);
  for (const secret of secrets) {
    await client.create(resources.secrets, secret);
    await assert.rejects(
      client.create(resources.secrets, secret),
      (error) => error instanceof KubeError && error.reason === 'AlreadyExists',
    );
  }
});

const restricted = { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/enforce-version': 'latest' };
for (const exposure of exposures) {
  const onHost = exposure === 'hostPort' || exposure === 'hostNetwork';
  test(`Pod Security restricted ${onHost ? 'rejects' : 'accepts'} pods of ${exposure}`, async () => {
    const namespace = `restricted-${exposure.toLowerCase()}`;
    await makeNamespace(namespace, restricted);
    const cluster = await storeCluster(namespace, { turn: { enabled: true }, media: { exposure } });
    const { pod: made } = everything(cluster, 30_400);
    if (onHost) await assert.rejects(client.create(resources.pods, made), /violates PodSecurity "restricted:latest": host/);
    else assert.ok((await client.create(resources.pods, made)).metadata.uid);
  });
}

test('a rejection of node ports by the API server leads to the next free block', async () => {
  await makeNamespace('ports');
  const spec = { workersPerNode: 2, media: { exposure: 'nodePort' } };
  const one = await storeCluster('ports', spec, 'one');
  const other = await storeCluster('ports', spec, 'other');
  // Below 30,086, because Services without a node port get a random one of the upper range.
  const media = (cluster: StoredCluster, basePort: number) => {
    const { media: service } = slotObjects(cluster, { index: 0, basePort });
    assert.ok(service);
    return service;
  };
  await applied(media(one, 30_051));
  const refused = (basePort: number) =>
    applied(media(other, basePort)).then(
      () => assert.fail('not refused'),
      (error: KubeError) => error.message,
    );
  const message = await refused(30_050);
  const used = new Set(allocatedPorts(message));
  assert.deepEqual([...used], [30_051]);
  // One conflict is found at a time: the next block contains the second port of the first.
  assert.equal(allocatePortBlock({ from: 30_050, to: 30_060 }, 2, used), 30_052);
  for (const port of allocatedPorts(await refused(30_052))) used.add(port);
  assert.equal(allocatePortBlock({ from: 30_050, to: 30_060 }, 2, used), 30_053);
  await applyTwice(media(other, 30_053));
  assert.deepEqual(portRangeOf(await refused(40_000)), { from: 30_000, to: 32_767 });
});

test('annotations and the label of running pods are kept by an apply of other fields', async () => {
  await makeNamespace('patched');
  const cluster = await storeCluster('patched', {});
  const { pod: made } = everything(cluster, 30_600);
  const { namespace, name } = (await client.create(resources.pods, made)).metadata;
  const patched = await client.patch(
    resources.pods,
    { namespace, name },
    {
      metadata: {
        annotations: { [annotation.mediaAddress]: '192.0.2.1', [annotation.configHash]: 'x' },
        labels: { 'mediarooms.dev/busy': 'true' },
      },
    },
  );
  assert.equal(patched?.metadata.annotations?.[annotation.mediaAddress], '192.0.2.1');
  assert.equal(patched?.metadata.annotations?.[annotation.templateHash], made.metadata.annotations?.[annotation.templateHash]);
});
