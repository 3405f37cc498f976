// Tokens of peers: who may enter a room as whom.
import { decodeJwt } from 'jose';
import { z } from 'zod';
import { isValidId } from '../ids.ts';
import { SigningKeys } from './signing-keys.ts';

/** Lifetime of a peer token in seconds. */
export const peerTokenTtl = 24 * 60 * 60;

export type PeerClaims = { roomId: string; peerId: string; expiresAt: number };

const claimsSchema = z.object({ room: z.string(), peer: z.string(), exp: z.number() });

export class PeerTokens {
  readonly #keys: SigningKeys;

  /** SVC_SECRET_KEY_BASE: the first signs, all verify. */
  constructor(secrets: readonly string[]) {
    this.#keys = new SigningKeys('peer', secrets);
  }

  /** Takes other secrets from now on. */
  replace(secrets: readonly string[]): void {
    this.#keys.replace(secrets);
  }

  /** A token for the peer, good for `lifetime` seconds on every node with the same secret. */
  sign({ roomId, peerId }: { roomId: string; peerId: string }, lifetime: number = peerTokenTtl): Promise<string> {
    return this.#keys.sign({ room: roomId, peer: peerId }, lifetime);
  }

  /** What a good token says; undefined for every other text. `expiresAt` in milliseconds since 1970. */
  async verify(token: string): Promise<PeerClaims | undefined> {
    try {
      const { room, peer, exp } = claimsSchema.parse(await this.#keys.verify(token));
      return { roomId: room, peerId: peer, expiresAt: exp * 1000 };
    } catch {
      return undefined;
    }
  }
}

/**
 * The room that a token names, unproven: enough to find the node that owns the room, which verifies it. Without a common
 * SVC_SECRET_KEY_BASE no other node can.
 */
export function unverifiedRoomId(token: string): string | undefined {
  try {
    const { room } = claimsSchema.parse(decodeJwt(token));
    return isValidId(room) ? room : undefined;
  } catch {
    return undefined;
  }
}
