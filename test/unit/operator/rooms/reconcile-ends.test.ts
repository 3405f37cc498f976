// Decisions for a Room whose room has ended, is unreachable, or is being deleted, case by case.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { reconcile } from '../../../../operator/rooms/reconcile.ts';
import { transitions } from '../../../../operator/rooms/transitions.ts';
import { check, unknown } from './cases.ts';
import { conditionsOf, type Given, now, observed, present, readyStatus } from './observed.ts';

const deleting = { deletionTimestamp: '2026-11-21T11:59:00Z' };
const live = { status: readyStatus() };

describe('A Room whose room has ended', () => {
  const crashes = (...minutes: number[]) => minutes.map((each) => new Date(now.getTime() - each * 60_000).toISOString());
  const ended = (reason: string, given: Given = {}): Given => ({ ...live, location: { kind: 'ended', reason }, ...given });
  /** It has crashed twice before, first so many minutes ago. */
  const again = (reason: string, first: number) => ended(reason, { status: { ...live.status, crashes: crashes(first, 4) } });
  const tooOften = 'writeStatus Recovering Ready=False/CrashedTooOften';
  check([
    ['because it was deleted over REST is Finished', ended('deleted'), 'writeStatus Finished Finished=True/Deleted'],
    ['because no peer joined is Finished', ended('peerless'), 'writeStatus Finished Finished=True/Purged'],
    ['because its node was drained is recreated', ended('draining'), 'writeStatus Recovering Ready=False/RoomLost'],
    ['because its node was stopped is recreated', ended('shutdown'), 'writeStatus Recovering'],
    ['because an older duplicate was found is located again', ended('duplicate'), 'writeStatus Recovering'],
    ['because it crashed is recreated', ended('crashed'), 'writeStatus Recovering Ready=False/RoomCrashed'],
    ['because of a third crash within ten minutes is recreated later', again('crashed', 9), tooOften],
    ['because of a third crash, the first long ago, is recreated', again('crashed', 11), 'writeStatus Recovering'],
    ['for an unknown reason counts as crashed', again('whatever', 9), tooOften],
    ['without a reported reason is recreated', { ...live }, 'writeStatus Recovering Ready=False/RoomLost'],
    [
      'with recreate Never is Failed',
      { ...live, spec: { recreate: 'Never' } },
      'writeStatus Failed Ready=False/RoomLost Stalled=True/RoomLost',
    ],
    ['is Finished also with recreate Never', ended('deleted', { spec: { recreate: 'Never' } }), 'writeStatus Finished'],
  ]);

  test('is recreated with its spec after the status was written', () => {
    const { status } = reconcile(observed(live));
    assert.equal(status.incarnation, undefined);
    assert.equal(status.node, undefined);
    assert.equal(reconcile(observed({ status })).action.type, 'create');
    const again = reconcile(observed({ status, location: { kind: 'retryable', reason: 'NoReadyNode', message: 'None.' } }));
    assert.equal(again.status.phase, 'Recovering');
  });

  test('because of a third crash is recreated 30 s after it, however often it crashed', () => {
    let { status } = reconcile(observed(again('crashed', 9)));
    assert.deepEqual(reconcile(observed({ status })).action, { type: 'wait', requeueAfterMs: 30_000 });
    const crashed = (secondsAgo: number) => crashes(9, 4, secondsAgo / 60);
    status = { ...status, crashes: crashed(29) };
    assert.deepEqual(reconcile(observed({ status })).action, { type: 'wait', requeueAfterMs: 1_000 });
    status = { ...status, crashes: crashed(30) };
    assert.equal(reconcile(observed({ status })).action.type, 'create');
    // Two crashes cause no pause.
    assert.equal(reconcile(observed({ status: { ...status, crashes: crashes(4, 0) } })).action.type, 'create');
  });

  const finished = { status: { ...live.status, phase: 'Finished' as const } };
  const failed = { status: { ...live.status, phase: 'Failed' as const } };
  check([
    ['and is Finished is not recreated', finished, 'wait Finished'],
    [
      'and is Finished is not recreated when its spec changes',
      { ...finished, metadata: { generation: 2 }, spec: { maxPeers: 3 } },
      'wait Finished',
    ],
    ['and is Failed stays Failed', { ...failed, spec: { recreate: 'Never' } }, 'wait Failed'],
    ['and is Failed is recreated once recreate is Always', failed, 'writeStatus Recovering'],
  ]);

  const endedAt = (seconds: number, phase: 'Finished' | 'Failed', spec: object): Given => {
    const lastTransitionTime = new Date(now.getTime() - seconds * 1000).toISOString();
    const [type, status] = phase === 'Finished' ? ['Finished', 'True'] : ['Placed', 'False'];
    const condition = { type, status, reason: 'Deleted', message: 'It ended.', lastTransitionTime } as never;
    return { status: { phase, conditions: [condition] }, spec };
  };
  check([
    ['and is Finished is kept without a TTL', endedAt(1e6, 'Finished', {}), 'wait'],
    ['and is Finished is deleted at once with TTL 0', endedAt(0, 'Finished', { ttlSecondsAfterFinished: 0 }), 'deleteRoom'],
    ['and is Finished is deleted after its TTL', endedAt(60, 'Finished', { ttlSecondsAfterFinished: 60 }), 'deleteRoom'],
    ['and is Finished is kept before that', endedAt(59, 'Finished', { ttlSecondsAfterFinished: 60 }), 'wait'],
    ['and is Failed is deleted after its TTL', endedAt(60, 'Failed', { recreate: 'Never', ttlSecondsAfterFinished: 60 }), 'deleteRoom'],
    ['and is Failed is recreated although its TTL has expired', endedAt(60, 'Failed', { ttlSecondsAfterFinished: 60 }), 'create'],
    [
      'and is Finished is released when it is deleted after its TTL',
      { ...endedAt(60, 'Finished', { ttlSecondsAfterFinished: 60 }), metadata: deleting },
      'removeFinalizer',
    ],
  ]);

  test('and is Finished waits for the rest of its TTL, at most a day', () => {
    const waits = [60, 1e9].map(
      (ttlSecondsAfterFinished) => reconcile(observed(endedAt(20, 'Finished', { ttlSecondsAfterFinished }))).action,
    );
    assert.deepEqual(waits, [
      { type: 'wait', requeueAfterMs: 40_000 },
      { type: 'wait', requeueAfterMs: 86_400_000 },
    ]);
  });

  test('and is Finished has no condition Ready, also if an earlier operator wrote it', () => {
    const ready = {
      type: 'Ready',
      status: 'False',
      reason: 'Deleted',
      message: 'It was deleted.',
      lastTransitionTime: '2026-11-21T11:00:00Z',
    };
    const { status } = reconcile(observed({ status: { phase: 'Finished', conditions: [ready as never] } }));
    assert.deepEqual(conditionsOf({ status }), { Degraded: 'False Deleted', Finished: 'True Deleted', Placed: 'False Deleted' });
    assert.deepEqual(transitions({ phase: 'Finished', conditions: [ready as never] }, status), []);
  });

  test('and is Finished updates observedGeneration for a later spec', () => {
    assert.equal(reconcile(observed({ ...finished, metadata: { generation: 2 } })).status.observedGeneration, 2);
  });
});

describe('A Room whose node is unreachable', () => {
  check([
    ['stays Ready for a moment', { ...live, location: unknown }, 'wait Ready Ready=True/Ready'],
    [
      'has an unknown Ready condition after a while',
      { ...live, location: unknown, waitingForMs: 15_000 },
      'wait Recovering Ready=Unknown/NodeUnreachable',
    ],
    [
      'reports it immediately if its spec changed',
      { ...live, metadata: { generation: 2 }, location: unknown },
      'wait Ready=Unknown/NodeUnreachable',
    ],
  ]);
});

test('a waiting Room is requeued with bounded backoff', () => {
  const pauses = [0, 10_000, 40_000, 600_000].map((waitingForMs) => {
    const { action } = reconcile(observed({ location: { kind: 'retryable', reason: 'NoReadyNode', message: 'None.' }, waitingForMs }));
    return action.type === 'wait' ? action.requeueAfterMs : undefined;
  });
  assert.deepEqual(pauses, [2_000, 5_000, 20_000, 30_000]);
});

describe('A Room that is being deleted', () => {
  check([
    ['deletes its room', { metadata: deleting, location: present() }, 'delete'],
    ['is released when its room has ended', { metadata: deleting }, 'removeFinalizer'],
    ['waits for a request that may still create its room', { metadata: deleting, createPendingMs: 7_000 }, 'wait'],
    ['waits for it also after its room has ended', { ...live, metadata: deleting, createPendingMs: 7_000 }, 'wait'],
    ['does not delete a foreign room', { metadata: deleting, location: { kind: 'foreign' } }, 'removeFinalizer'],
    [
      'is released without its MediaCluster',
      { metadata: deleting, cluster: { reason: 'ClusterNotFound', message: 'None.' } },
      'removeFinalizer',
    ],
    ['is released with an invalid spec', { metadata: deleting, message: 'It is wrong.' }, 'removeFinalizer'],
    ['waits for an unreachable node and reports it', { metadata: deleting, location: unknown }, 'wait Ready=False/Deleting'],
    ['does not wait forever', { metadata: deleting, location: unknown, deletingForMs: 30_000 }, 'removeFinalizer'],
    ['has nothing left to do without its finalizer', { metadata: deleting, finalized: false, location: present() }, 'wait'],
    ['deletes its room even if it is Finished', { metadata: deleting, status: { phase: 'Finished' }, location: present() }, 'delete'],
  ]);
});
