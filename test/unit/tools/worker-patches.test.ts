// Media worker patches: they apply to the source that package.json pins, and missing patches of a binary are detected.
import assert from 'node:assert/strict';
import { chmodSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { missingPatches } from '../../../node/media/worker/worker-patches.ts';
import { nodeModules, root } from '../../../tools/paths.mjs';
import { applyPatches, installedVersion, patchNames } from '../../../tools/worker/patches.mjs';
import { tempFolder } from '../../kit/temp-folder.ts';

const version = installedVersion();

function workerSource(t: TestContext): string {
  const source = tempFolder(t);
  for (const name of ['meson.build', 'src', 'include', 'deps']) {
    cpSync(join(nodeModules, 'mediasoup', 'worker', name), join(source, name), { recursive: true });
  }
  return source;
}

test('each patch applies to the pinned source, has reason, test and upstream state, and at most 200 lines', async (t) => {
  const source = workerSource(t);
  await applyPatches(source, version);
  assert.match(readFileSync(join(source, 'include', 'Patches.hpp'), 'utf8'), /0001-name-the-patches\\n0002-/);
  for (const name of patchNames()) {
    const text = readFileSync(join(root, 'tools/worker/patches', `${name}.patch`), 'utf8');
    assert.ok(text.split('\n').length <= 200, `${name} has ${text.split('\n').length} lines`);
    for (const said of ['Why: ', 'Test: ', 'Upstream: ']) assert.ok(text.includes(said), `${name} has no line ${said}`);
  }
});

test('a source of another version, or to which a patch does not apply, is rejected with a message', async (t) => {
  const source = workerSource(t);
  writeFileSync(join(source, 'src', 'main.cpp'), 'int main() {}\n');
  await assert.rejects(applyPatches(source, version), /Patch 0001-name-the-patches does not apply to the worker of mediasoup/);
  await assert.rejects(applyPatches(source, '3.0.0'), /mediasoup 3\.0\.0 is installed, but the patches .* require 3\./);
});

test('missing patches of a binary are detected; a binary without a list has none', async (t) => {
  const folder = tempFolder(t);
  const program = (name: string, script: string) => {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    return path;
  };
  const [first, ...others] = patchNames();
  assert.deepEqual(await missingPatches(program('patched', `printf '%s\\n' ${patchNames().join(' ')}`)), []);
  assert.deepEqual(await missingPatches(program('older', `echo ${first}`)), others);
  assert.deepEqual(await missingPatches(program('unpatched', 'exit 41')), patchNames());
  assert.deepEqual(await missingPatches(join(folder, 'absent')), patchNames());
});
