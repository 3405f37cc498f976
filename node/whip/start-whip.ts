// WHIP and WHEP of a node: serves the operations of encoders and players, and reports the number of their sessions.
import type { PeerHeaders } from '../../api/core/operation.ts';
import { ServiceError } from '../../api/errors.ts';
import { nodeMetrics } from '../../api/metrics.ts';
import { operations as table } from '../../api/operations/table.ts';
import type { whepOperations } from '../../api/operations/whep.ts';
import type { whipOperations } from '../../api/operations/whip.ts';
import { type IceRestart, whepPath, whipPath } from '../../api/operations/whip-session.ts';
import type { FeatureContext } from '../common/feature-context.ts';
import { pathPrefixOfHost } from '../config/addresses.ts';
import type { ReloadableConfigView } from '../config/reloadable-config.ts';
import type { AccessAdmission } from '../rooms/access-admission.ts';
import type { LocalRooms } from '../rooms/local-rooms.ts';
import type { Handlers, OperationRunner } from '../rooms/services/operations.ts';
import type { PeerTokens } from '../rooms/tokens/peer-tokens.ts';
import { maySubscribe, WhipAdmission, type WhipRequest } from './admission.ts';
import { playing } from './playing.ts';
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
  const open = (path: WhipSessionsOptions['path']) =>
    new WhipSessions({
      log,
      path,
      iceServers,
      pathPrefix: () => pathPrefixOfHost(address.host),
      resumeWindow: () => hot.current.timeouts.peerResumeWindow,
      limited: () => hot.current.limits.rateLimitApi !== null,
    });
  const admission = new WhipAdmission({ rooms, tokens: tokens.peers, access });
  const encoders = open(whipPath);
  const players = open(whepPath);
  registry.serve(table, whipHandlers(admission, encoders, operations));
  registry.serve(table, whepHandlers(admission, players, operations));
  metrics.collect(nodeMetrics.whip, () => ({ sessions: encoders.size, players: players.size }));
  closers.add('peers', () => {
    encoders.close();
    players.close();
  });
}

function whipHandlers(admission: WhipAdmission, sessions: WhipSessions, operations: OperationRunner): Handlers<typeof whipOperations> {
  return {
    startWhip: async (input, { request }) => {
      const admitted = await admission.enter(requestOf(input), request === undefined);
      return admitted ? sessions.start(admitted, input.body) : operations.run(table.startWhip, input);
    },
    updateWhip: (input) => updateIce(admission, sessions, input),
    endWhip: async (input) => sessions.end(await admission.find(requestOf(input)), input.params.sessionId),
    showWhip: () => undefined,
    showWhipSession: () => undefined,
  };
}

function whepHandlers(admission: WhipAdmission, sessions: WhipSessions, operations: OperationRunner): Handlers<typeof whepOperations> {
  return {
    startWhep: async (input, { request }) => {
      const admitted = await admission.enter(requestOf(input), request === undefined, maySubscribe);
      return admitted ? sessions.start(admitted, input.body, playing(input.query.video)) : operations.run(table.startWhep, input);
    },
    updateWhep: (input) => updateIce(admission, sessions, input),
    endWhep: async (input) => sessions.end(await admission.find(requestOf(input)), input.params.sessionId),
    showWhep: () => undefined,
    showWhepSession: () => undefined,
  };
}

type SessionInput = { params: { roomId: string; sessionId: string }; headers?: PeerHeaders | undefined; body: string };

async function updateIce(admission: WhipAdmission, sessions: WhipSessions, input: SessionInput): Promise<IceRestart> {
  const peer = await admission.find(requestOf(input));
  return sessions.updateIce(peer, input.params.sessionId, input.body, input.headers?.ifMatch);
}

function requestOf({ params: { roomId }, headers }: Pick<SessionInput, 'headers'> & { params: { roomId: string } }): WhipRequest {
  if (!headers) throw new ServiceError('missing_token', 'Missing token');
  return { roomId, token: headers.token };
}
