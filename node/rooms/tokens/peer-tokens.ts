// Peer tokens: JWTs that authorize a peer to join a room.
import { decodeJwt } from 'jose';
import { z } from 'zod';
import { isValidId } from '../../../api/id.ts';
import { SigningKeys } from './signing-keys.ts';

/** Lifetime of a peer token in seconds. */
const peerTokenTtl = 24 * 60 * 60;

export type PeerClaims = { roomId: string; peerId: string; expiresAt: number };

const claimsSchema = z.object({ room: z.string(), peer: z.string(), exp: z.number() });

export class PeerTokens {
  readonly #keys: SigningKeys;

  /** SVC_SECRET_KEY_BASE: the first signs, all verify. */
  constructor(secrets: readonly string[]) {
    this.#keys = new SigningKeys('peer', secrets);
  }

  /** Replaces the secrets. */
  replace(secrets: readonly string[]): void {
    this.#keys.replace(secrets);
  }

  /** A token for the peer, valid for `lifetime` seconds on every node with the same secret. */
  sign({ roomId, peerId }: { roomId: string; peerId: string }, lifetime: number = peerTokenTtl): Promise<string> {
    return this.#keys.sign({ room: roomId, peer: peerId }, lifetime);
  }

  /** The claims of a valid token, else undefined. `expiresAt` in milliseconds since 1970. */
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
 * The room of a token, without verification: used to find the owning node, which verifies the token. No other node can verify it without a
 * common SVC_SECRET_KEY_BASE.
 */
export function unverifiedRoomId(token: string): string | undefined {
  try {
    const { room } = claimsSchema.parse(decodeJwt(token));
    return isValidId(room) ? room : undefined;
  } catch {
    return undefined;
  }
}
