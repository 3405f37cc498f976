// Maps changes of the status of a Room to Events. Pure.
import type { RoomStatus } from '../../crds/types.ts';
import { type Condition, conditionOf } from '../kube/conditions.ts';

export type EventDraft = { type: 'Normal' | 'Warning'; reason: string; action: string; note: string };

const actions = { Pending: 'Place', Ready: 'Place', Recovering: 'Recreate', Finished: 'Finish', Failed: 'Fail' } as const;
const watching = 'Watch';
/** Ends that are not failures. */
const plannedEnds = ['Deleted', 'Purged'];

export function transitions(before: RoomStatus, after: RoomStatus): EventDraft[] {
  return [changeOfRoom(before, after), changeOfTrouble(before, after)].filter((eventDraft) => eventDraft !== undefined);
}

function changeOfRoom(before: RoomStatus, after: RoomStatus): EventDraft | undefined {
  const { phase } = after;
  const [old, now] = [summaryOf(before), summaryOf(after)];
  // A Finished Room does not change; only an earlier operator stored other conditions.
  if (!phase || !now || (phase === before.phase && (phase === 'Finished' || isSame(old, now)))) return undefined;
  const normal = phase === 'Ready' || plannedEnds.includes(now.reason);
  return { type: normal ? 'Normal' : 'Warning', reason: now.reason, action: actions[phase], note: now.message };
}

function summaryOf(status: RoomStatus): Condition | undefined {
  return of(status, 'Finished') ?? of(status, 'Ready');
}

/** For a Ready room. For others the same reason is reported by the condition Ready. */
function changeOfTrouble(before: RoomStatus, after: RoomStatus): EventDraft | undefined {
  const [old, degraded] = [of(before, 'Degraded'), of(after, 'Degraded')];
  if (after.phase !== 'Ready' || !degraded || isSame(old, degraded)) return undefined;
  if (degraded.status !== 'True' && before.phase !== 'Ready') return undefined;
  const { reason, message: note } = degraded;
  return { type: degraded.status === 'True' ? 'Warning' : 'Normal', reason, action: watching, note };
}

function of({ conditions }: RoomStatus, type: string): Condition | undefined {
  return conditionOf(conditions, type);
}

function isSame(one: Condition | undefined, other: Condition): boolean {
  return one?.status === other.status && one.reason === other.reason;
}
