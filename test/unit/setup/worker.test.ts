// Which mediasoup worker set-up chooses, and where it keeps the one it gets.

import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { cacheDirectory } from '../../../node/setup/paths.mjs';
import { chooseWorker, prebuiltUrl, workerKey, workerRuns } from '../../../node/setup/worker.mjs';

const debian = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nID=debian\nID_LIKE=none\n';
const machine = { version: '3.27.1', platform: 'linux', arch: 'x64', osRelease: debian } as const;

test('a worker is kept by mediasoup version, distribution and architecture', () => {
  assert.equal(workerKey(machine), '3.27.1-debian12-x64');
  assert.equal(workerKey({ ...machine, osRelease: 'ID="ubuntu"\nVERSION_ID="24.04"\n', arch: 'arm64' }), '3.27.1-ubuntu24.04-arm64');
  assert.equal(workerKey({ ...machine, platform: 'darwin', osRelease: '' }), '3.27.1-darwin-x64');
});

test('a distribution without version, or without a name, still has a key that is a plain folder name', () => {
  assert.equal(workerKey({ ...machine, osRelease: 'ID=arch\n' }), '3.27.1-arch-x64');
  assert.equal(workerKey({ ...machine, osRelease: '' }), '3.27.1-linux-x64');
  assert.equal(workerKey({ ...machine, osRelease: 'ID=../../etc\nVERSION_ID=1/2\n' }), '3.27.1-....etc12-x64');
});

test('a given worker comes first, then the one mediasoup installed, then the cached one', () => {
  const places = { given: '/given', installed: '/installed', cached: '/cached' };
  const there =
    (...paths: string[]) =>
    (path: string) =>
      paths.includes(path);
  assert.deepEqual(chooseWorker(places, there('/installed', '/cached')), { source: 'given', path: '/given' });
  assert.deepEqual(chooseWorker({ ...places, given: '' }, there('/installed', '/cached')), { source: 'installed', path: '/installed' });
  assert.deepEqual(chooseWorker({ ...places, given: undefined }, there('/cached')), { source: 'cached', path: '/cached' });
  assert.equal(chooseWorker({ ...places, given: undefined }, there()), undefined);
});

test('the prebuilt worker is looked for where mediasoup itself looks', () => {
  const url = 'https://github.com/versatica/mediasoup/releases/download/3.27.1/mediasoup-worker-3.27.1-linux-x64-kernel6.tgz';
  assert.equal(prebuiltUrl({ ...machine, kernel: '6.1.0-13-amd64' }, {}), url);
  assert.equal(
    prebuiltUrl(
      { ...machine, platform: 'darwin', arch: 'arm64', kernel: '24.1.0' },
      { MEDIASOUP_WORKER_PREBUILT_DOWNLOAD_BASE_URL: 'https://mirror' },
    ),
    'https://mirror/3.27.1/mediasoup-worker-3.27.1-darwin-arm64.tgz',
  );
});

test('no download is tried when the environment forbids it', () => {
  assert.equal(prebuiltUrl({ ...machine, kernel: '6.1.0' }, { MEDIASOUP_SKIP_WORKER_PREBUILT_DOWNLOAD: '1' }), undefined);
});

test('a worker counts as running only when it answers as one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mediarooms-worker-'));
  try {
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
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the cache directory is the XDG one, else ~/.cache; a relative XDG_CACHE_HOME does not count', () => {
  assert.equal(cacheDirectory({ XDG_CACHE_HOME: '/big/cache', HOME: '/home/ann' }), '/big/cache/mediarooms');
  assert.equal(cacheDirectory({ HOME: '/home/ann' }), '/home/ann/.cache/mediarooms');
  assert.equal(cacheDirectory({ XDG_CACHE_HOME: 'cache', HOME: '/home/ann' }), '/home/ann/.cache/mediarooms');
});
