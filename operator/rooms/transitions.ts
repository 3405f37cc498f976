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
  const [old, ready] = [of(before, 'Ready'), of(after, 'Ready')];
  if (!phase || !ready || (phase === before.phase && isSame(old, ready))) return undefined;
  const normal = phase === 'Ready' || plannedEnds.includes(ready.reason);
  return { type: normal ? 'Normal' : 'Warning', reason: ready.reason, action: actions[phase], note: ready.message };
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
