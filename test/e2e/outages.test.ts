// Outages: failures and changes around the nodes during a conversation.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeJson } from '../kit/kube/read-objects.ts';
import { monitoringDefinitions } from '../kit/kube/third-party-crds.ts';
import { Prometheus } from '../kit/processes/prometheus.ts';
import { Conversation } from './conversation.ts';
import { chart, Installed, minValues, settle } from './installed.ts';
import { tell, timing } from './timings.ts';

const installed = await Installed.prepare({ after });
const release = 'rooms';
const drainSeconds = 15;
const pods = () => installed.pods(release);
const values = [
  `mediaCluster.spec.drain.timeoutSeconds=${drainSeconds}`,
  'mediaCluster.spec.monitoring.serviceMonitor.interval=1s',
  'monitoring.serviceMonitor.create=true',
];
await settle(installed, async () => {
  await installed.cluster.server.apply(monitoringDefinitions);
  // Helm rejects objects of kinds that are not served yet.
  await installed.cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=50s');
  await installed.install(release, [...minValues, ...values.flatMap((value) => ['--set', value])]);
  await installed.available(release);
  await installed.agreeOn(release, 2);
});

/** Checks that the operator works: creates and deletes a Room. */
async function operatorWorks(t: TestContext, name: string, what: string): Promise<void> {
  await timing(what, () => installed.room(name));
  t.after(() => installed.kubectl('delete', 'room', name, '--timeout=60s'));
}

/** Targets of the ServiceMonitors, as the Prometheus operator computes them: `address:port` of each ready endpoint. */
async function monitored(): Promise<string[]> {
  const monitors = (await installed.get('servicemonitors')).items;
  const targets = await Promise.all(
    monitors.map(async ({ spec }: KubeJson) => {
      const labels = Object.entries(spec.selector.matchLabels).map(([key, value]) => `${key}=${value}`);
      const services = (await installed.get('services', '-l', labels.join(','))).items;
      const slices = await Promise.all(
        services.map(({ metadata }: KubeJson) => installed.get('endpointslices', '-l', `kubernetes.io/service-name=${metadata.name}`)),
      );
      const wanted = spec.endpoints.map(({ port }: KubeJson) => port);
      return slices.flatMap(({ items }) =>
        items.flatMap(({ endpoints, ports }: KubeJson) =>
          ports
            .filter(({ name }: KubeJson) => wanted.includes(name))
            .flatMap(({ port }: KubeJson) => endpoints.map(({ addresses }: KubeJson) => `${addresses[0]}:${port}`)),
        ),
      );
    }),
  );
  return targets.flat();
}

test('Prometheus scrapes all nodes and the operator through ServiceMonitors, and each query of the dashboard has a result', async (t) => {
  const conversation = await Conversation.start(t, installed, 'watched');
  const targets = await monitored();
  assert.equal(new Set(targets).size, 3, targets.join());
  const { hub, server } = installed.cluster;
  const prometheus = await Prometheus.start(t, { mediarooms: targets }, [], {
    address: new URL(server.url).hostname,
    wrap: hub.wrapNetwork,
  });
  const one = async (query: string) => (await prometheus.query(query))[0]?.value;
  await installed.cluster.until('all are scraped', async () => (await one('sum(up)')) === 3);
  await installed.cluster.until('the peers are counted', async () => (await one('sum(svc_peers)')) === 2);
  await installed.cluster.until(
    'reconciles are counted',
    async () => Number(await one('sum(controller_runtime_reconcile_total{controller="room"})')) > 0,
  );
  const dashboard = JSON.parse(await readFile(join(chart, 'files/grafana-dashboard.json'), 'utf8'));
  const queries: string[] = dashboard.panels.flatMap(({ targets: each = [] }: KubeJson) => each.map(({ expr }: KubeJson) => expr));
  assert.ok(queries.length > 20);
  for (const query of queries) {
    const plain = query
      .replaceAll('"$job"', '"mediarooms"')
      .replaceAll('"$instance"', '".+"')
      .replaceAll(/\$__(rate_interval|range)/g, '1m');
    assert.ok(Array.isArray(await prometheus.query(plain)), plain);
  }
  await conversation.assertUndisturbed();
});

test('a killed operator does not affect media, and its successor takes over', async (t) => {
  const conversation = await Conversation.start(t, installed, 'operator');
  const leader = async () => (await installed.get('lease', 'mediarooms-operator')).spec.holderIdentity;
  const before = await leader();
  const killed = performance.now();
  await installed.kubectl('delete', 'pod', '-l', 'app.kubernetes.io/component=operator', '--grace-period=0', '--force');
  // The Pod object is deleted before its process has ended, which may still act for a moment.
  await installed.cluster.until('another process has the Lease', async () => !['', undefined, before].includes(await leader()));
  await operatorWorks(t, 'after-operator', 'operator has the Lease to a new Room Ready');
  tell('operator killed to a new Room Ready', performance.now() - killed);
  await conversation.assertUndisturbed();
});

test('an API server outage of 20 s does not affect media, replaces no pod, and Rooms are created afterwards', async (t) => {
  const conversation = await Conversation.start(t, installed, 'api');
  const before = (await pods()).map(({ metadata }) => metadata.uid);
  await installed.cluster.server.stopApiServer();
  await sleep(20_000);
  await conversation.assertUndisturbed();
  await timing('API server restarted', () => installed.cluster.server.startApiServer());
  const back = Date.now();
  await operatorWorks(t, 'after-api', 'API server back to a new Room Ready');
  await installed.cluster.nodesHeard(back);
  tell('API server back to all kubelets ready', Date.now() - back);
  await installed.cluster.nodesReady();
  await conversation.assertUndisturbed();
  assert.deepEqual(
    (await pods()).map(({ metadata }) => metadata.uid),
    before,
  );
});

test('a DNS outage of a minute does not affect media, and the nodes stay connected', async (t) => {
  const conversation = await Conversation.start(t, installed, 'names');
  const names = ['-n', 'kube-system'];
  await installed.cluster.kubectl(...names, 'scale', 'deployment/coredns', '--replicas=0');
  // A kubelet that could not reach the API server retries after up to a minute.
  await installed.cluster.kubectl(...names, 'wait', '--for=delete', 'pod', '-l', 'app=coredns', '--timeout=180s');
  await sleep(60_000);
  await conversation.assertUndisturbed();
  await installed.agreeOn(release, 2);
  await installed.cluster.kubectl(...names, 'scale', 'deployment/coredns', '--replicas=1');
  await installed.cluster.kubectl(...names, 'rollout', 'status', 'deployment/coredns', '--timeout=60s');
});

test('a change of the pod template causes a rollout: new nodes first, and peers of a live room are notified until its deadline', async (t) => {
  const conversation = await Conversation.start(t, installed, 'rollout');
  const { node, incarnation } = (await installed.get('room', 'rollout')).status;
  const before = new Map((await pods()).map(({ metadata }) => [metadata.name, metadata.uid]));
  const started = performance.now();
  const movedAt = conversation.movedFrom(installed, incarnation, 120_000).then(() => performance.now() - started);
  movedAt.catch(() => {});
  let least = Number.POSITIVE_INFINITY;
  await installed.kubectl(
    'patch',
    'mediacluster',
    release,
    '--type=merge',
    '-p',
    JSON.stringify({ spec: { resources: { requests: { cpu: '20m' } } } }),
  );
  await installed.cluster.until(
    'all pods are new',
    async () => {
      const now = await pods();
      const ready = now.filter(({ status }) =>
        status.conditions?.some(({ type, status: is }: KubeJson) => type === 'Ready' && is === 'True'),
      );
      least = Math.min(least, ready.length);
      return (
        now.length === 2 && ready.length === 2 && ![...before.values()].some((uid) => now.some(({ metadata }) => metadata.uid === uid))
      );
    },
    120_000,
  );
  tell('rollout of two nodes, one with a live room and a deadline of 15 s', performance.now() - started);
  const moved = await movedAt;
  assert.ok(moved >= drainSeconds * 1_000, `the room on ${node} ended after ${moved} ms`);
  await conversation.cameBack();
  assert.ok(least >= 1, 'at least one node is always ready');
});
