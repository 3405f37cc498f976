// Dependencies: when npm packages are reinstalled, and the messages of a failed install.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { dependencyStamp, installedMatchesLock, isInstalled, npmEnvironment, npmFailure } from '../../../tools/dependencies.mjs';
import { root } from '../../../tools/paths.mjs';

const lock = JSON.stringify({
  packages: {
    '': { name: 'mediarooms' },
    'packages/client': { version: '0.7.0' },
    'node_modules/@mediarooms/client': { resolved: 'packages/client', link: true },
    'node_modules/ws': { version: '8.0.0' },
    'node_modules/fsevents': { version: '2.0.0', optional: true },
  },
});
const installed = (ws: string, client = 'packages/client') =>
  JSON.stringify({ packages: { 'node_modules/@mediarooms/client': { resolved: client, link: true }, 'node_modules/ws': { version: ws } } });
const stamp = dependencyStamp(lock, 'linux-x64');

test('the stamp changes with the lock file and with the platform', () => {
  assert.equal(dependencyStamp(lock, 'linux-x64'), stamp);
  assert.notEqual(dependencyStamp(`${lock} `, 'linux-x64'), stamp);
  assert.notEqual(dependencyStamp(lock, 'linux-arm64'), stamp);
});

test('packages installed by a plain npm ci are kept if they match the lock file', () => {
  assert.equal(isInstalled({ stamp, foundStamp: '', lock, installed: installed('8.0.0') }), true);
  assert.equal(isInstalled({ stamp, foundStamp: '', lock, installed: installed('7.9.9') }), false);
  assert.equal(
    isInstalled({ stamp, foundStamp: '', lock, installed: installed('8.0.0', 'node/client') }),
    false,
    'a package of ours moved',
  );
  assert.equal(isInstalled({ stamp, foundStamp: '', lock, installed: '' }), false);
  assert.equal(isInstalled({ stamp, foundStamp: '', lock, installed: '{"packages":' }), false);
});

test('a stamp of this lock file and platform is current; a stamp of another platform never is', () => {
  assert.equal(isInstalled({ stamp, foundStamp: stamp, lock, installed: '' }), true);
  const other = dependencyStamp(lock, 'darwin-arm64');
  assert.equal(isInstalled({ stamp, foundStamp: other, lock, installed: installed('8.0.0') }), false);
});

test('a lock file that changed only for packages of other platforms needs no reinstall', () => {
  assert.equal(isInstalled({ stamp, foundStamp: dependencyStamp('older', 'linux-x64'), lock, installed: installed('8.0.0') }), true);
  assert.equal(isInstalled({ stamp, foundStamp: dependencyStamp('older', 'linux-x64'), lock, installed: installed('7.0.0') }), false);
});

test('the installed packages match package-lock.json', () => {
  const text = readFileSync(join(root, 'package-lock.json'), 'utf8');
  assert.equal(installedMatchesLock(text, readFileSync(join(root, 'node_modules', '.package-lock.json'), 'utf8')), true);
});

test('the lock file has an entry for each optional package of each platform, as npm 11 requires', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { optionalDependencies?: Record<string, string>; resolved?: string }>;
  };
  const names = new Set(Object.keys(packages).map((path) => path.split('node_modules/').at(-1)));
  const wanted = Object.values(packages).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}));
  assert.deepEqual(
    wanted.filter((name) => !names.has(name)),
    [],
  );
});

test('the lock file names no registry, so that a mirror can be used', () => {
  assert.doesNotMatch(readFileSync(join(root, 'package-lock.json'), 'utf8'), /"resolved": "https?:/);
});

test('npm runs without the Node.js of node_modules and without building its own worker', () => {
  const env = npmEnvironment({ PATH: `/checkout/node_modules/.bin:/usr/bin`, NODE_ENV: 'production', HOME: '/home/ann' });
  assert.deepEqual(env, { PATH: '/usr/bin', HOME: '/home/ann', MEDIASOUP_WORKER_BIN: 'provided-by-node-setup' });
  assert.equal(npmEnvironment({ MEDIASOUP_WORKER_BIN: '/mine' }).MEDIASOUP_WORKER_BIN, '/mine');
});

test('each failure of npm has a message', () => {
  assert.match(npmFailure(127, 'spawn npm ENOENT', false), /not on PATH/);
  assert.match(npmFailure(1, '', true), /did not finish within 600 s/);
  assert.match(
    npmFailure(1, 'npm error code EAI_AGAIN\nnpm error getaddrinfo EAI_AGAIN registry.npmjs.org', false),
    /could not reach the package registry/,
  );
  assert.match(npmFailure(0, '', false), /did not create node_modules\/node\/bin\/node/);
  assert.equal(
    npmFailure(1, 'npm error code EUSAGE\nnpm error\nnpm error `npm ci` can only install when in sync.\nnpm error', false),
    'npm ci failed: `npm ci` can only install when in sync.',
  );
  assert.equal(npmFailure(1, 'npm ERR! code EACCES\nnpm ERR! permission denied', false), 'npm ci failed: permission denied');
});
