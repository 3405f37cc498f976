// Decision for a Room: maps the observed state to the next status and at most one action. Pure.
import type { RoomStatus } from '../../crds/types.ts';
import { type ConditionReason, conditionOf } from '../kube/conditions.ts';
import { roomRequest } from './desired.ts';
import type { Action, Decision, Observed } from './observed.ts';
import { reconcilePlaced } from './reconcile-placed.ts';
import { crashPauseMs, pauseAfterCrashes, type RoomEnd, recordCrash, roomLostEnd, toRoomEnd } from './room-end.ts';
import {
  contextOf,
  failedStatus,
  finishedStatus,
  pendingStatus,
  recoveringStatus,
  rejectedStatus,
  unknownStatus,
  withConditions,
} from './status.ts';

/** An unavailable node, MediaCluster or Secret must not block deletion for longer, in milliseconds. */
export const deletionTimeoutMs = 30_000;
/** A ready Room stays Ready for this time while its node is unreachable, because connections break occasionally. */
export const unknownTimeoutMs = 15_000;

/** Backoff of waiting Rooms, which may be many. They are also enqueued when nodes appear. */
const soonMs = 2_000;
const maxWaitMs = 30_000;
/** The limit of a timer is 24 days. */
const maxTtlWaitMs = 24 * 60 * 60_000;
/** Requeue interval for changes that cause no event. */
export const slowRequeueMs = 60_000;

type Cluster = Exclude<Observed['cluster'], ConditionReason>;
type Spec = Extract<Observed['spec'], { spec: unknown }>['spec'];
/** A Room that may have a room on a node. */
type Accepted = { observed: Observed; cluster: Cluster; spec: Spec };

/** The steps of a Room, in order: the first that decides ends the pass. An accepted Room goes on to `byLocation`, and to its parts once it is placed. */
const steps: Readonly<Record<string, (observed: Observed) => Decision | undefined>> = {
  deleteRoom: (observed) => (observed.room.metadata.deletionTimestamp === undefined ? undefined : deletion(observed)),
  rejectInvalidSpec: (observed) =>
    'message' in observed.spec ? rejected(observed, { reason: 'InvalidSpec', message: observed.spec.message }) : undefined,
  keepTerminalPhase: (observed) => (isTerminal(observed) ? settled(observed) : undefined),
  rejectWithoutCluster: (observed) => ('reason' in observed.cluster ? rejected(observed, observed.cluster) : undefined),
  rejectConflictingId: (observed) => (observed.conflictsWith === undefined ? undefined : conflicting(observed, observed.conflictsWith)),
  addFinalizer: ({ finalized, status }) => (finalized ? undefined : { status, action: { type: 'finalize' } }),
};

export function reconcile(observed: Observed): Decision {
  for (const step of Object.values(steps)) {
    const decision = step(observed);
    if (decision) return decision;
  }
  return byLocation(accepted(observed));
}

/** @throws TypeError before the steps that reject the Room */
function accepted(observed: Observed): Accepted {
  const { cluster, spec } = observed;
  if ('reason' in cluster || 'message' in spec) throw new TypeError('The Room is not accepted');
  return { observed, cluster, spec: spec.spec };
}

function byLocation({ observed, cluster, spec }: Accepted): Decision {
  const { location, status, room, roomId } = observed;
  const { uid } = room.metadata;
  switch (location.kind) {
    case 'present':
      return reconcilePlaced(observed, cluster, spec, location);
    case 'foreign':
      return rejected(observed, {
        reason: 'RoomIdTaken',
        message: `Room id "${roomId}" on MediaCluster "${cluster.name}" is in use by a room that this Room does not manage.`,
      });
    case 'unknown':
      return notKnown(observed, cluster, location);
    case 'retryable':
      return { status: pendingStatus(status, contextOf(observed), cluster.name, location), action: wait(retryDelayMs(observed)) };
    case 'rejected':
      return rejected(observed, location);
    case 'ended':
    case 'absent':
      if (status.incarnation === undefined) {
        const pauseMs = pauseAfterCrashes(status.crashes, observed.now);
        if (pauseMs > 0) return { status, action: wait(pauseMs) };
        return { status, action: { type: 'create', request: roomRequest({ uid, roomId }, spec, cluster.defaults) } };
      }
      return over(observed, spec, location.kind === 'ended' ? toRoomEnd(location.reason) : roomLostEnd);
  }
}

/** A terminal phase is final, except Failed because of recreate: Never, if recreate changes. */
export function isTerminal({ status, spec }: Observed): boolean {
  return status.phase === 'Finished' || (status.phase === 'Failed' && 'spec' in spec && spec.spec.recreate === 'Never');
}

/** The room of the status has ended. */
function over(observed: Observed, spec: Spec, roomEnd: RoomEnd): Decision {
  const { now } = observed;
  const context = contextOf(observed);
  const record: Action = { type: 'writeStatus' };
  const crashes = roomEnd.kind === 'crashed' ? recordCrash(observed.status.crashes, now) : observed.status.crashes;
  const status: RoomStatus = { ...observed.status, ...(crashes && { crashes }) };
  if (roomEnd.kind === 'ended') return { status: finishedStatus(status, context, roomEnd.why), action: record };
  if (spec.recreate === 'Never') {
    const message = `${roomEnd.why.message} It is not recreated, because spec.recreate is Never.`;
    return { status: failedStatus(status, context, { reason: roomEnd.why.reason, message }), action: record };
  }
  // The crash may be caused by another room on its worker: recreation never stops, and the nodes isolate crashing rooms.
  if (roomEnd.kind === 'crashed' && pauseAfterCrashes(crashes, now) > 0) {
    const message = `${roomEnd.why.message} It crashed repeatedly within ten minutes and will be recreated in ${crashPauseMs / 1000} s.`;
    return { status: recoveringStatus(status, context, { reason: 'CrashedTooOften', message }), action: record };
  }
  const message = `${roomEnd.why.message} It is being recreated.`;
  return { status: recoveringStatus(status, context, { reason: roomEnd.why.reason, message }), action: record };
}

/** A failed request of the operator does not reveal the state of the room. */
function notKnown(observed: Observed, cluster: Cluster, location: Extract<Observed['location'], { kind: 'unknown' }>): Decision {
  const { status, room, waitingForMs } = observed;
  const steady = status.phase === 'Ready' && status.observedGeneration === room.metadata.generation;
  if (steady && waitingForMs < unknownTimeoutMs) return { status, action: wait(soonMs) };
  return { status: unknownStatus(status, contextOf(observed), cluster.name, location), action: wait(retryDelayMs(observed)) };
}

function deletion(observed: Observed): Decision {
  const { status, location, cluster, finalized, deletingForMs, createPendingMs } = observed;
  if (!finalized) return { status, action: { type: 'wait' } };
  if ('reason' in cluster) return { status, action: { type: 'removeFinalizer', orphan: false } };
  if (location.kind === 'present') return { status, action: { type: 'delete' } };
  if (location.kind !== 'unknown') {
    // A room created after the finalizer is removed would be orphaned, with an id that blocks other Rooms. Requests are repeated, so one
    // may be pending although the room already existed.
    if (createPendingMs > 0) return { status, action: wait(createPendingMs) };
    return { status, action: { type: 'removeFinalizer', orphan: false } };
  }
  if (deletingForMs >= deletionTimeoutMs) return { status, action: { type: 'removeFinalizer', orphan: true } };
  const why = { reason: 'Deleting', message: `Deletion of the room is pending: ${location.message}` };
  return {
    status: withConditions(status, contextOf(observed), { Ready: { status: 'False', ...why } }),
    action: wait(Math.min(soonMs, deletionTimeoutMs - deletingForMs)),
  };
}

/** In a terminal phase only observedGeneration is updated, and conditions of an earlier operator are completed. */
function settled(observed: Observed): Decision {
  const { status, room } = observed;
  const context = contextOf(observed);
  const ready = conditionOf(status.conditions, 'Ready');
  const complete = status.phase === 'Finished' && ready ? finishedStatus(status, context, ready) : withConditions(status, context, {});
  const { generation: observedGeneration = 0 } = room.metadata;
  const conditions = complete.conditions?.map((condition) => ({ ...condition, observedGeneration }));
  return { status: { ...complete, ...(conditions && { conditions }) }, action: afterTheEnd(observed, complete) };
}

/** Deletes a Room whose TTL has expired. */
function afterTheEnd({ spec, now }: Observed, { phase, conditions }: RoomStatus): Action {
  const ttl = 'spec' in spec ? spec.spec.ttlSecondsAfterFinished : undefined;
  // Both change their status when the room ends, and never again.
  const end = conditionOf(conditions, phase === 'Finished' ? 'Finished' : 'Placed');
  if (ttl === undefined || !end) return { type: 'wait' };
  const remainingMs = Date.parse(end.lastTransitionTime) + ttl * 1000 - now.getTime();
  return remainingMs <= 0 ? { type: 'deleteRoom' } : wait(Math.min(remainingMs, maxTtlWaitMs));
}

function rejected(observed: Observed, conditionReason: ConditionReason): Decision {
  return { status: rejectedStatus(observed.status, contextOf(observed), conditionReason), action: wait(slowRequeueMs) };
}

function conflicting(observed: Observed, other: string): Decision {
  const { roomId, cluster } = observed;
  const where = 'name' in cluster ? ` on MediaCluster ${cluster.name}` : '';
  return rejected(observed, {
    reason: 'RoomIdTaken',
    message: `Room ${other} of this namespace already uses the roomId ${roomId}${where}.`,
  });
}

function retryDelayMs({ waitingForMs }: Observed): number {
  return Math.min(Math.max(waitingForMs / 2, soonMs), maxWaitMs);
}

function wait(requeueAfterMs: number): Action {
  return { type: 'wait', requeueAfterMs };
}
