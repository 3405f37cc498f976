// LiveKit of a node: accepts clients of LiveKit if that is enabled, and responds with the reason if their token is rejected.
import { ServiceError } from '../../api/errors.ts';
import { nodeMetrics } from '../../api/metrics.ts';
import { agentPath, livekitPath, livekitSinglePath } from '../../api/operations/livekit.ts';
import { livekitRpcs } from '../../api/operations/livekit-rpcs.ts';
import { operations } from '../../api/operations/table.ts';
import type { FeatureContext } from '../common/feature-context.ts';
import { RateLimit } from '../common/rate-limit.ts';
import type { NodeAddress } from '../config/node-address.ts';
import type { ReloadableConfigView } from '../config/reloadable-config.ts';
import type { AccessAdmission } from '../rooms/access-admission.ts';
import type { MediaEngine } from '../rooms/interfaces.ts';
import type { LocalRooms } from '../rooms/local-rooms.ts';
import type { OperationRunner } from '../rooms/services/operations.ts';
import type { WebhookForm } from '../rooms/services/webhook-form.ts';
import type { AccessTokens } from '../rooms/tokens/access-tokens.ts';
import type { OriginRule } from '../websocket/origin.ts';
import type { Agents, AgentsOptions } from './agents/agents.ts';
import { agentLimits } from './agents/limits.ts';
import { livekitLimits } from './limits.ts';
import type { ServerApi } from './server/server-api.ts';
import { updatePeerSubscriptions } from './server/subscriptions.ts';
import type { LiveKitSockets, LiveKitSocketsOptions } from './sockets.ts';

export type LiveKitContext = FeatureContext &
  Pick<LiveKitSocketsOptions, 'workOf' | 'iceServers'> &
  Pick<AgentsOptions, 'nodes' | 'events'> & {
    hot: Pick<ReloadableConfigView, 'current'>;
    config: { checkOrigin: OriginRule; livekit: { enabled: boolean } };
    address: NodeAddress;
    media: Pick<MediaEngine, 'receiverNumbers'>;
    rooms: LocalRooms;
    access: AccessAdmission;
    operations: OperationRunner;
    tokens: { access: AccessTokens };
    webhooks: { setLiveKitForm(form: WebhookForm): void };
    /** Services between nodes. */
    traffic: Required<Pick<LiveKitSocketsOptions, 'forward' | 'forwardedFor'>>;
  };
/** The handler of websockets at a path. */
export type LiveKitUpgrade = (path: string) => LiveKitSockets['handleUpgrade'] | undefined;
type OpenedLiveKit = { sockets: LiveKitSockets; serverApi: ServerApi; agents: Agents };

export async function createLiveKit(context: LiveKitContext): Promise<LiveKitUpgrade> {
  const { config, registry, metrics, closers, access, media } = context;
  const opened = config.livekit.enabled ? await open(context) : undefined;
  const validate = async (token: string) => {
    if (!opened) throw notEnabled();
    await access.verify(token);
    return 'success';
  };
  registry.serve(operations, {
    validateLiveKit: ({ query }) => validate(query.access_token),
    validateSingleLiveKit: ({ query }) => {
      if (!media.receiverNumbers) throw new ServiceError('not_found', 'The media worker lacks patches for one peer connection');
      return validate(query.access_token);
    },
    requestLiveKit: async ({ params: { twirpService: service, twirpMethod: method }, body, headers }) => {
      if (!opened) throw notEnabled();
      return opened.serverApi.run({ service, method, body, token: headers?.token ?? '' });
    },
  });
  metrics.collect(nodeMetrics.livekit, () => readings(opened));
  if (!opened) return () => undefined;
  const { sockets, agents } = opened;
  closers.add('peers', () => Promise.all([sockets.close(), agents.workers.close()]));
  const doors = new Map<string, Pick<LiveKitSockets, 'handleUpgrade'>>([
    [livekitPath, sockets],
    ...(media.receiverNumbers ? ([[livekitSinglePath, sockets]] as const) : []),
    [agentPath, agents.workers],
  ]);
  return (path) => {
    const door = doors.get(path);
    return door && ((...given) => door.handleUpgrade(...given));
  };
}

function readings(opened: OpenedLiveKit | undefined): { sessions: number; workers: number; jobs: number } {
  const { sockets, agents } = opened ?? {};
  return { sessions: sockets?.size ?? 0, workers: agents?.workers.size ?? 0, jobs: agents?.workers.jobs ?? 0 };
}

function notEnabled(): ServiceError {
  return new ServiceError('not_found', 'This node does not accept clients of LiveKit (SVC_LIVEKIT_ENABLED)');
}

/** Loaded only if it is used: the messages of the protocol cost 20 MB of memory. */
async function open(context: LiveKitContext): Promise<OpenedLiveKit> {
  const { Agents } = await import('./agents/agents.ts');
  const agents = new Agents({ ...agentsOptions(context), limits: agentLimits });
  return { sockets: await openSockets(context), serverApi: await openServerApi(context, agents), agents };
}

async function openServerApi(context: LiveKitContext, agents: Agents): Promise<ServerApi> {
  const { access, operations: runner, hot, webhooks, rooms, nodes, registry } = context;
  const { LiveKitWebhooks } = await import('./server/webhook-form.ts');
  webhooks.setLiveKitForm(new LiveKitWebhooks({ rooms, keys: () => hot.current.accessKeys }));
  const { ServerApi } = await import('./server/server-api.ts');
  registry.serve(livekitRpcs, { updatePeerSubscriptions: (update) => updatePeerSubscriptions(rooms, update) });
  return new ServerApi({
    ...{ access, agents, operations: runner, limit: new RateLimit(() => hot.current.limits.rateLimitApi ?? undefined) },
    updateSubscriptions: async (update) => {
      await nodes.at((await nodes.locate(update.roomId)) ?? nodes.self, livekitRpcs.updatePeerSubscriptions, update);
    },
  });
}

function agentsOptions(context: LiveKitContext): Omit<AgentsOptions, 'limits'> {
  const { log, config, address, rooms, tokens, nodes, events, registry } = context;
  return {
    ...{ log, rooms, nodes, events, registry, tokens: tokens.access },
    checkOrigin: () => config.checkOrigin,
    address: () => address.host,
  };
}

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
