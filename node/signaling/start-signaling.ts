// Signaling of a node: the websockets of peers and of backends.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { peerSocketPath } from '../../api/peer.ts';
import { serverSocketPath } from '../../api/socket/server.ts';
import type { Tracer } from '../../tracing/spans.ts';
import type { FeatureContext } from '../common/feature-context.ts';
import type { NodeAddress } from '../config/node-address.ts';
import type { ReloadableConfigView } from '../config/reloadable-config.ts';
import type { AccessAdmission } from '../rooms/access-admission.ts';
import type { EventFeed } from '../rooms/event-feed.ts';
import type { LocalRooms } from '../rooms/local-rooms.ts';
import type { Tokens } from '../rooms/tokens/start-tokens.ts';
import type { OriginRule } from '../websocket/origin.ts';
import { PeerSockets, type PeerSocketsOptions } from './peer-sockets.ts';
import { ServerSockets } from './server-sockets.ts';

export type SignalingContext = Pick<FeatureContext, 'log' | 'closers'> & {
  hot: Pick<ReloadableConfigView, 'current' | 'onChange'>;
  config: { dist: { enabled: boolean }; checkOrigin: OriginRule };
  address: NodeAddress;
  rooms: LocalRooms;
  tokens: Tokens;
  access: AccessAdmission;
  /** Services between nodes. */
  traffic: Required<Pick<PeerSocketsOptions, 'forward' | 'forwardedFor'>> & { events: EventFeed };
  /** True while other nodes may own unknown rooms. */
  distribution: { readonly discovering: boolean };
  tracer: Tracer;
  turn: TurnService | undefined;
};
export type TurnService = {
  iceServers(user: string): Record<string, unknown>[];
  /** `isPresent`: whether the peer of a user exists. */
  serve(users: { renew: () => void; isPresent: (user: string) => boolean }): void;
};
type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer, client: string) => void;
export type StartedSignaling = {
  peerSockets: PeerSockets;
  /** The handler of websockets at a path. */
  upgrade: (path: string) => Upgrade | undefined;
  /** STUN and TURN servers of a peer. */
  iceServers: PeerSocketsOptions['iceServers'];
};

export function createSignaling(context: SignalingContext): StartedSignaling {
  const { hot, config, address, rooms, tokens, traffic, turn, log, closers, tracer } = context;
  const common = {
    log,
    rateLimit: () => hot.current.limits.rateLimitSocket,
    checkOrigin: () => config.checkOrigin,
    address: () => address.host,
  };
  const options = peerOptions(context);
  const peerSockets = new PeerSockets({ ...common, ...options, tracer });
  const serverSockets = new ServerSockets({ ...common, apiTokens: tokens.api, signedCalls: tokens.signedCalls, events: traffic.events });
  turn?.serve({ renew: () => peerSockets.iceServersUpdated(), isPresent: (user) => isPresent(rooms, user) });
  hot.onChange(() => {
    serverSockets.tokensChanged();
    peerSockets.iceServersUpdated();
  });
  closers.add('peers', () => peerSockets.close());
  closers.add('http', () => serverSockets.close());
  const doors = new Map<string, PeerSockets | ServerSockets>([
    [peerSocketPath, peerSockets],
    [serverSocketPath, serverSockets],
  ]);
  const upgrade = (path: string) => {
    const door = doors.get(path);
    return door && ((...given: Parameters<Upgrade>) => door.handleUpgrade(...given));
  };
  return { peerSockets, upgrade, iceServers: options.iceServers };
}

type PeerOptions = Omit<PeerSocketsOptions, 'log' | 'rateLimit' | 'checkOrigin' | 'address' | 'limits' | 'tracer'>;

function peerOptions({ hot, config, rooms, tokens, access, traffic, distribution, turn }: SignalingContext): PeerOptions {
  return {
    findPeer: (roomId, peerId) => rooms.findPeer(roomId, peerId),
    traceOf: (roomId) => rooms.find(roomId)?.trace,
    // Without a cluster no other node can recreate a lost room: it has ended.
    whyMissing: (roomId, peerId, incarnation) =>
      rooms.roomNotFoundError(roomId, peerId, config.dist.enabled ? incarnation : undefined, distribution.discovering),
    forward: traffic.forward,
    forwardedFor: traffic.forwardedFor,
    verifyToken: (token) => tokens.peers.verify(token),
    access,
    signToken: (claims) => tokens.peers.sign(claims),
    iceServers: ({ roomId, id }) => [
      ...hot.current.iceServers.map((server) => ({ ...server })),
      ...(turn?.iceServers(turnUser(roomId, id)) ?? []),
    ],
    resumeWindow: () => hot.current.timeouts.peerResumeWindow / 1000,
  };
}

/** Peer ids are unique per room only, and peers must not share a TURN quota. */
function turnUser(roomId: string, peerId: string): string {
  return `${roomId}/${peerId}`;
}

function isPresent(rooms: LocalRooms, user: string): boolean {
  const [roomId = '', peerId = ''] = user.split('/');
  return rooms.findPeer(roomId, peerId) !== undefined;
}
