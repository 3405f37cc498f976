// Caches of the operator: several namespaces, one of which was deleted, and what is kept of Secrets and Nodes. With a scripted API server.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { OperatorMetrics } from '../../../operator/metrics/operator-metrics.ts';
import { Stores, type StoresOptions } from '../../../operator/stores.ts';
import { eventually } from '../../kit/eventually.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { connect, json, startFakeApi, status } from './kube/fake-api.ts';

type Wanted = Pick<StoresOptions, 'namespaces' | 'nodes' | 'optionalKinds' | 'deadAfterMs'>;

/** Stores of that API server, which are synced and end with the test. */
async function startStores(t: TestContext, { kubeconfig }: { kubeconfig: string }, wanted: Wanted): Promise<Stores> {
  const [nothing, end] = [() => {}, new AbortController()];
  const stores = new Stores({
    ...wanted,
    client: await connect(t, { kubeconfig }),
    log: silentLog(),
    metrics: new OperatorMetrics(),
    changed: nothing,
    deleted: nothing,
    appeared: nothing,
  });
  const running = stores.run(end.signal);
  t.after(() => {
    end.abort();
    return running;
  });
  await stores.whenSynced(AbortSignal.any([end.signal, AbortSignal.timeout(120_000)]));
  return stores;
}

test('a namespace without permissions is lost and delays nothing, and a kind that is not served any more stalls', async (t) => {
  let withRoutes = true;
  const api = await startFakeApi(t, ({ path, query }, response) => {
    if (path.includes('/namespaces/lost/')) return json(response, status(403, 'Forbidden', 'no access to namespace lost'), 403);
    if (!withRoutes && path.endsWith('/httproutes')) return json(response, status(404, 'NotFound', 'no such kind'), 404);
    if (!query.has('watch')) return json(response, { metadata: { resourceVersion: '1' }, items: [] });
    response.writeHead(200).flushHeaders();
    if (!path.endsWith('/httproutes')) return;
    // Its CRD is deleted while the caches wait for the lost namespace: each of both takes some rejections, whose delays grow.
    withRoutes = false;
    response.end();
  });
  const optionalKinds = new Set(['serviceMonitors', 'httpRoutes'] as const);
  const stores = await startStores(t, api, { namespaces: ['lost', 'living'], nodes: false, optionalKinds, deadAfterMs: 1_000 });
  assert.equal(stores.unsynced(), undefined);
  await eventually('the kind stalls', () => stores.stalled() !== undefined, { within: 60_000 });
  assert.equal(stores.stalled(), 'httproutes cannot be watched: no such kind');
});

test('the caches contain the metadata of Secrets and the used fields of Nodes, and content is requested for one Secret', async (t) => {
  const lastApplied = { 'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"password":"c2VjcmV0"}}' };
  const metadata = { name: 's', namespace: 'living', uid: 'u', resourceVersion: '1', annotations: { note: 'kept', ...lastApplied } };
  const host = {
    metadata: { name: 'host', uid: 'h', resourceVersion: '1', labels: { zone: 'a' }, annotations: { long: 'text' } },
    spec: { podCIDR: '10.0.0.0/24', unschedulable: true, taints: [{ key: 'k', effect: 'NoSchedule', timeAdded: 'now' }] },
    status: {
      addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
      conditions: [
        { type: 'Ready', status: 'True', message: 'kubelet is posting ready status' },
        { type: 'DiskPressure', status: 'False' },
      ],
      images: [{ names: ['a'.repeat(100)] }],
    },
  };
  const api = await startFakeApi(t, ({ path, query, headers }, response) => {
    if (query.has('watch')) return response.writeHead(200).flushHeaders();
    const page = (items: object[]) => json(response, { metadata: { resourceVersion: '1' }, items });
    if (path.endsWith('/nodes')) return page([host]);
    if (path.includes('/namespaces/empty/')) return json(response, { metadata: { resourceVersion: '1' }, items: null });
    if (!path.endsWith('/secrets')) return page([]);
    if (!/as=PartialObjectMetadataList/.test(headers.accept ?? '')) return page([{ metadata, data: { password: 'c2VjcmV0' } }]);
    return page([{ apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata }]);
  });
  const stores = await startStores(t, api, { namespaces: ['living', 'empty'], nodes: true, optionalKinds: new Set() });
  const cached = { apiVersion: 'v1', kind: 'Secret', metadata: { ...metadata, annotations: { note: 'kept' } } };
  assert.deepEqual(stores.clusters.secrets.list(), [cached]);
  assert.deepEqual(stores.clusters.nodes?.list(), [
    {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'host', uid: 'h', resourceVersion: '1' },
      spec: { unschedulable: true, taints: [{ key: 'k', effect: 'NoSchedule' }] },
      status: { addresses: host.status.addresses, conditions: [{ type: 'Ready', status: 'True' }] },
    },
  ]);
  const found = await stores.roomSecrets.read('living', ['s', 'missing']);
  assert.deepEqual(
    [...found].map(([name, { data }]) => [name, data]),
    [['s', { password: 'c2VjcmV0' }]],
  );
  const requested = api.asked.filter(({ query }) => query.get('fieldSelector')?.startsWith('metadata.name='));
  assert.deepEqual(
    requested.map(({ query }) => query.get('fieldSelector')),
    ['metadata.name=s'],
  );
  assert.deepEqual(stores.roomSecrets.list(), [cached]);
});
