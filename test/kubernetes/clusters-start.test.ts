// Start of a MediaCluster: media nodes that are connected, with a real API server and controllers.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { basePort, MediaClusterUser, startClusterOperator } from '../kit/kube/media-clusters.ts';

const { server, runner, operator } = await startClusterOperator({ after });

test('a MediaCluster with two replicas creates two connected nodes with separate ports and addresses', async (t) => {
  const user = await MediaClusterUser.make(server, 'start', { replicas: 2 });
  const pods = await user.settled('c-0', 'c-1');
  for (const pod of pods) {
    const api = await user.api(pod);
    await user.until('both nodes are connected', async () => (await api.get('/health')).body.data.distribution.nodesInCluster === 2);
  }
  const [one, other] = pods.map(basePort);
  assert.notEqual(one, other);
  const external = runner.hosts.map(({ externalIP }) => externalIP);
  for (const pod of pods) assert.ok(external.includes(pod.metadata.annotations['mediarooms.dev/media-address'] ?? ''));
  for (const { status } of pods) assert.equal(operator.called.get(`http://${status.podIP}:8080`), true, 'its requests are signed');
  assert.equal((await user.condition('Available')).message, '2 of 2 nodes are ready.');
  await user.until('the configuration is effective', async () => (await user.condition('ConfigSynced')).status === 'True');
  const degraded = await user.condition('Degraded');
  assert.deepEqual([degraded.status, degraded.message], ['False', 'The operator has found no problem.']);
  const { status } = await user.cluster();
  assert.deepEqual(
    status?.nodes?.map(({ name, state }) => [name, state]),
    [
      ['c-0', 'Ready'],
      ['c-1', 'Ready'],
    ],
  );
  assert.deepEqual([status?.replicas, status?.readyReplicas, status?.desiredReplicas, status?.keyGeneration], [2, 2, 2, 0]);
  assert.equal(status?.adminTokenSecret, 'c-api-tokens');
  const writes = operator.calls.filter(({ verb, resource }) => !['get', 'list', 'watch'].includes(verb) && resource !== 'events');
  t.diagnostic(`writes: ${writes.map(({ verb, resource }) => `${verb} ${resource}`).join(', ')}`);
  const objects = writes.filter(({ verb, resource }) => verb !== 'patch' && resource !== 'mediaclusters');
  const patches = writes.filter(({ verb }) => verb === 'patch');
  // Each object is written once. Each pod is patched once for its address, and again in each reconcile before the cache has it.
  assert.ok(objects.length <= 18, String(objects.length));
  assert.ok(patches.length <= 12, String(patches.length));
});

test('an idle operator sends no requests to the API server', async () => {
  const user = new MediaClusterUser(server, 'start');
  // Counters are written every 10 s at most, so the first write may be pending.
  await user.until('all nodes have counters', async () => (await user.cluster()).status?.nodes?.every(({ rooms }) => rooms === 0) ?? false);
  const before = operator.calls.length;
  await sleep(12_000);
  assert.deepEqual(
    operator.calls.slice(before).map(({ verb, resource }) => `${verb} ${resource}`),
    [],
  );
});

test('nodes of an older image receive the token, because they do not support signatures', async () => {
  const user = await MediaClusterUser.make(server, 'older', {
    replicas: 1,
    image: 'registry.example/mediarooms/node:0.7.0',
    drain: { timeoutSeconds: 1 },
  });
  const [pod] = await user.settled('c-0');
  assert.equal(operator.called.get(`http://${pod?.status.podIP}:8080`), false);
  assert.equal(pod?.metadata.annotations['mediarooms.dev/calls'], undefined);
  await user.until('the node responded', async () => (await user.cluster()).status?.nodes?.[0]?.rooms === 0);
  await user.kubectl('delete', 'mediacluster', 'c');
});

test('a deleted MediaCluster deletes all its objects', async () => {
  const user = await MediaClusterUser.make(server, 'gone', { replicas: 1, drain: { timeoutSeconds: 1 } });
  await user.settled('c-0');
  await user.kubectl('delete', 'mediacluster', 'c');
  for (const kind of ['pods', 'services', 'secrets', 'podDisruptionBudgets', 'networkPolicies'] as const)
    await user.until(`no ${kind} are left`, async () => (await user.names(kind)).length === 0);
  await user.until('no ConfigMap of the operator is left', async () => (await user.names('configMaps')).join() === 'kube-root-ca.crt');
});

test('a recreated MediaCluster of the same name has new Secrets and connected nodes', async () => {
  const spec = { replicas: 2, drain: { timeoutSeconds: 1 } };
  const user = await MediaClusterUser.make(server, 'again', spec);
  const first = await user.settled('c-0', 'c-1');
  const token = await user.token();
  await user.kubectl('delete', 'mediacluster', 'c', '--wait=false');
  await user.apply(spec);
  await user.until('two other pods are ready, and the first ones are deleted', async () => {
    const pods = await user.pods();
    const old = first.map(({ metadata: { uid } }) => uid);
    return pods.length === 2 && (await user.readyPods()).length === 2 && pods.every(({ metadata: { uid } }) => !old.includes(uid));
  });
  assert.notEqual(await user.token(), token);
  for (const pod of await user.pods()) {
    const api = await user.api(pod);
    // A pod that started with files of the deleted cluster rejects the new token until it has loaded the new files.
    const known = async () => (await api.get('/health')).body.data?.distribution.nodesInCluster;
    await user.until('both nodes are connected', async () => (await known()) === 2);
  }
  await user.until('the cluster is not Degraded', async () => (await user.condition('Degraded')).status === 'False');
});
