// Third-party packages of a release.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from './source-files.ts';

type Locked = { name?: string; version?: string; dev?: boolean };
const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: Record<string, Locked> };
const nameOf = ([path, { name }]: [string, Locked]) => name ?? path.split('node_modules/').at(-1) ?? '';
const installed = Object.entries(packages).filter(([path]) => path.includes('node_modules/'));

test('a release has no package that only WebRTC or the installer of node-av needs', () => {
  const released = new Set(installed.filter(([, { dev }]) => dev !== true).map(nameOf));
  assert.ok(released.has('node-av') && released.has('@peculiar/x509') && !released.has('vite'));
  const unused = /^(werift.*|unzipper|mp4box|ip|multicast-dns|bluebird|fs-extra|duplexer2|tweetnacl|aes-js)$/;
  assert.deepEqual(
    [...released].filter((name) => unused.test(name)),
    [],
    'package.json must override them',
  );
});

test('tests use the real werift package', () => {
  assert.equal(packages['node_modules/werift']?.name, undefined);
  assert.match(packages['node_modules/werift']?.version ?? '', /^0\./);
});
