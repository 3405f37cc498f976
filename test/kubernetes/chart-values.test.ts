// Missing chart values: `helm upgrade --reuse-values` passes the values of an earlier chart, so each template needs the newer defaults.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { chartFolder, renderChart } from '../kit/kube/helm.ts';

type Values = Record<string, unknown>;
const defaults = parse(readFileSync(join(chartFolder, 'values.yaml'), 'utf8')) as Values;
const isGroup = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;

/** Values that are fields of Kubernetes objects: their missing fields are no missing values. */
const whole = ['resources', 'spec', 'labels'];

/** Helm removes values that are null, as if the chart had never had them. */
const without = (values: Values, groups = true): Values =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, groups && isGroup(value) && !whole.includes(name) ? without(value) : null]),
  );

type Deployment = { kind: string; spec: { replicas: number; template: { spec: { containers: { resources: object }[] } } } };

test('each template completes missing values before it reads them', () => {
  const folder = join(chartFolder, 'templates');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(yaml|txt)$/.test(name));
  assert.ok(files.length >= 7);
  for (const name of files) {
    const text = readFileSync(join(folder, name), 'utf8').replace(/^\{\{- \/\*[\s\S]*?\*\/ -\}\}\n/, '');
    const [first] = text.split('\n');
    assert.equal(first, '{{- include "mediarooms.completeValues" . -}}', name);
  }
});

test('values that an earlier chart did not have render as their defaults', async () => {
  const expected = await renderChart();
  assert.ok(expected.length > 8);
  assert.deepEqual(await renderChart({ values: without(defaults, false) }), expected);
  // Every group exists, without any value.
  assert.deepEqual(await renderChart({ values: without(defaults) }), expected);
});

test('given values win over defaults, also if they are empty, false or a removed field', async () => {
  const set = { 'test.media': false, 'rbac.nodes': false, 'operator.replicas': 0, 'operator.resources.limits': null };
  const objects = await renderChart({ values: set });
  assert.match(JSON.stringify(objects), /"--no-media"/);
  assert.match(JSON.stringify(objects), /"mediarooms.dev\/reads-nodes":"false"/);
  const { spec } = objects.find(({ kind }) => kind === 'Deployment') as unknown as Deployment;
  assert.equal(spec.replicas, 0);
  assert.deepEqual(spec.template.spec.containers[0]?.resources, { requests: { cpu: '50m', memory: '160Mi' } });
});
