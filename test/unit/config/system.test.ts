// Config system: values read from the host.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { localSystem } from '../../../node/config/system.ts';

const system = localSystem();

describe('the config system', () => {
  it('returns the source address of the default route, which is a local address', async () => {
    assert.ok(system.localAddresses().includes(await system.defaultRouteAddress()));
  });

  it('returns cores, not more than the host has', async () => {
    const cores = await system.cores();
    assert.ok(cores > 0 && cores <= availableParallelism());
  });

  it('returns why a folder cannot be created, also if mkdir gets ENOENT forever', { timeout: 20_000 }, async () => {
    const root = await mkdtemp(join(tmpdir(), 'config-folder-'));
    await writeFile(join(root, 'file'), '');
    assert.equal(await system.makeWritable(join(root, 'a/b/c')), undefined);
    assert.equal(await system.makeWritable(join(root, 'a/b')), undefined);
    assert.equal(await system.makeWritable(join(root, 'file')), 'EEXIST');
    assert.equal(await system.makeWritable(join(root, 'file/b')), 'ENOTDIR');
    for (const folder of ['/proc/nope', '/proc/nope/b/c']) assert.equal(await system.makeWritable(folder), 'ENOENT');
    await rm(root, { recursive: true });
  });

  it('resolves existing names and rejects others', async () => {
    const addresses = await system.resolve('localhost', 5000);
    assert.ok(addresses.every((address) => address === '127.0.0.1' || address === '::1'));
    await assert.rejects(system.resolve('name.invalid', 5000));
  });

  it('returns the commit of its sources, or none', async () => {
    assert.match((await system.gitCommit()) ?? '0000000', /^[0-9a-f]{7,40}$/);
  });

  it('creates directories or returns the error code', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'config-system-'));
    assert.equal(await system.makeWritable(join(folder, 'a', 'b')), undefined);
    assert.ok((await stat(join(folder, 'a', 'b'))).isDirectory());
    await writeFile(join(folder, 'file'), 'x');
    assert.equal(await system.makeWritable(join(folder, 'file', 'b')), 'ENOTDIR');
    assert.deepEqual([await system.unreadable(join(folder, 'file')), await system.unreadable(join(folder, 'gone'))], [undefined, 'ENOENT']);
    assert.equal(await readFile(join(folder, 'file'), 'utf8'), 'x');
    await rm(folder, { recursive: true });
  });
});
