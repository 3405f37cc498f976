// Access admission: what an access token opens at this node: its room, created if the token permits it, and its peer in that room.
import { ServiceError } from '../../api/errors.ts';
import type { RoomOptions } from '../../api/room.ts';
import type { LocalRooms } from './local-rooms.ts';
import type { Peer } from './peers/peer.ts';
import type { Access } from './tokens/access-claims.ts';
import type { AccessTokens } from './tokens/access-tokens.ts';
import type { ServerAccess } from './tokens/server-access.ts';
import type { RenewedToken } from './tokens/token-renewal.ts';

export type AccessAdmissionOptions = {
  rooms: Pick<LocalRooms, 'has' | 'room' | 'roomNotFoundError' | 'revoked'>;
  tokens: Pick<AccessTokens, 'verify' | 'verifyServer' | 'renew' | 'forRejoin'>;
  /** Creates a room at the least loaded node, unless a node has it. */
  openRoom: (options: RoomOptions & { roomId: string }) => Promise<void>;
  /** True while other nodes may own unknown rooms. */
  discovering: () => boolean;
};

/** For every door that accepts access tokens: verify(), then at the owning node of the room enter(); openRoom() if no node owns it. */
export class AccessAdmission {
  readonly #options: AccessAdmissionOptions;

  constructor(options: AccessAdmissionOptions) {
    this.#options = options;
  }

  /** @throws ServiceError `invalid_token`, `forbidden` */
  verify(token: string): Promise<Access> {
    return this.#options.tokens.verify(token);
  }

  /** The grants of a backend. @throws ServiceError `invalid_token`, `forbidden` */
  verifyServer(token: string): Promise<ServerAccess> {
    return this.#options.tokens.verifyServer(token);
  }

  /** For a client that is connected: a token with which it may join again later. Undefined if there is none. @throws ServiceError */
  renew(token: string): Promise<RenewedToken | undefined> {
    return this.#options.tokens.renew(token);
  }

  /** For a client that has joined: a token that tells when it joins again. Undefined if there is none. @throws ServiceError */
  forRejoin(token: string): Promise<string | undefined> {
    return this.#options.tokens.forRejoin(token);
  }

  /** True if the room of the token is on this node. */
  isLocal({ roomId }: Access): boolean {
    return this.#options.rooms.has(roomId);
  }

  /**
   * Resolves when a node has the room; call it if none has. `forwarded`: another node asked this one for the room, so this one does not
   * create it: nodes that disagree about the owner would create it again. `incarnation`: the room incarnation that the client was in.
   * @throws ServiceError `room_not_found`, `unavailable` and others
   */
  async openRoom(access: Access, { forwarded, incarnation }: { forwarded: boolean; incarnation?: string | undefined }): Promise<void> {
    const { rooms } = this.#options;
    const { roomId, identity, room } = access;
    if (forwarded && room) throw new ServiceError('unavailable', `Room ${roomId} is no longer on this node`);
    this.#checkRevoked(access);
    this.#checkDiscovered(roomId);
    if (room) await this.#options.openRoom(room);
    else if (incarnation === undefined) rooms.room(roomId);
    else throw rooms.roomNotFoundError(roomId, identity, incarnation);
  }

  /** Resolves when a node has the room. @throws ServiceError `unavailable` and others */
  async createRoom(room: RoomOptions & { roomId: string }): Promise<void> {
    this.#checkDiscovered(room.roomId);
    await this.#options.openRoom(room);
  }

  /** The peer of a token in its local room, created if it does not exist. @throws ServiceError `room_not_found`, `room_full` and others */
  enter(access: Access): Peer {
    this.#checkRevoked(access);
    return this.#options.rooms.room(access.roomId).peers.enter(access);
  }

  /** Like enter(), but never creates or changes the peer. @throws ServiceError `room_not_found`, `peer_not_found`, `invalid_token` */
  find(access: Access): Peer {
    this.#checkRevoked(access);
    const { roomId, identity } = access;
    const peer = this.#options.rooms.room(roomId).peers.ofAccess(access);
    if (!peer) throw new ServiceError('peer_not_found', `Peer ${identity} does not exist`);
    return peer;
  }

  #checkDiscovered(roomId: string): void {
    if (this.#options.discovering())
      throw new ServiceError('unavailable', `Room ${roomId} is not known yet: this node is still discovering other nodes`, {
        retryAfter: 1,
      });
  }

  #checkRevoked({ roomId, issuedAt }: Access): void {
    if (this.#options.rooms.revoked.includes(roomId, issuedAt))
      throw new ServiceError('invalid_token', 'The access token is revoked: its room was deleted after it was issued');
  }
}
