// Which Events a change of a Room's status is worth. Pure.
import type { RoomStatus } from '../../crds/types.ts';
import type { Condition } from '../kube/conditions.ts';
import { conditionOf } from '../kube/conditions.ts';

export type Told = { type: 'Normal' | 'Warning'; reason: string; action: string; note: string };

const actions = { Pending: 'Place', Ready: 'Place', Recovering: 'Recreate', Finished: 'Finish', Failed: 'Fail' } as const;
/** The end of a room that is nobody's fault. */
const asWished = ['Deleted', 'Purged'];

export function transition(before: RoomStatus, after: RoomStatus): Told | undefined {
  const { phase } = after;
  const [old, ready] = [readyOf(before), readyOf(after)];
  if (!phase || !ready || (phase === before.phase && ready.status === old?.status && ready.reason === old.reason)) return undefined;
  const normal = phase === 'Ready' || asWished.includes(ready.reason);
  return { type: normal ? 'Normal' : 'Warning', reason: ready.reason, action: actions[phase], note: ready.message };
}

function readyOf({ conditions }: RoomStatus): Condition | undefined {
  return conditionOf(conditions as Condition[] | undefined, 'Ready');
}
