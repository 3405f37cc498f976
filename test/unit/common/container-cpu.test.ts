// Container CPU: cores and usage from the files of both versions of cgroups.
import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ContainerCpu, cgroupCores } from '../../../node/common/container-cpu.ts';
import { tempFolder } from '../../kit/temp-folder.ts';

/** A folder of cgroup files; `write` replaces files in it. */
async function cgroup(t: TestContext) {
  const root = tempFolder(t);
  await Promise.all(['cpu', 'cpuacct'].map((name) => mkdir(join(root, name))));
  const write = async (files: Record<string, string>) => {
    for (const [name, text] of Object.entries(files)) await writeFile(join(root, name), text);
  };
  return { root, write };
}

test('the limit of the container is read from both versions of cgroups', async (t) => {
  const { root, write } = await cgroup(t);
  const limitOf = async (files: Record<string, string>) => {
    await write(files);
    return cgroupCores(root);
  };
  assert.equal(await limitOf({}), undefined);
  assert.equal(await limitOf({ 'cpu.max': 'max 100000\n' }), undefined);
  assert.equal(await limitOf({ 'cpu.max': '150000 100000\n' }), 1.5);
  await rm(join(root, 'cpu.max'));
  assert.equal(await limitOf({ 'cpu/cpu.cfs_quota_us': '-1\n', 'cpu/cpu.cfs_period_us': '100000\n' }), undefined);
  assert.equal(await limitOf({ 'cpu/cpu.cfs_quota_us': '50000\n' }), 0.5);
  assert.equal(await limitOf({ 'cpu.max': 'nonsense' }), 0.5);
});

test('the usage is a share of the cores that the container may use, measured over half a second or more', async (t) => {
  const { root, write } = await cgroup(t);
  let now = 0;
  const cpu = new ContainerCpu({ root, cores: 4, now: () => now });
  const at = async (ms: number, usedMs: number) => {
    now = ms;
    await write({ 'cpu.stat': `usage_usec ${usedMs * 1_000}\nuser_usec 1\n` });
    return cpu.read();
  };
  assert.equal(await at(0, 5_000), 0);
  assert.equal(await at(400, 6_000), 0);
  assert.equal(await at(1_000, 7_000), 0.5);
  await write({ 'cpu.max': '100000 100000\n' });
  assert.equal(await at(2_000, 7_250), 0.25);
  assert.equal(await at(3_000, 9_250), 1);
});

test('the usage is read from version 1 of cgroups, and outside of a container from the host', async (t) => {
  const { root, write } = await cgroup(t);
  let now = 0;
  const cpu = new ContainerCpu({ root, cores: 2, now: () => now });
  const host = await cpu.read();
  assert.ok(host >= 0 && host <= 1);
  await write({ 'cpuacct/cpuacct.usage': '1000000000\n' });
  assert.equal(await cpu.read(), 0);
  now = 1_000;
  await write({ 'cpuacct/cpuacct.usage': '2000000000\n' });
  assert.equal(await cpu.read(), 0.5);
});
