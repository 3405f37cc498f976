// Objects of a MediaCluster: created, restored, deleted when not desired any more, never taken over from others.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { basePort, MediaClusterUser, startClusterOperator } from '../kit/kube/media-clusters.ts';
import { monitoringDefinitions } from '../kit/kube/third-party-crds.ts';

const { server } = await startClusterOperator({ after }, { definitions: monitoringDefinitions, operator: { serviceMonitors: true } });

const drain = { timeoutSeconds: 2 };

test('Ingress, policies and monitoring objects are created, and deleted when not desired any more', async () => {
  const spec = { replicas: 0, drain };
  const full = { ...spec, ingress: { host: 'media.example', tls: { secretName: 'cert' } }, monitoring: { serviceMonitor: {} } };
  const user = await MediaClusterUser.make(server, 'around', full);
  const optional = ['ingresses', 'networkPolicies', 'serviceMonitors'] as const;
  const there = () => Promise.all(optional.map((kind) => user.names(kind)));
  await user.until('all objects exist', async () => (await there()).flat().length === 3);
  // The status is written after the objects.
  await user.until('its URL is in the status', async () => (await user.cluster()).status?.url === 'https://media.example');
  await user.apply({ ...spec, networkPolicy: { enabled: false } });
  await user.until('all objects are deleted', async () => (await there()).flat().length === 0);
  await user.until('the Services that the Ingress named are deleted', async () => (await user.names('services')).join() === 'c,c-nodes');
  assert.deepEqual(await user.names('podDisruptionBudgets'), ['c-busy']);
});

test('changed or deleted objects are restored, including the Services of a running pod', async () => {
  const user = await MediaClusterUser.make(server, 'repaired', { replicas: 1, drain });
  const [pod] = await user.settled('c-0');
  assert.ok(pod);
  await user.kubectl('delete', 'service', 'c-0-media', 'c', '--wait=false');
  await user.kubectl('patch', 'pdb', 'c-busy', '--type=merge', '-p', '{"spec":{"minAvailable":7}}');
  await user.kubectl('label', 'service', 'c-nodes', 'app.kubernetes.io/managed-by-');
  await user.until('the Services exist again', async () => (await user.names('services')).join() === 'c,c-0,c-0-media,c-nodes');
  type Media = { spec: { ports: { nodePort: number }[] } };
  assert.equal((await user.get<Media>('services', 'c-0-media')).spec.ports[0]?.nodePort, basePort(pod));
  type Budget = { spec: { minAvailable: number } };
  await user.until(
    'the budget is restored',
    async () => (await user.get<Budget>('podDisruptionBudgets', 'c-busy')).spec.minAvailable === 0,
  );
  await user.until('the label is restored', async () => {
    const { metadata } = await user.get<{ metadata: { labels: Record<string, string> } }>('services', 'c-nodes');
    return metadata.labels['app.kubernetes.io/managed-by'] === 'mediarooms-operator';
  });
  assert.deepEqual(
    (await user.pods()).map(({ metadata: { uid } }) => uid),
    [pod.metadata.uid],
  );
});

test('a foreign object with a name of the cluster is not changed, and the status reports it', async () => {
  const user = await MediaClusterUser.make(server, 'strange', { replicas: 0, drain });
  await user.until('the cluster is reconciled', async () => (await user.cluster()).status?.observedGeneration === 1);
  const theirs = { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { namespace: 'strange', name: 'c' } };
  await server.apply({ ...theirs, spec: { defaultBackend: { service: { name: 'theirs', port: { number: 80 } } } } });
  await user.apply({ replicas: 0, drain, ingress: { host: 'media.example' } });
  await user.until('the condition reports it', async () => (await user.condition('Degraded')).reason === 'NotOurs');
  assert.match(
    (await user.condition('Degraded')).message,
    /^Ingress "c" already exists and is not controlled by this MediaCluster; it was not changed\./,
  );
  assert.equal((await user.get<{ spec: { rules?: unknown } }>('ingresses', 'c')).spec.rules, undefined);
  await user.apply({ replicas: 0, drain });
  await user.until('the cluster is not Degraded', async () => (await user.condition('Degraded')).status === 'False');
  assert.deepEqual(await user.names('ingresses'), ['c']);
});

test('node ports of other Services are skipped', async () => {
  const user = await MediaClusterUser.make(server, 'ports', { replicas: 0, drain });
  const taken = [31_000, 31_001, 31_003].map((port) => ({ name: `p-${port}`, port, nodePort: port }));
  await server.apply({
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

test('exhausted ports are reported in the status', async () => {
  const user = await MediaClusterUser.make(server, 'few', { replicas: 2, drain, media: { ports: { from: 31_100, to: 31_100 } } });
  await user.until('the condition reports it', async () => (await user.condition('Degraded')).reason === 'NoPorts');
  assert.match((await user.condition('Degraded')).message, /The port range 31100-31100 has no 1 consecutive free ports for another pod\./);
  await user.until('the first pod is ready', async () => (await user.readyPods()).length === 1);
});

test('Secrets of the user are used, and none is generated in their place', async () => {
  const user = await MediaClusterUser.make(server, 'theirs', { replicas: 0, drain });
  const secret = { apiVersion: 'v1', kind: 'Secret' };
  await server.apply({ ...secret, metadata: { namespace: 'theirs', name: 'tokens' }, stringData: { backend: 'the-token-of-the-user' } });
  await user.apply({ replicas: 1, drain, secrets: { apiTokens: { name: 'tokens' } } });
  const [pod] = await user.settled('c-0');
  assert.ok(pod);
  await user.until('the configuration is effective', async () => (await user.condition('ConfigSynced')).status === 'True');
  assert.deepEqual((await user.get<{ data: object }>('secrets', 'tokens')).data, {
    backend: Buffer.from('the-token-of-the-user').toString('base64'),
  });
  const health = await fetch(`http://${pod.status.podIP}:8080/health`, { headers: { authorization: 'Bearer the-token-of-the-user' } });
  assert.equal(health.status, 200);
});

test('a cluster whose spec names a missing Secret waits without pods, and starts with the Secret', async () => {
  const spec = { replicas: 1, drain, secrets: { apiTokens: { name: 'tokens' }, cookie: { name: 'the-cookie' } } };
  const user = await MediaClusterUser.make(server, 'waiting', spec);
  await user.until('the missing Secrets are reported', async () => (await user.condition('Degraded')).reason === 'SecretMissing');
  const { message } = await user.condition('Degraded');
  assert.match(message, /Secret "tokens", in which secrets\.apiTokens needs a key for each API token, does not exist\./);
  assert.match(message, /Secret "the-cookie", in which secrets\.cookie needs the key "cookie", does not exist\./);
  assert.equal((await user.condition('Progressing')).reason, 'Stopped');
  const secret = { apiVersion: 'v1', kind: 'Secret' };
  await server.apply({ ...secret, metadata: { namespace: 'waiting', name: 'tokens' }, stringData: { operator: 'a-short-token' } });
  const short = 'The API token "operator" in Secret "tokens" must have at least 16 characters.';
  await user.until('the short token is reported', async () => (await user.condition('Degraded')).message.includes(short));
  assert.deepEqual([await user.names('pods'), await user.names('secrets')], [[], ['c-secret-keys', 'tokens']]);
  await server.apply({ ...secret, metadata: { namespace: 'waiting', name: 'the-cookie' }, stringData: { cookie: 'a-cookie-of-the-user' } });
  await server.apply({ ...secret, metadata: { namespace: 'waiting', name: 'tokens' }, stringData: { operator: 'a-token-of-the-user' } });
  await user.settled('c-0');
  await user.until('the cluster is not Degraded', async () => (await user.condition('Degraded')).status === 'False');
  assert.deepEqual(await user.names('secrets'), ['c-config', 'c-secret-keys', 'the-cookie', 'tokens']);
});

test('claims and generated Secrets are kept when the spec drops them', async () => {
  const storage = { persistentVolumeClaim: { size: '1Gi' } };
  const user = await MediaClusterUser.make(server, 'kept', { replicas: 1, drain, storage });
  await user.settled('c-0');
  const cookie = await user.get<{ data: object }>('secrets', 'c-cookie');
  await user.apply({ replicas: 0, drain });
  await user.settled();
  assert.deepEqual(await user.names('persistentVolumeClaims'), ['c-0']);
  assert.deepEqual((await user.get<{ data: object }>('secrets', 'c-cookie')).data, cookie.data);
});

test('an immutable claim does not prevent a pod from using it again', async () => {
  const claimOf = (size: string) => ({ replicas: 1, drain, storage: { persistentVolumeClaim: { size } } });
  const user = await MediaClusterUser.make(server, 'grown', claimOf('1Gi'));
  await user.settled('c-0');
  // Without a StorageClass it cannot be resized.
  await user.apply(claimOf('2Gi'));
  await user.until('the condition reports it', async () => (await user.condition('Degraded')).reason === 'ObjectRefused');
  assert.match((await user.condition('Degraded')).message, /^PersistentVolumeClaim "c-0" was rejected: /);
  // A terminated pod is replaced under another index; then this index is the lowest free one.
  await user.kubectl('delete', 'pod', 'c-0');
  await user.settled('c-1');
  await user.kubectl('delete', 'pod', 'c-1');
  await user.settled('c-0');
  await user.until('the condition still reports it', async () => (await user.condition('Degraded')).reason === 'ObjectRefused');
});

test('recordings without persistent storage are reported', async () => {
  const user = await MediaClusterUser.make(server, 'recordings', { replicas: 0, drain, config: { componentsUsed: ['recording'] } });
  await user.until('the condition reports it', async () => (await user.condition('Degraded')).reason === 'RecordingsNotKept');
});

test('a foreign pod and a pod without labels keep their names, and new pods get other indexes', async () => {
  const user = await MediaClusterUser.make(server, 'named', { replicas: 0, drain });
  const container = { name: 'x', image: 'x', command: ['sleep', '600'] };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'named', name: 'c-0' }, spec: { containers: [container] } };
  await server.apply(pod);
  await user.apply({ replicas: 1, drain });
  await user.settled('c-1');
  await user.kubectl('label', 'pod', 'c-1', 'app.kubernetes.io/managed-by-');
  await user.until('another pod is ready', async () => (await user.readyPods()).some(({ metadata: { name } }) => name === 'c-2'));
  assert.deepEqual(await user.names('pods'), ['c-0', 'c-1', 'c-2']);
});
