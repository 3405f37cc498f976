// Monitoring: the dashboard and the alerts in monitoring/ use existing metrics and labels.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { z } from 'zod';
import { nodeMetrics } from '../../api/metrics.ts';
import { Metrics } from '../../node/metrics/metrics.ts';
import { sharedObjects } from '../../operator/clusters/desired.ts';
import { OperatorMetrics } from '../../operator/metrics/operator-metrics.ts';
import { testCluster, testFacts } from '../kit/fakes/media-cluster.ts';
import { root } from './source-files.ts';

const file = (name: string) => readFileSync(join(root, 'monitoring', name), 'utf8');

const dashboard = z
  .object({
    uid: z.string(),
    title: z.string(),
    schemaVersion: z.number(),
    templating: z.object({ list: z.array(z.object({ name: z.string(), definition: z.string().optional() })) }),
    panels: z.array(
      z.object({
        id: z.number(),
        title: z.string(),
        description: z.string(),
        gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
        targets: z.array(z.object({ refId: z.string(), expr: z.string(), legendFormat: z.string() })),
      }),
    ),
  })
  .parse(JSON.parse(file('grafana-dashboard.json')));

const rules = z
  .object({
    groups: z.array(
      z.strictObject({
        name: z.string(),
        rules: z.array(
          z.strictObject({
            alert: z.string(),
            expr: z.string(),
            for: z.string().optional(),
            labels: z.strictObject({ severity: z.enum(['warning', 'critical']) }),
            annotations: z.strictObject({ summary: z.string(), description: z.string() }),
          }),
        ),
      }),
    ),
  })
  .parse(parse(file('alert-rules.yaml')))
  .groups.flatMap((group) => group.rules);

const expressions = [
  ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ...dashboard.templating.list.flatMap(({ definition }) => definition ?? []),
  ...rules.map(({ expr }) => expr),
];

/** Names of all time series of a node and of the operator; `up` is Prometheus's own. */
async function seriesNames(): Promise<Set<string>> {
  const text = `${await new Metrics().text()}${await new OperatorMetrics().text()}`;
  const names = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
  return new Set([...names, 'up']);
}

function metricsIn(expression: string): string[] {
  return expression.match(/\b(?:svc|nodejs|process|mediarooms_operator|controller_runtime|leader_election)_\w+|\bup\b/g) ?? [];
}

test('every metric in the dashboard and the alerts exists', async () => {
  const names = await seriesNames();
  const unknown = expressions.flatMap(metricsIn).filter((name) => !names.has(name));
  assert.deepEqual(unknown, []);
  assert.deepEqual(
    expressions.filter((expression) => metricsIn(expression).length === 0),
    [],
  );
});

test('every metric of the node is used in the dashboard or in an alert', () => {
  const shown = new Set(expressions.flatMap(metricsIn).map((name) => name.replace(/_(bucket|sum|count)$/, '')));
  const ours = Object.values(nodeMetrics).flatMap((group) => Object.values(group).map(({ name }) => name));
  const elsewhere = [
    'svc_room_duration_seconds',
    'svc_room_peer_time_total_seconds',
    'svc_worker_rooms',
    'svc_worker_forwarded_tracks',
    'svc_whip_sessions',
    'svc_waiting_peers',
    'svc_livekit_sessions',
    'svc_livekit_agent_workers',
    'svc_livekit_agent_jobs',
    'svc_whep_sessions',
    'svc_trace_spans_exported_total',
    'svc_trace_spans_dropped_total',
  ];
  assert.deepEqual(
    ours.filter((name) => !shown.has(name) && !elsewhere.includes(name)),
    [],
  );
});

/** Labels that Prometheus adds to every series: always, and from the ServiceMonitor of a MediaCluster. */
const targetLabels = ['job', 'instance', 'namespace', 'mediacluster'];
/** The ServiceMonitor of the chart sets it. */
const operatorJob = 'mediarooms-operator';
/** Labels of the metrics of the operator in alerts. */
const operatorLabels = ['controller', 'resource'];
const monitored = sharedObjects(testCluster({ monitoring: { serviceMonitor: {} } }), testFacts());

test('the ServiceMonitor of a MediaCluster sets the job and the labels of the alerts', () => {
  const monitor = monitored.find((object) => object.kind === 'ServiceMonitor');
  assert.ok(monitor);
  const { jobLabel, selector, endpoints } = monitor.spec;
  const [service, ...others] = monitored.filter(
    ({ kind, metadata }) =>
      kind === 'Service' && Object.entries(selector.matchLabels).every(([key, value]) => metadata.labels[key] === value),
  );
  assert.equal(others.length, 0);
  const jobs = rules.flatMap(({ expr }) => [...expr.matchAll(/\bjob="([^"]*)"/g)].map(([, job]) => job));
  assert.deepEqual(new Set(jobs), new Set([service?.metadata.labels[jobLabel], operatorJob]));
  const [{ sourceLabels: [source] = [], targetLabel } = { targetLabel: '' }] = endpoints[0].relabelings;
  const meta = Object.keys(service?.metadata.labels ?? {}).map(
    (key) => `__meta_kubernetes_service_label_${key.replaceAll(/[^A-Za-z0-9_]/g, '_')}`,
  );
  assert.ok(targetLabels.includes(targetLabel) && meta.includes(source ?? ''), source);
});

test('selected labels belong to their metric', () => {
  const labelsOf = new Map<string, readonly string[]>(
    Object.values(nodeMetrics).flatMap((group) => Object.values(group).map(({ name, labels }) => [name, labels])),
  );
  const selectors = expressions.flatMap((expression) => [...expression.matchAll(/\b(\w+)\{((?:[^}"]|"[^"]*")*)\}/g)]);
  assert.ok(selectors.length > 30);
  const foreign = selectors.flatMap(([, series = '', matchers = '']) => {
    const known = [...targetLabels, ...(labelsOf.get(series.replace(/_(bucket|sum|count)$/, '')) ?? [])];
    return [...matchers.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].flatMap(([, name = '']) => (known.includes(name) ? [] : [`${series}{${name}}`]));
  });
  assert.deepEqual(foreign, []);
});

test('metrics are aggregated by existing labels', () => {
  const ours = Object.values(nodeMetrics).flatMap((group) => Object.values(group).flatMap(({ labels }): readonly string[] => labels));
  const labels = new Set([...targetLabels, ...operatorLabels, 'le', '', ...ours]);
  const used = expressions.flatMap((expression) =>
    [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, by = '']) => by.split(/,\s*/)),
  );
  assert.deepEqual(
    used.filter((label) => !labels.has(label)),
    [],
  );
});

test('panels do not overlap, and alert names are unique', () => {
  const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
  );
  assert.equal(new Set(cells).size, cells.length);
  assert.ok(dashboard.panels.every(({ gridPos }) => gridPos.x + gridPos.w <= 24));
  for (const names of [dashboard.panels.map(({ title }) => title), dashboard.panels.map(({ id }) => id), rules.map(({ alert }) => alert)])
    assert.equal(new Set<string | number>(names).size, names.length);
});
