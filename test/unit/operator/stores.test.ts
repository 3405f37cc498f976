// Caches of the operator in several namespaces, one of which was deleted, with a scripted API server.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { OperatorMetrics } from '../../../operator/metrics/operator-metrics.ts';
import { Stores } from '../../../operator/stores.ts';
import { eventually } from '../../kit/eventually.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { connect, json, startFakeApi, status } from './kube/fake-api.ts';

test('a namespace without permissions is lost and delays nothing, and a kind that is not served any more stalls', async (t) => {
  const watches: { path: string; response: ServerResponse }[] = [];
  let withRoutes = true;
  const api = await startFakeApi(t, ({ path, query }, response) => {
    if (path.includes('/namespaces/lost/')) return json(response, status(403, 'Forbidden', 'no access to namespace lost'), 403);
    if (!withRoutes && path.endsWith('/httproutes')) return json(response, status(404, 'NotFound', 'no such kind'), 404);
    if (!query.has('watch')) return json(response, { metadata: { resourceVersion: '1' }, items: [] });
    watches.push({ path, response });
    response.writeHead(200).flushHeaders();
  });
  const stores = new Stores({
    client: await connect(t, { kubeconfig: api.kubeconfig }),
    namespaces: ['lost', 'living'],
    nodes: false,
    optionalKinds: new Set(['serviceMonitors', 'httpRoutes']),
    log: silentLog(),
    metrics: new OperatorMetrics(),
    changed: () => {},
    deleted: () => {},
    appeared: () => {},
    deadAfterMs: 1_000,
  });
  const end = new AbortController();
  const running = stores.run(end.signal);
  t.after(() => {
    end.abort();
    return running;
  });
  await stores.whenSynced(AbortSignal.any([end.signal, AbortSignal.timeout(120_000)]));
  assert.equal(stores.unsynced(), undefined);
  assert.equal(stores.stalled(), undefined);

  withRoutes = false;
  for (const { path, response } of watches) if (path.endsWith('/httproutes')) response.end();
  await eventually('the kind stalls', () => stores.stalled() !== undefined, { within: 60_000 });
  assert.equal(stores.stalled(), 'httproutes cannot be watched: no such kind');
});
