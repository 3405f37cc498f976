// Ids: the pattern for ids that clients choose, and generators for all others.
import { randomBytes, randomUUID } from 'node:crypto';

/** A new id for a room, peer, component or track: a UUID version 4 (RFC 9562, section 5.4). */
export function newId(): string {
  return randomUUID();
}

const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
let lastTime = 0;
let lastRandom = 0n;

/**
 * A new incarnation: a ULID (48 bits of milliseconds, 80 random bits, Crockford's base 32). Incarnations of one process sort by creation,
 * also within a millisecond.
 */
export function newIncarnation(now: number = Date.now()): string {
  if (now > lastTime) {
    lastTime = now;
    lastRandom = BigInt(`0x${randomBytes(10).toString('hex')}`) >> 1n;
  } else {
    lastRandom += 1n;
  }
  return encode(BigInt(lastTime), 10) + encode(lastRandom, 16);
}

/** When an incarnation was created, in milliseconds since 1970. */
export function timeOf(incarnation: string): number {
  return [...incarnation.slice(0, 10)].reduce((time, digit) => time * 32 + Math.max(0, crockford.indexOf(digit)), 0);
}

function encode(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest >>= 5n) text = crockford[Number(rest & 31n)] + text;
  return text;
}
