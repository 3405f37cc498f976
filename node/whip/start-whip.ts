// WHIP of a node: serves the operations of encoders and reports the number of their sessions.
import { ServiceError } from '../../api/errors.ts';
import { nodeMetrics } from '../../api/metrics.ts';
import { operations as table } from '../../api/operations/table.ts';
import type { whipOperations } from '../../api/operations/whip.ts';
import type { FeatureContext } from '../common/feature-context.ts';
import { pathPrefixOfHost } from '../config/addresses.ts';
import type { ReloadableConfigView } from '../config/reloadable-config.ts';
import type { AccessAdmission } from '../rooms/access-admission.ts';
import type { LocalRooms } from '../rooms/local-rooms.ts';
import type { Handlers, OperationRunner } from '../rooms/services/operations.ts';
import type { PeerTokens } from '../rooms/tokens/peer-tokens.ts';
import { WhipAdmission, type WhipRequest } from './admission.ts';
import { WhipSessions, type WhipSessionsOptions } from './sessions.ts';

export type WhipContext = FeatureContext & {
  hot: Pick<ReloadableConfigView, 'current'>;
  /** `host`: SVC_HOST. */
  address: { readonly host: string };
  rooms: LocalRooms;
  tokens: { peers: PeerTokens };
  access: AccessAdmission;
  operations: OperationRunner;
  iceServers: WhipSessionsOptions['iceServers'];
};

export function createWhip(context: WhipContext): void {
  const { log, hot, address, rooms, tokens, access, operations, iceServers, registry, metrics, closers } = context;
  const sessions = new WhipSessions({
    log,
    iceServers,
    pathPrefix: () => pathPrefixOfHost(address.host),
    resumeWindow: () => hot.current.timeouts.peerResumeWindow,
    limited: () => hot.current.limits.rateLimitApi !== null,
  });
  const admission = new WhipAdmission({ rooms, tokens: tokens.peers, access });
  registry.serve(table, whipHandlers(admission, sessions, operations));
  metrics.collect(nodeMetrics.whip, () => ({ sessions: sessions.size }));
  closers.add('peers', () => sessions.close());
}

function whipHandlers(admission: WhipAdmission, sessions: WhipSessions, operations: OperationRunner): Handlers<typeof whipOperations> {
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
    startWhip: async (input, { request }) => {
      const admitted = await admission.enter(requestOf(input), request === undefined);
      return admitted ? sessions.start(admitted, input.body) : operations.run(table.startWhip, input);
    },
    updateWhip: async (input) => {
      const peer = await admission.find(requestOf(input));
      return sessions.updateIce(peer, input.params.sessionId, input.body, input.headers?.ifMatch);
    },
    endWhip: async (input) => sessions.end(await admission.find(requestOf(input)), input.params.sessionId),
    showWhip: () => undefined,
    showWhipSession: () => undefined,
  };
}
