// The decision about a Room whose room is gone, cannot be asked for, or is not wanted any more, case by case.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { reconcile } from '../../../../operator/rooms/reconcile.ts';
import { check, unknown } from './cases.ts';
import { type Given, now, observed, present, readyStatus } from './observed.ts';

const deleting = { deletionTimestamp: '2026-11-21T11:59:00Z' };
const live = { status: readyStatus() };

describe('A Room whose room is gone', () => {
  const crashes = (...minutes: number[]) => minutes.map((each) => new Date(now.getTime() - each * 60_000).toISOString());
  const gone = (reason: string, given: Given = {}): Given => ({ ...live, fate: { kind: 'ended', reason }, ...given });
  check([
    ['because it was deleted over REST is Finished', gone('deleted'), { action: 'writeStatus', phase: 'Finished', ready: 'False Deleted' }],
    ['because nobody came is Finished', gone('peerless'), { action: 'writeStatus', phase: 'Finished', ready: 'False Purged' }],
    [
      'because its node is drained is made again',
      gone('draining'),
      { action: 'writeStatus', phase: 'Recovering', ready: 'False RoomLost' },
    ],
    ['because its node was stopped is made again', gone('shutdown'), { action: 'writeStatus', phase: 'Recovering' }],
    ['because an older one was found is looked for again', gone('duplicate'), { action: 'writeStatus', phase: 'Recovering' }],
    ['because it crashed is made again', gone('crashed'), { action: 'writeStatus', phase: 'Recovering', ready: 'False RoomCrashed' }],
    [
      'because of a third crash within ten minutes is made again later',
      gone('crashed', { status: { ...live.status, crashes: crashes(9, 4) } }),
      { action: 'writeStatus', phase: 'Recovering', ready: 'False CrashedTooOften' },
    ],
    [
      'because of a third crash, the first long ago, is made again',
      gone('crashed', { status: { ...live.status, crashes: crashes(11, 4) } }),
      { action: 'writeStatus', phase: 'Recovering' },
    ],
    [
      'for a reason that nobody knows counts as crashed',
      gone('whatever', { status: { ...live.status, crashes: crashes(9, 4) } }),
      { action: 'writeStatus', phase: 'Recovering', ready: 'False CrashedTooOften' },
    ],
    ['and nobody knows why is made again', { ...live }, { action: 'writeStatus', phase: 'Recovering', ready: 'False RoomLost' }],
    [
      'and is not to be made again is Failed',
      { ...live, spec: { recreate: 'Never' } },
      { action: 'writeStatus', phase: 'Failed', ready: 'False RoomLost' },
    ],
    [
      'is Finished also where it is not to be made again',
      gone('deleted', { spec: { recreate: 'Never' } }),
      { action: 'writeStatus', phase: 'Finished' },
    ],
  ]);

  test('is made again after that was written, with what it was', () => {
    const { status } = reconcile(observed(live));
    assert.equal(status.incarnation, undefined);
    assert.equal(status.node, undefined);
    assert.equal(reconcile(observed({ status })).action.type, 'create');
    const again = reconcile(observed({ status, fate: { kind: 'retryable', reason: 'NoReadyNode', message: 'None.' } }));
    assert.equal(again.status.phase, 'Recovering');
  });

  test('because of a third crash is made again 30 s after it, however often it crashed', () => {
    let { status } = reconcile(observed(gone('crashed', { status: { ...live.status, crashes: crashes(9, 4) } })));
    assert.deepEqual(reconcile(observed({ status })).action, { type: 'wait', requeueAfterMs: 30_000 });
    const crashed = (secondsAgo: number) => crashes(9, 4, secondsAgo / 60);
    status = { ...status, crashes: crashed(29) };
    assert.deepEqual(reconcile(observed({ status })).action, { type: 'wait', requeueAfterMs: 1_000 });
    status = { ...status, crashes: crashed(30) };
    assert.equal(reconcile(observed({ status })).action.type, 'create');
    // Two do not hold it up.
    assert.equal(reconcile(observed({ status: { ...status, crashes: crashes(4, 0) } })).action.type, 'create');
  });

  const finished = { status: { ...live.status, phase: 'Finished' as const } };
  const failed = { status: { ...live.status, phase: 'Failed' as const } };
  check([
    ['for good is not made again', finished, { action: 'wait', phase: 'Finished' }],
    [
      'for good is not made again when its spec changes',
      { ...finished, metadata: { generation: 2 }, spec: { maxPeers: 3 } },
      { action: 'wait', phase: 'Finished' },
    ],
    ['and Failed stays so', { ...failed, spec: { recreate: 'Never' } }, { action: 'wait', phase: 'Failed' }],
    ['and Failed is made again once that is wanted', failed, { action: 'writeStatus', phase: 'Recovering' }],
  ]);

  test('for good says that it saw a later spec', () => {
    assert.equal(reconcile(observed({ ...finished, metadata: { generation: 2 } })).status.observedGeneration, 2);
  });
});

describe('A Room whose node cannot be asked', () => {
  check([
    ['stays Ready for a moment', { ...live, fate: unknown }, { action: 'wait', phase: 'Ready', ready: 'True Ready' }],
    [
      'is not known to be Ready after a while',
      { ...live, fate: unknown, waitingForMs: 15_000 },
      { action: 'wait', phase: 'Recovering', ready: 'Unknown NodeUnreachable' },
    ],
    [
      'says so at once where its spec changed',
      { ...live, metadata: { generation: 2 }, fate: unknown },
      { action: 'wait', ready: 'Unknown NodeUnreachable' },
    ],
  ]);
});

test('A Room that waits looks less and less often, and often enough', () => {
  const pauses = [0, 10_000, 40_000, 600_000].map((waitingForMs) => {
    const { action } = reconcile(observed({ fate: { kind: 'retryable', reason: 'NoReadyNode', message: 'None.' }, waitingForMs }));
    return action.type === 'wait' ? action.requeueAfterMs : undefined;
  });
  assert.deepEqual(pauses, [2_000, 5_000, 20_000, 30_000]);
});

describe('A Room that is deleted', () => {
  check([
    ['deletes its room', { metadata: deleting, fate: present() }, { action: 'delete' }],
    ['goes when its room is gone', { metadata: deleting }, { action: 'removeFinalizer' }],
    ['waits for a request that may still make its room', { metadata: deleting, createPendingMs: 7_000 }, { action: 'wait' }],
    ['goes if its room is known to be gone', { ...live, metadata: deleting, createPendingMs: 7_000 }, { action: 'removeFinalizer' }],
    ['leaves a stranger’s room alone', { metadata: deleting, fate: { kind: 'foreign' } }, { action: 'removeFinalizer' }],
    [
      'goes without its MediaCluster',
      { metadata: deleting, cluster: { reason: 'ClusterNotFound', message: 'None.' } },
      { action: 'removeFinalizer' },
    ],
    ['goes with a spec that is invalid', { metadata: deleting, sentence: 'It is wrong.' }, { action: 'removeFinalizer' }],
    [
      'waits for a node that does not answer, and says so',
      { metadata: deleting, fate: unknown },
      { action: 'wait', ready: 'False Deleting' },
    ],
    ['does not wait for ever', { metadata: deleting, fate: unknown, deletingForMs: 30_000 }, { action: 'removeFinalizer' }],
    ['has nothing left to do without its finalizer', { metadata: deleting, finalized: false, fate: present() }, { action: 'wait' }],
    [
      'deletes its room also where it is Finished',
      { metadata: deleting, status: { phase: 'Finished' }, fate: present() },
      { action: 'delete' },
    ],
  ]);
});
