// Media worker: which mediasoup worker setup chooses, and its folder in the cache.

import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { cacheDirectory } from '../../../tools/paths.mjs';
import { chooseWorker, workerKey, workerRuns } from '../../../tools/worker/worker.mjs';
import { tempFolder } from '../../kit/temp-folder.ts';

const debian = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nID=debian\nID_LIKE=none\n';
const machine = { version: '3.27.1', platform: 'linux', arch: 'x64', osRelease: debian, build: '0a1b2c3d' } as const;

test('the folder of a worker depends on mediasoup version, build, distribution and architecture', () => {
  assert.equal(workerKey(machine), '3.27.1-0a1b2c3d-debian12-x64');
  assert.equal(
    workerKey({ ...machine, osRelease: 'ID="ubuntu"\nVERSION_ID="24.04"\n', arch: 'arm64' }),
    '3.27.1-0a1b2c3d-ubuntu24.04-arm64',
  );
  assert.equal(workerKey({ ...machine, platform: 'darwin', osRelease: '' }), '3.27.1-0a1b2c3d-darwin-x64');
});

test('a distribution without version or name still has a valid folder name', () => {
  assert.equal(workerKey({ ...machine, osRelease: 'ID=arch\n' }), '3.27.1-0a1b2c3d-arch-x64');
  assert.equal(workerKey({ ...machine, osRelease: '' }), '3.27.1-0a1b2c3d-linux-x64');
  assert.equal(workerKey({ ...machine, osRelease: 'ID=../../etc\nVERSION_ID=1/2\n' }), '3.27.1-0a1b2c3d-....etc12-x64');
});

test('MEDIASOUP_WORKER_BIN takes precedence over the cached worker, and there is no third source', () => {
  const places = { given: '/given', cached: '/cached' };
  const there = (path: string) => path === '/cached';
  assert.deepEqual(chooseWorker(places, there), { source: 'given', path: '/given' });
  assert.deepEqual(chooseWorker({ ...places, given: undefined }, there), { source: 'cached', path: '/cached' });
  assert.equal(
    chooseWorker({ ...places, given: '' }, () => false),
    undefined,
  );
});

test('a worker counts as working only if it exits with the code of a worker', (t) => {
  const folder = tempFolder(t);
  const program = (name: string, code: number) => {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\nexit ${code}\n`);
    chmodSync(path, 0o755);
    return path;
  };
  assert.equal(workerRuns(program('worker', 41)), true);
  assert.equal(workerRuns(program('other', 0)), false);
  assert.equal(workerRuns(program('without-libraries', 127)), false);
  assert.equal(workerRuns(join(folder, 'absent')), false);
});

test('the cache directory is XDG_CACHE_HOME or ~/.cache; a relative XDG_CACHE_HOME is ignored', () => {
  assert.equal(cacheDirectory({ XDG_CACHE_HOME: '/big/cache', HOME: '/home/ann' }), '/big/cache/mediarooms');
  assert.equal(cacheDirectory({ HOME: '/home/ann' }), '/home/ann/.cache/mediarooms');
  assert.equal(cacheDirectory({ XDG_CACHE_HOME: 'cache', HOME: '/home/ann' }), '/home/ann/.cache/mediarooms');
});
