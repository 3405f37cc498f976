// Everything around the pods of a MediaCluster: made, mended, removed when no longer wanted, never taken from others.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ClusterOperator } from '../kit/kube/cluster-operator.ts';
import { startControlPlane } from '../kit/kube/control-plane.ts';
import { applyDefinitions, basePort, MediaClusterUser } from '../kit/kube/media-clusters.ts';
import { startPodRunner } from '../kit/kube/pods/pod-runner.ts';

const server = await startControlPlane({ after });
await applyDefinitions(server);
const serviceMonitors = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'servicemonitors.monitoring.coreos.com' },
  spec: {
    group: 'monitoring.coreos.com',
    scope: 'Namespaced',
    names: { kind: 'ServiceMonitor', plural: 'servicemonitors' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};
assert.equal((await server.apply(serviceMonitors)).code, 0);
assert.equal((await server.kubectl(['wait', '--for=condition=Established', 'crd/servicemonitors.monitoring.coreos.com'])).code, 0);
await startPodRunner(server);
await ClusterOperator.start(server, { serviceMonitors: true });

const drain = { timeoutSeconds: 2 };

test('an Ingress, policies and monitoring are made, and go when they are no longer wanted', async () => {
  const spec = { replicas: 0, drain };
  const full = { ...spec, ingress: { host: 'media.example', tls: { secretName: 'cert' } }, monitoring: { serviceMonitor: {} } };
  const user = await MediaClusterUser.make(server, 'around', full);
  const optional = ['ingresses', 'networkPolicies', 'serviceMonitors'] as const;
  const there = () => Promise.all(optional.map((kind) => user.names(kind)));
  await user.until('all is made', async () => (await there()).flat().length === 3);
  // The status is written after what it tells of.
  await user.until('its URL is told', async () => (await user.cluster()).status?.url === 'https://media.example');
  await user.apply({ ...spec, networkPolicy: { enabled: false } });
  await user.until('all is removed', async () => (await there()).flat().length === 0);
  assert.deepEqual(await user.names('services'), ['c', 'c-nodes']);
  assert.deepEqual(await user.names('podDisruptionBudgets'), ['c-busy']);
});

test('what somebody changes or removes is mended, also the Services of a living pod', async () => {
  const user = await MediaClusterUser.make(server, 'mended', { replicas: 1, drain });
  const [pod] = await user.settled('c-0');
  assert.ok(pod);
  await user.kubectl('delete', 'service', 'c-0-media', 'c', '--wait=false');
  await user.kubectl('patch', 'pdb', 'c-busy', '--type=merge', '-p', '{"spec":{"minAvailable":0}}');
  await user.kubectl('label', 'service', 'c-nodes', 'app.kubernetes.io/managed-by-');
  await user.until('the Services are back', async () => (await user.names('services')).join() === 'c,c-0,c-0-media,c-nodes');
  type Media = { spec: { ports: { nodePort: number }[] } };
  assert.equal((await user.get<Media>('services', 'c-0-media')).spec.ports[0]?.nodePort, basePort(pod));
  type Budget = { spec: { minAvailable: number } };
  await user.until('the budget is mended', async () => (await user.get<Budget>('podDisruptionBudgets', 'c-busy')).spec.minAvailable > 0);
  await user.until('the label is back', async () => {
    const { metadata } = await user.get<{ metadata: { labels: Record<string, string> } }>('services', 'c-nodes');
    return metadata.labels['app.kubernetes.io/managed-by'] === 'mediarooms-operator';
  });
  assert.deepEqual(
    (await user.pods()).map(({ metadata: { uid } }) => uid),
    [pod.metadata.uid],
  );
});

test('an object of somebody else with one of our names is left alone, and the status says so', async () => {
  const user = await MediaClusterUser.make(server, 'strange', { replicas: 0, drain });
  await user.until('it is looked after', async () => (await user.cluster()).status?.observedGeneration === 1);
  const theirs = { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { namespace: 'strange', name: 'c' } };
  await user.send({ ...theirs, spec: { defaultBackend: { service: { name: 'theirs', port: { number: 80 } } } } });
  await user.apply({ replicas: 0, drain, ingress: { host: 'media.example' } });
  await user.until('it is told', async () => (await user.condition('Degraded')).reason === 'NotOurs');
  assert.match(
    (await user.condition('Degraded')).message,
    /^The Ingress "c" exists already and belongs to somebody else: it is left as it is\./,
  );
  assert.equal((await user.get<{ spec: { rules?: unknown } }>('ingresses', 'c')).spec.rules, undefined);
  await user.apply({ replicas: 0, drain });
  await user.until('it is well', async () => (await user.condition('Degraded')).status === 'False');
  assert.deepEqual(await user.names('ingresses'), ['c']);
});

test('node ports that others have are passed over', async () => {
  const user = await MediaClusterUser.make(server, 'ports', { replicas: 0, drain });
  const taken = [31_000, 31_001, 31_003].map((port) => ({ name: `p-${port}`, port, nodePort: port }));
  await user.send({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'ports', name: 'theirs' },
    spec: { type: 'NodePort', ports: taken },
  });
  await user.apply({ replicas: 1, drain, workersPerNode: 2, media: { ports: { from: 31_000, to: 31_007 } } });
  const [pod] = await user.settled('c-0');
  assert.ok(pod);
  assert.equal(basePort(pod), 31_004);
});

test('where ports are used up, the status says so', async () => {
  const user = await MediaClusterUser.make(server, 'few', { replicas: 2, drain, media: { ports: { from: 31_100, to: 31_100 } } });
  await user.until('it is told', async () => (await user.condition('Degraded')).reason === 'NoPorts');
  assert.match((await user.condition('Degraded')).message, /No 1 consecutive ports are free among 31100-31100 for another pod\./);
  await user.until('the first pod is ready', async () => (await user.readyPods()).length === 1);
});

test('Secrets of the user are taken as they are, and none is made in their place', async () => {
  const user = await MediaClusterUser.make(server, 'theirs', { replicas: 0, drain });
  const secret = { apiVersion: 'v1', kind: 'Secret' };
  await user.send({ ...secret, metadata: { namespace: 'theirs', name: 'tokens' }, stringData: { backend: 'the-token-of-the-user' } });
  await user.apply({ replicas: 1, drain, secrets: { apiTokens: { name: 'tokens' } } });
  const [pod] = await user.settled('c-0');
  assert.ok(pod);
  await user.until('the configuration is in force', async () => (await user.condition('ConfigSynced')).status === 'True');
  assert.deepEqual((await user.get<{ data: object }>('secrets', 'tokens')).data, {
    backend: Buffer.from('the-token-of-the-user').toString('base64'),
  });
  const health = await fetch(`http://${pod.status.podIP}:8080/health`, { headers: { authorization: 'Bearer the-token-of-the-user' } });
  assert.equal(health.status, 200);
});

test('claims and made Secrets outlive what the spec says', async () => {
  const storage = { persistentVolumeClaim: { size: '1Gi' } };
  const user = await MediaClusterUser.make(server, 'kept', { replicas: 1, drain, storage });
  await user.settled('c-0');
  const cookie = await user.get<{ data: object }>('secrets', 'c-cookie');
  await user.apply({ replicas: 0, drain });
  await user.settled();
  assert.deepEqual(await user.names('persistentVolumeClaims'), ['c-0']);
  assert.deepEqual((await user.get<{ data: object }>('secrets', 'c-cookie')).data, cookie.data);
});

test('a claim that the API server lets nobody change keeps no pod from coming back to it', async () => {
  const claimOf = (size: string) => ({ replicas: 1, drain, storage: { persistentVolumeClaim: { size } } });
  const user = await MediaClusterUser.make(server, 'grown', claimOf('1Gi'));
  await user.settled('c-0');
  // Its StorageClass, here none, does not let it grow.
  await user.apply(claimOf('2Gi'));
  await user.until('it is told', async () => (await user.condition('Degraded')).reason === 'ObjectRefused');
  assert.match((await user.condition('Degraded')).message, /^The PersistentVolumeClaim "c-0" was refused: /);
  // A pod that ends is replaced under another index; then the claim is the lowest that is free.
  await user.kubectl('delete', 'pod', 'c-0');
  await user.settled('c-1');
  await user.kubectl('delete', 'pod', 'c-1');
  await user.settled('c-0');
  await user.until('it is told still', async () => (await user.condition('Degraded')).reason === 'ObjectRefused');
});

test('recordings that are lost with their pod are told of', async () => {
  const user = await MediaClusterUser.make(server, 'recordings', { replicas: 0, drain, config: { componentsUsed: ['recording'] } });
  await user.until('it is told', async () => (await user.condition('Degraded')).reason === 'RecordingsNotKept');
});

test('a pod of somebody else, and one that lost its labels, keep their names: ours get others', async () => {
  const user = await MediaClusterUser.make(server, 'named', { replicas: 0, drain });
  const container = { name: 'x', image: 'x', command: ['sleep', '600'] };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'named', name: 'c-0' }, spec: { containers: [container] } };
  await user.send(pod);
  await user.apply({ replicas: 1, drain });
  await user.settled('c-1');
  await user.kubectl('label', 'pod', 'c-1', 'app.kubernetes.io/managed-by-');
  await user.until('another pod is ready', async () => (await user.readyPods()).some(({ metadata: { name } }) => name === 'c-2'));
  assert.deepEqual(await user.names('pods'), ['c-0', 'c-1', 'c-2']);
});
