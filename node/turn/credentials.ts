// TURN credentials: time-limited, as verified by coturn (draft-uberti-behave-turn-rest-00, section 2.2).
import { createHmac } from 'node:crypto';

export type TurnCredential = { username: string; credential: string };

/**
 * Valid until `expiresAt` (milliseconds since 1970). coturn counts the allocations of `user`, regardless of the time in the name. username
 * = seconds since 1970, a colon, the user; credential = base64(HMAC-SHA1(secret, username)).
 */
export function turnCredential(secret: string, user: string, expiresAt: number): TurnCredential {
  const username = `${Math.floor(expiresAt / 1000)}:${user}`;
  return { username, credential: createHmac('sha1', secret).update(username).digest('base64') };
}
