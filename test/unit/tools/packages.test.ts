// Debian packages: which are missing, how they are installed, and the messages of a failed install.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { aptLine, aptPackages, lastError, missingPackages, planInstall } from '../../../tools/packages.mjs';

test('a package that was removed but left its configuration is missing', () => {
  const status = 'chromium installed\nffmpeg config-files\n';
  assert.deepEqual(missingPackages(status, ['chromium', 'ffmpeg', 'coturn']), ['ffmpeg', 'coturn']);
  assert.deepEqual(missingPackages('', ['chromium']), ['chromium']);
});

test('root installs directly, others with sudo, which asks only at a terminal', () => {
  const machine = { apt: true, root: false, sudo: true, terminal: false };
  assert.deepEqual(planInstall({ ...machine, root: true, sudo: false }), { prefix: [] });
  assert.deepEqual(planInstall({ ...machine, terminal: true }), { prefix: ['sudo'] });
  assert.deepEqual(planInstall(machine), { prefix: ['sudo', '-n'] });
});

test('the plan has an obstacle instead of a prefix without apt-get or permissions', () => {
  assert.match(planInstall({ apt: false, root: true, sudo: true, terminal: true }).obstacle ?? '', /no apt-get/);
  assert.match(planInstall({ apt: true, root: false, sudo: false, terminal: true }).obstacle ?? '', /requires root/);
});

test('the command that installs a missing package can be pasted', () => {
  assert.equal(aptLine(['chromium'], false), 'apt-get update && apt-get install -y chromium (as root)');
  assert.equal(
    aptLine(aptPackages.browser, true),
    'sudo apt-get update && sudo apt-get install -y chromium chromium-headless-shell ffmpeg coturn',
  );
});

test('lastError returns the last error of an output, or its last line', () => {
  assert.equal(lastError('Reading...\nE: Unable to locate package foo\nE: really not\nbye\n'), 'E: really not');
  assert.equal(lastError('one\ntwo\n\n'), 'two');
  assert.equal(lastError(''), 'no output');
  assert.equal(lastError('x'.repeat(1000)).length, 300);
});
