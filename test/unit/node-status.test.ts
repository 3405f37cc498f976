// Node status.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diskProblem, statusOf } from '../../node/node-status.ts';
import { fillDisk, smallDisk } from '../kit/processes/small-disk.ts';

const well = { state: 'accepting', ready: true, workers: [{ state: 'running' }, { state: 'restarting' }], disk: undefined } as const;

test('a node is up, starting, draining or degraded, with a reason', () => {
  assert.deepEqual(statusOf(well), { status: 'UP', reason: null });
  assert.equal(statusOf({ ...well, ready: false }).status, 'STARTING');
  assert.match(statusOf({ ...well, state: 'draining' }).reason ?? '', /draining/);
  assert.deepEqual(statusOf({ ...well, state: 'terminating', workers: [] }).status, 'DRAINING');
  assert.deepEqual(statusOf({ ...well, workers: [{ state: 'restarting' }], disk: 'The disk is full' }), {
    status: 'DEGRADED',
    reason: 'No media worker is running; The disk is full',
  });
});

test('a full disk and a missing folder are reported', async (t) => {
  assert.equal(await diskProblem('/proc/nope'), 'SVC_RESOURCES_BASE_PATH cannot be written to: ENOENT');
  const disk = smallDisk(t, '256k');
  if (disk === undefined) return;
  assert.equal(await diskProblem(disk), undefined);
  fillDisk(disk, 'all');
  assert.equal(await diskProblem(disk), 'The disk of SVC_RESOURCES_BASE_PATH is full');
});
