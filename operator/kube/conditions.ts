// Conditions by the Kubernetes API conventions: one per type, and a transition time that changes only with the status.
import type { RoomStatus } from '../../crds/types.ts';
import { timeText } from './times.ts';

export type Condition = NonNullable<RoomStatus['conditions']>[number];

/** A condition without type and status: one CamelCase word for programs, and a message for people. Never contains a secret. */
export type ConditionReason = Pick<Condition, 'reason' | 'message'>;

/**
 * What kstatus reads in addition to Ready: the operator is working on the object, or a user must act first. Both are abnormal: they exist
 * only while they are True, and never together.
 */
export type Convergence = ConditionReason & { type: (typeof convergenceTypes)[number] };
export const convergenceTypes = ['Reconciling', 'Stalled'] as const;

/** Limits of message and reason in the schema of metav1.Condition. */
const maxMessageLength = 32_768;
const maxReasonLength = 1024;

/** Sets a condition, in the order of types; keeps `lastTransitionTime` if the status is unchanged. */
export function setCondition(list: readonly Condition[], next: Omit<Condition, 'lastTransitionTime'>, now: Date): Condition[] {
  const previous = list.find(({ type }) => type === next.type);
  const lastTransitionTime = previous?.status === next.status ? previous.lastTransitionTime : timeText(now);
  const condition = {
    ...next,
    reason: next.reason.slice(0, maxReasonLength),
    message: cut(next.message, maxMessageLength),
    lastTransitionTime,
  };
  return [...list.filter(({ type }) => type !== next.type), condition].sort((one, other) => (one.type < other.type ? -1 : 1));
}

/** Sets the one that holds, and removes the other; removes both if the object matches its spec. */
export function setConvergence(
  list: readonly Condition[],
  convergence: Convergence | undefined,
  observedGeneration: number,
  now: Date,
): Condition[] {
  const others = list.filter(({ type }) => type === convergence?.type || !convergenceTypes.some((each) => each === type));
  return convergence ? setCondition(others, { ...convergence, status: 'True', observedGeneration }, now) : others;
}

export function conditionOf(list: readonly Condition[] | undefined, type: string): Condition | undefined {
  return list?.find((condition) => condition.type === type);
}

/** Truncates to a number of UTF-16 units without splitting a character. */
function cut(text: string, longest: number): string {
  return text.length <= longest ? text : text.slice(0, longest).replace(/[\uD800-\uDBFF]$/, '');
}
