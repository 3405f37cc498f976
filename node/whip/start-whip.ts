// WHIP of a node: serves the operations of encoders and reports the number of their sessions.
import { ServiceError } from '../../api/errors.ts';
import { nodeMetrics } from '../../api/metrics.ts';
import { operations } from '../../api/operations/table.ts';
import type { whipOperations } from '../../api/operations/whip.ts';
import type { FeatureContext } from '../common/feature-context.ts';
import { pathPrefixOfHost } from '../config/addresses.ts';
import type { ReloadableConfigView } from '../config/reloadable-config.ts';
import type { LocalRooms } from '../rooms/local-rooms.ts';
import type { Peer } from '../rooms/peers/peer.ts';
import type { Handlers } from '../rooms/services/operations.ts';
import type { PeerTokens } from '../rooms/tokens/peer-tokens.ts';
import { type WhipRequest, WhipSessions, type WhipSessionsOptions } from './sessions.ts';

export type WhipContext = FeatureContext & {
  hot: Pick<ReloadableConfigView, 'current'>;
  /** `host`: SVC_HOST. */
  address: { readonly host: string };
  rooms: LocalRooms;
  tokens: { peers: PeerTokens };
  iceServers: WhipSessionsOptions['iceServers'];
};

export function createWhip({ log, hot, address, rooms, tokens, iceServers, registry, metrics, closers }: WhipContext): void {
  const sessions = new WhipSessions({
    log,
    iceServers,
    authenticate: (token, roomId) => peerOfToken(token, roomId, { tokens: tokens.peers, rooms }),
    pathPrefix: () => pathPrefixOfHost(address.host),
    resumeWindow: () => hot.current.timeouts.peerResumeWindow,
    limited: () => hot.current.limits.rateLimitApi !== null,
  });
  registry.serve(operations, whipHandlers(sessions));
  metrics.collect(nodeMetrics.whip, () => ({ sessions: sessions.size }));
  closers.add('peers', () => sessions.close());
}

/**
 * The peer that a token admits to a room of this node.
 * @throws ServiceError `invalid_token`, `forbidden` if it is for another room, `room_not_found`, `room_ended`, `peer_not_found`
 */
async function peerOfToken(token: string, roomId: string, { tokens, rooms }: { tokens: PeerTokens; rooms: LocalRooms }): Promise<Peer> {
  const claims = await tokens.verify(token);
  if (!claims) throw new ServiceError('invalid_token', 'Invalid token');
  if (claims.roomId !== roomId) throw new ServiceError('forbidden', 'This token is for another room');
  return rooms.room(roomId).peers.get(claims.peerId);
}

function whipHandlers(sessions: WhipSessions): Handlers<typeof whipOperations> {
  const requestOf = ({
    params: { roomId },
    headers,
  }: {
    params: { roomId: string };
    headers?: { token: string } | undefined;
  }): WhipRequest => {
    if (!headers) throw new ServiceError('missing_token', 'Missing token');
    return { roomId, token: headers.token };
  };
  return {
    startWhip: (input) => sessions.start(requestOf(input), input.body),
    updateWhip: (input) => sessions.updateIce(requestOf(input), input.params.sessionId, input.body, input.headers?.ifMatch),
    endWhip: (input) => sessions.end(requestOf(input), input.params.sessionId),
    showWhip: () => undefined,
    showWhipSession: () => undefined,
  };
}
