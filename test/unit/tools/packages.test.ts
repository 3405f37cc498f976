// Which of the distribution's packages are missing, how they are installed, and what is said when they cannot be.

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

test('without apt-get or without rights there is an obstacle instead of a prefix', () => {
  assert.match(planInstall({ apt: false, root: true, sudo: true, terminal: true }).obstacle ?? '', /no apt-get/);
  assert.match(planInstall({ apt: true, root: false, sudo: false, terminal: true }).obstacle ?? '', /needs root/);
});

test('the line that mends a missing package can be pasted', () => {
  assert.equal(aptLine(['chromium'], false), 'apt-get update && apt-get install -y chromium (as root)');
  assert.equal(aptLine(aptPackages.browser, true), 'sudo apt-get update && sudo apt-get install -y chromium ffmpeg coturn');
});

test('of a page of output the last error is said, else the last line', () => {
  assert.equal(lastError('Reading...\nE: Unable to locate package foo\nE: really not\nbye\n'), 'E: really not');
  assert.equal(lastError('one\ntwo\n\n'), 'two');
  assert.equal(lastError(''), 'it printed nothing');
  assert.equal(lastError('x'.repeat(1000)).length, 300);
});
