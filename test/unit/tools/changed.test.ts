// Selection of tests by `npm test -- --changed`.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../../tools/paths.mjs';
import { changedSince, planFor, takeRevision } from '../../../tools/test-runner/changed.mjs';
import { layers, testFiles } from '../../../tools/test-runner/layers.mjs';
import { namesOf } from '../../../tools/test-runner/reach.mjs';

const plan = layers.map((layer) => ({ layer, files: testFiles(join(root, 'test', layer.name), []) }));

/** The layers with selected files, the files, and the changes that select everything. */
function reached(...changed: string[]) {
  const planned = planFor(
    plan,
    changed.map((path) => join(root, path)),
  );
  const names = planned.plan.filter(({ files }) => files.length > 0).map(({ layer }) => layer.name);
  const files = planned.plan.flatMap((each) => each.files.map((file) => file.slice(root.length + 1)));
  return { names, files, unknown: planned.unknown };
}

test('--changed takes a revision, or HEAD if a layer name or nothing follows', () => {
  const words = ['unit', 'media'];
  assert.deepEqual(takeRevision(['unit', 'ports'], words), { revision: undefined, rest: ['unit', 'ports'] });
  assert.deepEqual(takeRevision(['--changed'], words), { revision: 'HEAD', rest: [] });
  assert.deepEqual(takeRevision(['--changed', 'unit'], words), { revision: 'HEAD', rest: ['unit'] });
  assert.deepEqual(takeRevision(['unit', '--changed', 'main~3', 'ports'], words), { revision: 'main~3', rest: ['unit', 'ports'] });
});

test('a change of the operator selects no browser test, a changed test selects itself, and house always runs', () => {
  assert.deepEqual(reached('operator/rooms/reconcile.ts').names, ['house', 'unit', 'kubernetes']);
  const self = reached('test/unit/tools/changed.test.ts');
  assert.deepEqual(self.names, ['house', 'unit']);
  assert.deepEqual(
    self.files.filter((file) => file.startsWith('test/unit/')),
    ['test/unit/tools/changed.test.ts'],
  );
});

test('started programs, built pages and read files count like imports', () => {
  assert.ok(reached('node/main.ts').names.includes('cluster'));
  assert.ok(reached('packages/console/src/main.tsx').files.includes('test/browser/turn.test.ts'));
  assert.ok(reached('helm/mediarooms/values.yaml').names.includes('kubernetes'));
  const text = `import a from '../media/worker/free-ports.ts'; join(root, 'node', 'main.ts'); new URL('./app.ts', import.meta.url); 'docs'; join(root, '..');`;
  assert.deepEqual(
    namesOf(join(root, 'node', 'http', 'x.ts'), text).map((path) => path.slice(root.length + 1)),
    ['node/media/worker/free-ports.ts', 'node/main.ts', 'node/http/app.ts'],
  );
});

test('a change that no test reaches selects all tests, unless it is a document', () => {
  // Assembled, because a quoted path would count as reached by this file.
  const unknown = ['.git', 'ignore'].join('');
  const everything = reached(unknown);
  assert.deepEqual(everything.unknown, [unknown]);
  assert.equal(everything.files.length, plan.flatMap(({ files }) => files).length);
  assert.deepEqual(reached('NOTES.md').names, ['house']);
});

test('changed files come from git, and an unknown revision is rejected with a message', async () => {
  assert.ok(Array.isArray(await changedSince('HEAD')));
  await assert.rejects(changedSince('no-such-revision'), /git cannot list changes since "no-such-revision": fatal: /);
});
