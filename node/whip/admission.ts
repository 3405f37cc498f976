// Admission of encoders and players: the peer of a peer token or of an access token, in the room of the request.
import { ServiceError } from '../../api/errors.ts';
import type { AccessAdmission } from '../rooms/access-admission.ts';
import type { LocalRooms } from '../rooms/local-rooms.ts';
import type { Peer } from '../rooms/peers/peer.ts';
import type { Access } from '../rooms/tokens/access-claims.ts';
import { isAccessToken } from '../rooms/tokens/access-tokens.ts';
import type { PeerClaims, PeerTokens } from '../rooms/tokens/peer-tokens.ts';

export type WhipAdmissionOptions = {
  rooms: Pick<LocalRooms, 'room'>;
  tokens: Pick<PeerTokens, 'verify'>;
  access: Pick<AccessAdmission, 'verify' | 'isLocal' | 'openRoom' | 'enter' | 'find'>;
};
/** `roomId`: the room of the path. */
export type WhipRequest = { roomId: string; token: string };
/** `takeover`: true if a session replaces the connection that the peer has over its websocket. */
export type Admitted = { peer: Peer; takeover: boolean };

/** @throws ServiceError `forbidden` */
function mayPublish({ permissions }: Access): void {
  if (permissions.publish.length === 0)
    throw new ServiceError('forbidden', 'The access token does not permit publishing (canPublish, hidden)');
}

/** @throws ServiceError `forbidden` */
export function maySubscribe({ permissions }: Access): void {
  if (!permissions.subscribe) throw new ServiceError('forbidden', 'The access token does not permit subscribing (canSubscribe)');
}

export class WhipAdmission {
  readonly #options: WhipAdmissionOptions;

  constructor(options: WhipAdmissionOptions) {
    this.#options = options;
  }

  /**
   * The peer for an offer. An access token creates its peer, and its room if no node has it. `forwarded`: another node sent the request.
   * `mayEnter` throws if the token does not permit the offer.
   * @returns undefined if another node has the room now
   * @throws ServiceError `invalid_token`, `forbidden`, `room_not_found`, `room_ended`, `peer_not_found`, `room_full`, `unavailable` and others
   */
  async enter(request: WhipRequest, forwarded: boolean, mayEnter = mayPublish): Promise<Admitted | undefined> {
    const { access } = this.#options;
    const rights = await this.#verify(request);
    if ('peerId' in rights) return { peer: this.#peerOf(rights), takeover: false };
    mayEnter(rights);
    if (!access.isLocal(rights)) {
      await access.openRoom(rights, { forwarded });
      if (!access.isLocal(rights)) return undefined;
    }
    return { peer: access.enter(rights), takeover: true };
  }

  /** The peer for a request about a session: it exists. @throws ServiceError like enter() */
  async find(request: WhipRequest): Promise<Peer> {
    const rights = await this.#verify(request);
    return 'peerId' in rights ? this.#peerOf(rights) : this.#options.access.find(rights);
  }

  async #verify({ token, roomId }: WhipRequest): Promise<PeerClaims | Access> {
    const { tokens, access } = this.#options;
    const rights = isAccessToken(token) ? await access.verify(token) : await tokens.verify(token);
    if (!rights) throw new ServiceError('invalid_token', 'Invalid token');
    if (rights.roomId !== roomId) throw new ServiceError('forbidden', 'This token is for another room');
    return rights;
  }

  #peerOf({ roomId, peerId }: PeerClaims): Peer {
    return this.#options.rooms.room(roomId).peers.get(peerId);
  }
}
