// The decision about a Room: from what is known to its next status and at most one action. Pure.
import type { RoomStatus } from '../../crds/types.ts';
import { roomRequest } from './desired.ts';
import type { Action, ConditionReason, Decision, Observed } from './observed.ts';
import { reconcilePlaced } from './reconcile-placed.ts';
import { crashPauseMs, pauseAfterCrashes, type RoomEnd, recordCrash, roomLostEnd, toRoomEnd } from './room-end.ts';
import { pendingStatus, recoveringStatus, rejectedStatus, terminalStatus, unknownStatus, withConditions } from './status.ts';

/** A node, MediaCluster or Secret that is gone must not block deletion for longer, in milliseconds. */
export const deletionTimeoutMs = 30_000;
/** A Room that was ready counts as ready so long while its node cannot be asked: a connection breaks now and then. */
export const unknownTimeoutMs = 15_000;

/** Of those that wait, many may: they look less and less often, and are told when nodes come. */
const soonMs = 2_000;
const maxWaitMs = 30_000;
/** For what changes elsewhere without telling us. */
export const slowRequeueMs = 60_000;

export function reconcile(observed: Observed): Decision {
  const { room, cluster, spec, status } = observed;
  if (room.metadata.deletionTimestamp !== undefined) return deletion(observed);
  if ('sentence' in spec) return rejected(observed, { reason: 'InvalidSpec', message: spec.sentence });
  // Over is over; only what was not to be made again may be, once that is wanted.
  if (status.phase === 'Finished' || (status.phase === 'Failed' && spec.spec.recreate === 'Never')) return settled(observed);
  if ('reason' in cluster) return rejected(observed, cluster);
  if (observed.conflictsWith !== undefined) {
    return rejected(observed, {
      reason: 'RoomIdTaken',
      message: `Room ${observed.conflictsWith} of this namespace has the roomId ${observed.roomId} on MediaCluster ${cluster.name} already.`,
    });
  }
  if (!observed.finalized) return { status, action: { type: 'finalize' } };
  return byFate(observed, cluster, spec.spec);
}

type Cluster = Exclude<Observed['cluster'], ConditionReason>;
type Spec = Extract<Observed['spec'], { spec: unknown }>['spec'];

function byFate(observed: Observed, cluster: Cluster, spec: Spec): Decision {
  const { fate, status, room, roomId } = observed;
  const { uid } = room.metadata;
  switch (fate.kind) {
    case 'present':
      return reconcilePlaced(observed, cluster, spec, fate);
    case 'foreign':
      return rejected(observed, {
        reason: 'RoomIdTaken',
        message: `MediaCluster ${cluster.name} has a room with the id ${roomId} that is not of this Room.`,
      });
    case 'unknown':
      return notKnown(observed, cluster, fate);
    case 'retryable':
      return { status: pendingStatus(status, contextOf(observed), cluster.name, fate), action: wait(retryDelayMs(observed)) };
    case 'rejected':
      return rejected(observed, fate);
    case 'ended':
    case 'absent':
      if (status.incarnation === undefined) {
        const pauseMs = pauseAfterCrashes(status.crashes, observed.now);
        if (pauseMs > 0) return { status, action: wait(pauseMs) };
        return { status, action: { type: 'create', request: roomRequest({ uid, roomId }, spec, cluster.defaults) } };
      }
      return over(observed, spec, fate.kind === 'ended' ? toRoomEnd(fate.reason) : roomLostEnd);
  }
}

/** The room that the status tells of is no more. */
function over(observed: Observed, spec: Spec, roomEnd: RoomEnd): Decision {
  const { now } = observed;
  const context = contextOf(observed);
  const record: Action = { type: 'writeStatus' };
  const crashes = roomEnd.kind === 'crashed' ? recordCrash(observed.status.crashes, now) : observed.status.crashes;
  const status: RoomStatus = { ...observed.status, ...(crashes && { crashes }) };
  if (roomEnd.kind === 'ended') return { status: terminalStatus(status, context, 'Finished', roomEnd.why), action: record };
  if (spec.recreate === 'Never') {
    const message = `${roomEnd.why.message} It is not made again, since recreate is Never.`;
    return { status: terminalStatus(status, context, 'Failed', { reason: roomEnd.why.reason, message }), action: record };
  }
  // It may be an innocent one that shared its worker: it is never given up, and the nodes keep it away from others.
  if (roomEnd.kind === 'crashed' && pauseAfterCrashes(crashes, now) > 0) {
    const message = `${roomEnd.why.message} It crashed again and again within ten minutes and is made again in ${crashPauseMs / 1000} s.`;
    return { status: recoveringStatus(status, context, { reason: 'CrashedTooOften', message }), action: record };
  }
  const message = `${roomEnd.why.message} It is being made again.`;
  return { status: recoveringStatus(status, context, { reason: roomEnd.why.reason, message }), action: record };
}

/** The operator's own failed request says nothing about the room. */
function notKnown(observed: Observed, cluster: Cluster, fate: Extract<Observed['fate'], { kind: 'unknown' }>): Decision {
  const { status, room, waitingForMs } = observed;
  const steady = status.phase === 'Ready' && status.observedGeneration === room.metadata.generation;
  if (steady && waitingForMs < unknownTimeoutMs) return { status, action: wait(soonMs) };
  return { status: unknownStatus(status, contextOf(observed), cluster.name, fate), action: wait(retryDelayMs(observed)) };
}

function deletion(observed: Observed): Decision {
  const { status, fate, cluster, finalized, deletingForMs, createPendingMs } = observed;
  if (!finalized) return { status, action: { type: 'wait' } };
  if ('reason' in cluster) return { status, action: { type: 'removeFinalizer', orphan: false } };
  if (fate.kind === 'present') return { status, action: { type: 'delete' } };
  if (fate.kind !== 'unknown') {
    // A room that is made after the release would stay for ever, with an id that no Room could have.
    if (status.incarnation === undefined && createPendingMs > 0) return { status, action: wait(createPendingMs) };
    return { status, action: { type: 'removeFinalizer', orphan: false } };
  }
  if (deletingForMs >= deletionTimeoutMs) return { status, action: { type: 'removeFinalizer', orphan: true } };
  const why = { reason: 'Deleting', message: `The room is to be deleted: ${fate.message}` };
  return {
    status: withConditions(status, contextOf(observed), { Ready: { status: 'False', ...why } }),
    action: wait(Math.min(soonMs, deletionTimeoutMs - deletingForMs)),
  };
}

/** Finished or failed: only that a later spec was seen is told. */
function settled({ status, room }: Observed): Decision {
  const { generation = 0 } = room.metadata;
  const seen = { ...status, observedGeneration: generation };
  const conditions = status.conditions?.map((condition) => ({ ...condition, observedGeneration: generation }));
  return { status: { ...seen, ...(conditions && { conditions }) }, action: { type: 'wait' } };
}

function rejected(observed: Observed, conditionReason: ConditionReason): Decision {
  return { status: rejectedStatus(observed.status, contextOf(observed), conditionReason), action: wait(slowRequeueMs) };
}

function retryDelayMs({ waitingForMs }: Observed): number {
  return Math.min(Math.max(waitingForMs / 2, soonMs), maxWaitMs);
}

export function contextOf({ room, now }: Pick<Observed, 'room' | 'now'>): { generation: number; now: Date } {
  return { generation: room.metadata.generation ?? 0, now };
}

function wait(requeueAfterMs: number): Action {
  return { type: 'wait', requeueAfterMs };
}
