// Authentication of peer sockets: finds the peer of a token, or proxies the socket to the node that has it.
import { ServiceError } from '../../api/errors.ts';
import { peerSocketPath } from '../../api/peer.ts';
import type { RequestData } from '../../api/socket/peer.ts';
import type { AccessAdmission } from '../rooms/access-admission.ts';
import type { Peer } from '../rooms/peers/peer.ts';
import type { ProxySocket } from '../rooms/proxied-socket.ts';
import { type PeerClaims, unverifiedRoomId } from '../rooms/tokens/peer-tokens.ts';
import { forwardedSocket } from '../websocket/proxied-session.ts';
import type { TextSocket, TextSocketListener } from '../websocket/text-socket.ts';
import type { ClientAddress } from '../websocket/upgrade.ts';

export type AuthenticationOptions = {
  findPeer: (roomId: string, peerId: string) => Peer | undefined;
  /** The error if there is no such peer on this node. `incarnation`: the room incarnation that the client was in. */
  whyMissing: (roomId: string, peerId: string, incarnation: string | undefined) => ServiceError;
  /** Proxies the socket of a peer whose room is on another node. */
  forward?: ProxySocket | undefined;
  verifyToken: (token: string) => Promise<PeerClaims | undefined>;
  /** Without it, access tokens are rejected. */
  access?: Pick<AccessAdmission, 'verify' | 'isLocal' | 'openRoom' | 'enter'> | undefined;
};

/** A socket with its first request, as text and parsed. */
export type FirstRequest = { socket: TextSocket; text: string; data: RequestData<'authenticate'>; clientAddress: ClientAddress };
export type Authenticated = { peer: Peer; claims: PeerClaims };

export class Authentication {
  readonly #options: AuthenticationOptions;

  constructor(options: AuthenticationOptions) {
    this.#options = options;
  }

  /**
   * The peer; or the listener of a socket that another node handles; undefined if the socket was closed meanwhile.
   * @throws ServiceError if there is no peer for the token
   */
  authenticate(first: FirstRequest): Promise<Authenticated | { proxied: TextSocketListener } | undefined> {
    const { token, accessToken } = first.data;
    return accessToken === undefined ? this.#byPeerToken(first, token ?? '') : this.#byAccessToken(first, accessToken);
  }

  async #byPeerToken(first: FirstRequest, token: string): Promise<Authenticated | { proxied: TextSocketListener } | undefined> {
    const { findPeer, verifyToken, whyMissing } = this.#options;
    const claims = await verifyToken(token);
    const peer = claims && findPeer(claims.roomId, claims.peerId);
    if (peer && first.socket.open) return { peer, claims };
    const roomId = claims ? claims.roomId : unverifiedRoomId(token);
    const proxied = roomId === undefined ? undefined : await this.#proxy(first, roomId);
    if (proxied || !first.socket.open) return proxied;
    throw claims ? whyMissing(claims.roomId, claims.peerId, first.data.incarnation) : new ServiceError('invalid_token', 'Invalid token');
  }

  async #byAccessToken(first: FirstRequest, token: string): Promise<Authenticated | { proxied: TextSocketListener } | undefined> {
    const { access } = this.#options;
    const { socket, data, clientAddress } = first;
    if (!access) throw new ServiceError('invalid_token', 'This node accepts no access tokens');
    const rights = await access.verify(token);
    const { roomId } = rights;
    if (!access.isLocal(rights)) {
      const proxied = await this.#proxy(first, roomId);
      if (proxied || !socket.open) return proxied;
      await access.openRoom(rights, { forwarded: clientAddress.forwarded, incarnation: data.incarnation });
      const created = access.isLocal(rights) ? undefined : await this.#proxy(first, roomId);
      if (created) return created;
    }
    if (!socket.open) return undefined;
    const peer = access.enter(rights);
    return { peer, claims: { roomId, peerId: peer.id, expiresAt: rights.expiresAt } };
  }

  /** At most one proxy hop: if nodes disagree about the owner of a room, its sockets must not loop. */
  async #proxy({ socket, text, clientAddress }: FirstRequest, roomId: string): Promise<{ proxied: TextSocketListener } | undefined> {
    const { forward } = this.#options;
    if (!forward || clientAddress.forwarded || !socket.open) return undefined;
    const request = { path: peerSocketPath, binary: false, first: text, client: clientAddress };
    const { socket: forwarded, listener } = forwardedSocket(socket, request);
    return (await forward(roomId, forwarded)) ? { proxied: listener } : undefined;
  }
}
