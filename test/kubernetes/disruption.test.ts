// PodDisruptionBudget of a MediaCluster with the Kubernetes controller: which pods can be evicted.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { disruptionBudget, serviceAccount } from '../../operator/clusters/auxiliary-objects.ts';
import { label, namesOf } from '../../operator/clusters/names.ts';
import type { StoredCluster } from '../../operator/clusters/owned.ts';
import { pod } from '../../operator/clusters/pods/pod.ts';
import { eventually } from '../kit/eventually.ts';
import { testFacts } from '../kit/fakes/media-cluster.ts';
import { startControlPlane } from '../kit/kube/control-plane.ts';
import { applyDefinitions } from '../kit/kube/media-clusters.ts';
import { mediaCluster } from '../kit/kube/read-objects.ts';

const namespace = 'default';

const server = await startControlPlane({ after });
await applyDefinitions(server);

async function call(method: string, path: string, body: unknown, contentType = 'application/json') {
  return server.client.call(path, { method, body, contentType });
}

async function storeCluster(name: string, spec: object): Promise<StoredCluster> {
  const { status, body } = await call(
    'POST',
    `/apis/mediarooms.dev/v1alpha1/namespaces/${namespace}/mediaclusters`,
    mediaCluster(name, spec),
  );
  assert.equal(status, 201, JSON.stringify(body));
  return body as StoredCluster;
}

/** A pod with the status that a kubelet writes. */
async function runPod(cluster: StoredCluster, index: number, { busy, ready }: { busy: boolean; ready: boolean }): Promise<string> {
  const made = pod(cluster, testFacts(), { index, basePort: 50_000 });
  if (busy) made.metadata.labels[label.busy] = 'true';
  const { name } = made.metadata;
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const created = await call('POST', path, made);
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: new Date().toISOString() }];
  const patched = await call(
    'PATCH',
    `${path}/${name}/status`,
    { status: { phase: 'Running', conditions } },
    'application/merge-patch+json',
  );
  assert.equal(patched.status, 200, JSON.stringify(patched.body));
  return name;
}

type Budget = {
  metadata: { generation: number };
  status?: { observedGeneration?: number; currentHealthy: number; desiredHealthy: number; disruptionsAllowed: number };
};

/** The budget once the controller has counted this number of healthy pods. */
async function settledBudget(cluster: StoredCluster, healthy: number): Promise<Budget['status']> {
  const path = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/${namesOf(cluster.metadata.name).disruptionBudget}`;
  const counted = async () => {
    const { status } = (await server.client.call(path)).body as Budget;
    return status?.currentHealthy === healthy ? status : undefined;
  };
  return eventually(`the budget counts ${healthy} healthy pods`, counted);
}

async function evict(name: string): Promise<number> {
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } };
  return (await call('POST', `/api/v1/namespaces/${namespace}/pods/${name}/eviction`, eviction)).status;
}

for (const [name, spec] of [
  ['fixed', { replicas: 2 }],
  ['scaled', { autoscaling: { maxReplicas: 5 } }],
  ['rolling', { replicas: 1 }],
] as const) {
  test(`only busy pods of a cluster that is ${name} cannot be evicted`, async () => {
    const cluster = await storeCluster(name, spec);
    await server.apply([serviceAccount(cluster), disruptionBudget(cluster, 3)]);
    const busy = [await runPod(cluster, 0, { busy: true, ready: true }), await runPod(cluster, 1, { busy: true, ready: true })];
    const sick = await runPod(cluster, 2, { busy: true, ready: false });
    const idle = await runPod(cluster, 3, { busy: false, ready: true });
    assert.equal((await settledBudget(cluster, 2))?.disruptionsAllowed, 0);
    for (const each of busy) assert.equal(await evict(each), 429, each);
    assert.equal(await evict(sick), 201);
    assert.equal(await evict(idle), 201);
    await server.apply(disruptionBudget(cluster, 2));
    // Otherwise the alert KubePdbNotEnoughHealthyPods of kube-prometheus fires as long as the cluster exists.
    await eventually('as many pods are healthy as desired', async () => {
      const budget = await settledBudget(cluster, 2);
      return budget?.desiredHealthy === 2 && budget.disruptionsAllowed === 0;
    });
    for (const each of busy) assert.equal(await evict(each), 429, each);
  });
}
