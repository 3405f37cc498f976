// Conditions as the API conventions have them: one per type, and a time that moves only when the status does.

export type ConditionStatus = 'True' | 'False' | 'Unknown';

export type Condition = {
  type: string;
  status: ConditionStatus;
  /** One CamelCase word, for machines. */
  reason: string;
  /** One sentence, for people. */
  message: string;
  /** The generation of the spec that this was found out about. */
  observedGeneration: number;
  /** RFC 3339, when `status` last changed. */
  lastTransitionTime: string;
};

/** The longest message and reason that the schema of metav1.Condition allows. */
const maxMessageLength = 32_768;
const maxReasonLength = 1024;

/** The list with that condition set, in the order of types; `lastTransitionTime` stays where the status stays. */
export function setCondition(list: readonly Condition[], next: Omit<Condition, 'lastTransitionTime'>, now: Date): Condition[] {
  const previous = list.find(({ type }) => type === next.type);
  const lastTransitionTime = previous?.status === next.status ? previous.lastTransitionTime : now.toISOString().replace(/\.\d+Z$/, 'Z');
  const condition = {
    ...next,
    reason: next.reason.slice(0, maxReasonLength),
    message: cut(next.message, maxMessageLength),
    lastTransitionTime,
  };
  return [...list.filter(({ type }) => type !== next.type), condition].sort((one, other) => (one.type < other.type ? -1 : 1));
}

export function conditionOf(list: readonly Condition[] | undefined, type: string): Condition | undefined {
  return list?.find((condition) => condition.type === type);
}

export function isTrue(list: readonly Condition[] | undefined, type: string): boolean {
  return conditionOf(list, type)?.status === 'True';
}

/** At most so many UTF-16 units, never half of a character. */
function cut(text: string, longest: number): string {
  return text.length <= longest ? text : text.slice(0, longest).replace(/[\uD800-\uDBFF]$/, '');
}
