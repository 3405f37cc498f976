// File rules: at most 400 lines, a first line that says what the file is, and mediasoup terms only in node/media.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root, sourceFiles } from './source-files.ts';

const maxLines = 400;
const files = sourceFiles();

test(`no file written by hand has more than ${maxLines} lines`, () => {
  const long = files
    .filter((file) => !file.path.includes('/generated/'))
    .filter((file) => file.text.split('\n').length - 1 > maxLines)
    .map((file) => `${file.path}: ${file.text.split('\n').length - 1}`);
  assert.deepEqual(long, []);
});

test('every file starts with a comment that says what it is', () => {
  const without = files.filter((file) => !/^(#!.*\n)?(\/\/|\/\*\*?) \S/.test(file.text)).map((file) => file.path);
  assert.deepEqual(without, []);
});

test('mediasoup terms are used in node/media only', () => {
  const words = /\b(createRouter|createWorker|WebRtcTransport|WebRtcServer|createProducer|createConsumer)\b/;
  const strays = files
    .filter((file) => /^node\/(?!media\/|client\/|setup\/)/.test(file.path) && words.test(file.text))
    .map((file) => file.path);
  assert.deepEqual(strays, []);
});

test('LEGACY_ variables are not read from version 0.8.0', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const reads = files.some((file) => /^node\/(config|env)/.test(file.path) && file.text.includes('LEGACY_'));
  assert.ok(!reads || (major === 0 && minor < 8), `version ${version} still reads LEGACY_ variables`);
});
