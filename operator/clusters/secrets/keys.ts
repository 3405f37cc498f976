// The rotation of the keys of tokens in two steps: which keys their Secret holds next; pure.
import type { SecretData } from '../cluster-context.ts';

export type Rotation = {
  /** The generation that the keys are of. */
  generation: number;
  /** When the first key became the first, in milliseconds since 1970. */
  since: number;
};

export type KeyStep =
  | { do: 'nothing' }
  /** Something is awaited; the sentence says what. */
  | { do: 'wait'; message: string }
  /** The Secret's keys from now on; a key that is left out goes. */
  | { do: 'write'; data: SecretData; rotation: Rotation; message: string };

export type KeyState = {
  /** `spec.keyRotation.generation`. */
  wanted: number;
  data: SecretData;
  rotation: Rotation;
  /** Whether every node has told that the Secret's keys as they are now are in force. */
  confirmed: boolean;
  /** How long a token lives at most, in milliseconds. */
  lifetime: number;
  now: number;
};

/**
 * The next step of the rotation. A new key is first known to all nodes, then the first one, which signs; the old one stays good until the
 * last token that it signed has expired. The next rotation begins after that, so that no good token is ever refused.
 */
export function keyStep({ wanted, data, rotation, confirmed, lifetime, now }: KeyState, newKey: () => string): KeyStep {
  const { current, next, previous } = data;
  if (current === undefined) return { do: 'nothing' };
  if (next !== undefined) {
    if (!confirmed) return { do: 'wait', message: 'Keys rotate: waiting until every node knows the new key.' };
    const turned = { generation: wanted, since: now };
    return { do: 'write', data: { current: next, previous: current }, rotation: turned, message: 'The new key signs from now on.' };
  }
  if (previous !== undefined) {
    const end = rotation.since + lifetime;
    if (now >= end) return { do: 'write', data: { current }, rotation, message: 'The last token of the old key has expired: it is gone.' };
    if (wanted > rotation.generation)
      return { do: 'wait', message: `Keys rotate again when the tokens of the old key have expired, at ${new Date(end).toISOString()}.` };
    return { do: 'nothing' };
  }
  if (wanted <= rotation.generation) return { do: 'nothing' };
  return { do: 'write', data: { current, next: newKey() }, rotation, message: 'A new key is made known to every node.' };
}

/** The rotation as the Secret's annotation has it; the keys of one without it are of generation `otherwise`. */
export function rotationOf(text: string | undefined, otherwise: number): Rotation {
  const match = /^(\d{1,7}) (\S+)$/.exec(text ?? '');
  const since = Date.parse(match?.[2] ?? '');
  return match && !Number.isNaN(since) ? { generation: Number(match[1]), since } : { generation: otherwise, since: 0 };
}

export function rotationText({ generation, since }: Rotation): string {
  return `${generation} ${new Date(since).toISOString()}`;
}
