// LiveKit of a node: accepts clients of LiveKit if that is enabled, and responds with the reason if their token is rejected.
import { ServiceError } from '../../api/errors.ts';
import { nodeMetrics } from '../../api/metrics.ts';
import { livekitPath } from '../../api/operations/livekit.ts';
import { operations } from '../../api/operations/table.ts';
import type { FeatureContext } from '../common/feature-context.ts';
import { RateLimit } from '../common/rate-limit.ts';
import type { NodeAddress } from '../config/node-address.ts';
import type { ReloadableConfigView } from '../config/reloadable-config.ts';
import type { AccessAdmission } from '../rooms/access-admission.ts';
import type { LocalRooms } from '../rooms/local-rooms.ts';
import type { OperationRunner } from '../rooms/services/operations.ts';
import type { OriginRule } from '../websocket/origin.ts';
import { livekitLimits } from './limits.ts';
import type { ServerApi } from './server/server-api.ts';
import type { LiveKitSockets, LiveKitSocketsOptions } from './sockets.ts';

export type LiveKitContext = FeatureContext &
  Pick<LiveKitSocketsOptions, 'workOf' | 'iceServers'> & {
    hot: Pick<ReloadableConfigView, 'current'>;
    config: { checkOrigin: OriginRule; livekit: { enabled: boolean } };
    address: NodeAddress;
    rooms: LocalRooms;
    access: AccessAdmission;
    operations: OperationRunner;
    /** Services between nodes. */
    traffic: Required<Pick<LiveKitSocketsOptions, 'forward' | 'forwardedFor'>>;
  };
/** The handler of websockets at a path. */
export type LiveKitUpgrade = (path: string) => LiveKitSockets['handleUpgrade'] | undefined;

export async function createLiveKit(context: LiveKitContext): Promise<LiveKitUpgrade> {
  const { config, registry, metrics, closers, access } = context;
  const { enabled } = config.livekit;
  const sockets = enabled ? await openSockets(context) : undefined;
  const serverApi = enabled ? await openServerApi(context) : undefined;
  registry.serve(operations, {
    validateLiveKit: async ({ query: { access_token: token } }) => {
      if (!sockets) throw notEnabled();
      await access.verify(token);
      return 'success';
    },
    requestLiveKit: async ({ params: { twirpService: service, twirpMethod: method }, body, headers }) => {
      if (!serverApi) throw notEnabled();
      return serverApi.run({ service, method, body, token: headers?.token ?? '' });
    },
  });
  metrics.collect(nodeMetrics.livekit, () => ({ sessions: sockets?.size ?? 0 }));
  if (!sockets) return () => undefined;
  closers.add('peers', () => sockets.close());
  return (path) => (path === livekitPath ? (...given) => sockets.handleUpgrade(...given) : undefined);
}

function notEnabled(): ServiceError {
  return new ServiceError('not_found', 'This node does not accept clients of LiveKit (SVC_LIVEKIT_ENABLED)');
}

async function openServerApi({ access, operations: runner, hot }: LiveKitContext): Promise<ServerApi> {
  const { ServerApi } = await import('./server/server-api.ts');
  return new ServerApi({ access, operations: runner, limit: new RateLimit(() => hot.current.limits.rateLimitApi ?? undefined) });
}

/** Loaded only if it is used: the messages of the protocol cost 20 MB of memory. */
async function openSockets({
  log,
  hot,
  config,
  address,
  rooms,
  access,
  traffic,
  workOf,
  iceServers,
}: LiveKitContext): Promise<LiveKitSockets> {
  const { LiveKitSockets } = await import('./sockets.ts');
  return new LiveKitSockets({
    ...{ log, access, workOf, iceServers, limits: livekitLimits },
    forward: traffic.forward,
    forwardedFor: traffic.forwardedFor,
    checkOrigin: () => config.checkOrigin,
    address: () => address.host,
    rateLimit: () => hot.current.limits.rateLimitSocket,
    resumeWindow: () => hot.current.timeouts.peerResumeWindow,
    findPeer: (roomId, peerId) => rooms.findPeer(roomId, peerId),
    statsOf: (roomId) => rooms.room(roomId).stats(),
  });
}
