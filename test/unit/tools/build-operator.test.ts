// Operator bundle: runs without other files and lists its packages.

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { buildOperator, packageFolders } from '../../../tools/images/build-operator.mjs';
import { runCommand } from '../../kit/processes/command.ts';
import { tempFolder } from '../../kit/temp-folder.ts';

test('the bundled operator starts in an empty folder and rejects an invalid command line with a message', async (context) => {
  const folder = tempFolder(context);
  const { file, packages } = await buildOperator(folder);
  const { code, stderr } = await runCommand([process.execPath, file, '--nonsense'], { cwd: folder, env: {}, mayFail: true });
  assert.equal(code, 2);
  assert.match(stderr, /^Invalid command line: Unknown option '--nonsense'/);
  assert.doesNotMatch(stderr, /^\s+at /m);
  assert.deepEqual((await readdir(folder)).sort(), ['LICENSES.txt', 'operator.mjs', 'packages.json']);
  const licences = await readFile(join(folder, 'LICENSES.txt'), 'utf8');
  for (const name of ['@kubernetes/client-node', 'undici', 'pino', 'zod']) {
    assert.ok(
      packages.some((each) => each.name === name),
      `${name} is not bundled`,
    );
    assert.match(licences, new RegExp(`^${name} \\d`, 'm'));
  }
  // Dependencies of the media node are not bundled.
  for (const name of ['mediasoup', 'express']) assert.ok(!packages.some((each) => each.name === name), `${name} is bundled`);
  // What the operator does not use costs memory, and so does a character that is not ASCII: V8 then keeps the file in two bytes for each.
  const source = await readFile(file, 'utf8');
  assert.match(source, /^var KubeConfig = class/m);
  assert.doesNotMatch(source, /^var V1PodSpec = class/m);
  const wide = /[^\0-\x7f]/.exec(source);
  assert.equal(wide, null, `not ASCII: ${source.slice(wide?.index ?? 0).slice(0, 60)}`);
});

test('a bundled file belongs to the innermost package that contains it', () => {
  const inputs = ['operator/main.ts', 'node_modules/a/x.js', 'node_modules/a/node_modules/@s/b/y/z.js', 'node_modules/a/w.js'];
  assert.deepEqual(packageFolders(inputs), ['node_modules/a', 'node_modules/a/node_modules/@s/b']);
});
