// Rotation of token keys in two steps: computes the next content of their Secret. Pure.
import type { SecretData } from '../cluster-context.ts';

export type Rotation = {
  /** Generation of the keys. */
  generation: number;
  /** When the first key became the signing key, in milliseconds since 1970. */
  since: number;
};

export type KeyStep =
  | { do: 'nothing' }
  /** A precondition is pending; see message. */
  | { do: 'wait'; message: string }
  /** New keys of the Secret; omitted keys are removed. */
  | { do: 'write'; data: SecretData; rotation: Rotation; message: string };

export type KeyState = {
  /** `spec.keyRotation.generation`. */
  wanted: number;
  data: SecretData;
  rotation: Rotation;
  /** Whether every node reported that it has loaded the current keys of the Secret. */
  confirmed: boolean;
  /** Lifetime of a token in milliseconds. */
  lifetime: number;
  now: number;
};

/**
 * Next step of the rotation. First all nodes load a new key, then it signs. The old key stays valid until the last token that it signed
 * has expired. The next rotation starts after that, so no valid token is ever rejected.
 */
export function keyStep({ wanted, data, rotation, confirmed, lifetime, now }: KeyState, newKey: () => string): KeyStep {
  const { current, next, previous } = data;
  if (current === undefined) return { do: 'nothing' };
  if (next !== undefined) {
    if (!confirmed) return { do: 'wait', message: 'Key rotation: waiting for all nodes to load the new key.' };
    const turned = { generation: wanted, since: now };
    return {
      do: 'write',
      data: { current: next, previous: current },
      rotation: turned,
      message: 'Key rotation: tokens are now signed with the new key.',
    };
  }
  if (previous !== undefined) {
    const end = rotation.since + lifetime;
    if (now >= end) return { do: 'write', data: { current }, rotation, message: 'Key rotation complete: the old key was removed.' };
    if (wanted > rotation.generation)
      return {
        do: 'wait',
        message: `The next key rotation starts when tokens of the old key have expired, at ${new Date(end).toISOString()}.`,
      };
    return { do: 'nothing' };
  }
  if (wanted <= rotation.generation) return { do: 'nothing' };
  return { do: 'write', data: { current, next: newKey() }, rotation, message: 'Key rotation: distributing a new key to all nodes.' };
}

/** Parses the rotation annotation of the Secret; keys without it are of generation `otherwise`. */
export function rotationOf(text: string | undefined, otherwise: number): Rotation {
  const match = /^(\d{1,7}) (\S+)$/.exec(text ?? '');
  const since = Date.parse(match?.[2] ?? '');
  return match && !Number.isNaN(since) ? { generation: Number(match[1]), since } : { generation: otherwise, since: 0 };
}

export function rotationText({ generation, since }: Rotation): string {
  return `${generation} ${new Date(since).toISOString()}`;
}
