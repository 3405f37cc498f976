// Planned changes of a dry run: one diff per object, without server-managed metadata and Secret values.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyMergePatch, PlannedChanges } from '../../../../operator/dry-run/changes.ts';
import { KubeError } from '../../../../operator/kube/http/kube-error.ts';
import { type KubeObject, resources, type Stored } from '../../../../operator/kube/objects.ts';

type Anything = Stored<KubeObject & { [field: string]: unknown }>;

function object(kind: string, fields: object = {}, metadata: object = {}): Anything {
  const meta = { name: 'media', namespace: 'default', uid: 'u', resourceVersion: '5', generation: 2, ...metadata };
  return { apiVersion: 'v1', kind, metadata: meta, ...fields } as unknown as Anything;
}

test('server-managed metadata is no change', () => {
  const plannedChanges = new PlannedChanges();
  const before = object('Pod');
  plannedChanges.report({
    resource: resources.pods,
    before,
    after: object('Pod', {}, { resourceVersion: '9', generation: 3, managedFields: [] }),
  });
  assert.equal(plannedChanges.text(), '');
});

test('several writes of one object are merged into one diff', () => {
  const plannedChanges = new PlannedChanges();
  const before = object('Room', { status: { phase: 'Pending', peers: { total: 1 } } });
  plannedChanges.report({ resource: resources.rooms, before, after: object('Room', { status: before.status }, { finalizers: ['f'] }) });
  plannedChanges.report({ resource: resources.rooms, before, after: object('Room', { status: { phase: 'Ready' } }) });
  const shown = plannedChanges.text();
  assert.equal(shown.match(/^--- Room default\/media$/gm)?.length, 1);
  assert.match(shown, /^\+ +finalizers:$/m);
  assert.match(shown, /^- +phase: Pending\n\+ +phase: Ready$|^\+ +phase: Ready$/m);
  assert.match(shown, /^- +total: 1$/m);
});

test('values of a Secret are shown only as changed or unchanged', () => {
  const plannedChanges = new PlannedChanges();
  const [old, fresh, same] = ['b2xk', 'ZnJlc2g=', 'c2FtZQ=='];
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': `{"data":{"a":"${old}"}}` };
  const before = object('Secret', { data: { a: old, kept: same } }, { annotations });
  plannedChanges.report({ resource: resources.secrets, before, after: object('Secret', { data: { a: fresh, kept: same, more: fresh } }) });
  const shown = plannedChanges.text();
  for (const value of [old, fresh, same]) assert.ok(!shown.includes(value), shown);
  assert.match(shown, /^- +a: "?\*\*\* \(before\)"?\n\+ +a: "?\*\*\* \(after\)"?$/m);
  assert.match(shown, /^ +kept: "?\*\*\*"?$/m);
  assert.match(shown, /^\+ +more: "?\*\*\*"?$/m);
});

test('deletions are named, creations are shown completely, and actions come first', () => {
  const plannedChanges = new PlannedChanges();
  plannedChanges.report({ resource: resources.services, before: object('Service'), after: undefined });
  plannedChanges.report({ resource: resources.configMaps, before: undefined, after: object('ConfigMap', { data: { key: 'value' } }) });
  plannedChanges.act('would create room class on media-0', 'default/class');
  plannedChanges.act('would create room a on media-0', 'default/a');
  plannedChanges.act('would add peer anna to room class on media-0', 'default/class');
  const lines = plannedChanges.text().split('\n');
  assert.deepEqual(lines.slice(0, 3), [
    'would create room a on media-0',
    'would create room class on media-0',
    'would add peer anna to room class on media-0',
  ]);
  assert.ok(lines.includes('would delete Service default/media'));
  assert.ok(lines.includes('--- /dev/null'));
  assert.ok(lines.includes('+  key: value'));
});

test('a pod counts as created if only its ServiceAccount of the same dry run is missing', () => {
  const plannedChanges = new PlannedChanges();
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'media-0', namespace: 'default' } };
  const message = 'pods "media-0" is forbidden: error looking up service account default/media: serviceaccount "media" not found';
  const refusal = new KubeError({ status: 403, reason: 'Forbidden', message });
  assert.equal(plannedChanges.excuse(refusal, pod), undefined);
  plannedChanges.report({ resource: resources.serviceAccounts, before: undefined, after: object('ServiceAccount') });
  assert.equal(plannedChanges.excuse(refusal, pod)?.metadata.name, 'media-0');
  assert.equal(plannedChanges.excuse(new KubeError({ status: 403, reason: 'Forbidden', message: 'exceeded quota' }), pod), undefined);
});

test('a change is merged into an object that already has a change', () => {
  const base = { a: 1, b: { c: 2, d: 3 }, e: 4 };
  assert.deepEqual(applyMergePatch({ ...base, mine: true }, base, { a: 1, b: { c: 2 }, e: 5, f: 6 }), {
    a: 1,
    b: { c: 2 },
    e: 5,
    f: 6,
    mine: true,
  });
});
