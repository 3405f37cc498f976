// Health of a node process: /health and /readyz while a resource is missing, and after it is available again.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Environment } from '../../node/env.ts';
import { apiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { startNodeProcess } from '../kit/processes/node-process.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { fillDisk, smallDisk } from '../kit/processes/small-disk.ts';
import { apiToken } from '../kit/processes/start-node.ts';
import { workerBin } from '../kit/processes/worker-bin.ts';

async function startProcess(t: TestContext, env: Environment) {
  const node = await startNodeProcess(t, env);
  const api = apiClient(node.url, apiToken);
  /** HTTP statuses of /health and /readyz, then status and reason of /health. */
  const status = async () => {
    const [health, ready] = [await api.get('/health'), await api.get('/readyz')];
    return [health.status, ready.status, health.body.data.status, health.body.data.reason];
  };
  const up = async () => (await status())[2] === 'UP';
  return { node, status, up };
}

const well = [200, 200, 'UP', null];

test('STARTING until the media address is known, then UP', async (t) => {
  const file = join(await makeResources(t), 'address');
  const { status, up } = await startProcess(t, { SVC_WEBRTC_TURN_IP_FILE: file });
  const reason = 'The node is discovering its addresses or other nodes';
  assert.deepEqual(await status(), [200, 503, 'STARTING', reason]);
  writeFileSync(file, '127.0.0.1');
  await eventually('the address is known', up);
  assert.deepEqual(await status(), well);
});

test('DEGRADED while no media worker runs', async (t) => {
  const bin = join(await makeResources(t), 'worker');
  symlinkSync(workerBin, bin);
  const { node, status, up } = await startProcess(t, { MEDIASOUP_WORKER_BIN: bin });
  assert.deepEqual(await status(), well);
  rmSync(bin);
  for (const pid of await node.children()) process.kill(pid, 'SIGKILL');
  await eventually('the node detects it', async () => !(await up()));
  assert.deepEqual(await status(), [200, 200, 'DEGRADED', 'No media worker is running']);
  symlinkSync(workerBin, bin);
  await eventually('a worker runs', up);
  assert.deepEqual(await status(), well);
});

test('DEGRADED while the disk is full or not writable', async (t) => {
  const disk = smallDisk(t, '1m');
  if (disk === undefined) return;
  const { status } = await startProcess(t, { SVC_RESOURCES_BASE_PATH: disk });
  assert.deepEqual(await status(), well);
  fillDisk(disk, 'filler');
  assert.deepEqual(await status(), [200, 200, 'DEGRADED', 'The disk of SVC_RESOURCES_BASE_PATH is full']);
  rmSync(join(disk, 'filler'));
  assert.deepEqual(await status(), well);
  // A disk remounted read-only, like the system does after an error.
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', disk]);
  try {
    assert.deepEqual(await status(), [200, 200, 'DEGRADED', 'SVC_RESOURCES_BASE_PATH cannot be written to: EROFS']);
  } finally {
    execFileSync('umount', ['-l', disk]);
  }
  assert.deepEqual(await status(), well);
});
