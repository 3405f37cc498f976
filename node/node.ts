// Features of a media node, from top to bottom in the order of their start.
import { WebhookHandover } from './cluster/cluster-webhooks.ts';
import { ErlangTransport } from './cluster/erlang-transport.ts';
import { createNodes } from './cluster/nodes.ts';
import { createCluster } from './cluster/start-cluster.ts';
import { CpuMeter } from './common/cpu-meter.ts';
import type { Closers } from './common/end-of-node.ts';
import { type Log, setLogLevel } from './common/log.ts';
import { createComponents } from './components/start-components.ts';
import type { AnnouncedAddresses } from './config/announced.ts';
import { NodeAddress } from './config/node-address.ts';
import type { ReloadableConfig } from './config/reloadable-config.ts';
import type { Config } from './config.ts';
import { createDistribution, distributionName } from './distribution.ts';
import { createDrain } from './drain.ts';
import { createEvents } from './events/start-events.ts';
import { webhookAdmin } from './events/webhooks/webhook-admin.ts';
import { startHttp } from './http/start-http.ts';
import { createLiveKit } from './livekit/start-livekit.ts';
import { followCrashes, startMedia } from './media/worker/start-media.ts';
import { Metrics } from './metrics/metrics.ts';
import { collectRoomSeries } from './metrics/room-series.ts';
import { startMetricsServer } from './metrics/start-metrics.ts';
import { serveConfig } from './node-config.ts';
import { createHealth } from './node-health.ts';
import { AccessAdmission } from './rooms/access-admission.ts';
import { createRooms } from './rooms/start-rooms.ts';
import { createTokens } from './rooms/tokens/start-tokens.ts';
import { asyncApiDocument } from './signaling/asyncapi.ts';
import { createSignaling } from './signaling/start-signaling.ts';
import { createUploads } from './storage/uploads/start-uploads.ts';
import { createTracing } from './tracing/start-tracing.ts';
import { startTurn } from './turn/start-turn.ts';
import { version } from './version.ts';
import { createWhip } from './whip/start-whip.ts';

export type NodeOptions = {
  config: Config;
  hot: ReloadableConfig;
  announced: AnnouncedAddresses;
  log: Log;
  /** Warnings of the configuration, for the REST API. */
  warnings?: readonly string[];
  /** Another port than that of EPMD, so that a test does not share the EPMD of its computer. */
  epmdPort?: number;
};
export type NodeParts = Awaited<ReturnType<typeof startParts>>;

/** The features in the order of their start. Each registers its operations, its metrics and its end (common/end-of-node.ts). */
export async function startParts({ config, hot, announced, log, warnings = [], epmdPort }: NodeOptions, closers: Closers) {
  closers.add('files', () => announced.close());
  closers.add('files', () => hot.close());
  hot.onChange(({ logLevel }) => setLogLevel(log, logLevel));
  const name = await distributionName(config.dist);
  const address = new NodeAddress(config);
  const metrics = new Metrics();
  const tracer = await createTracing({ config, metrics, closers, log, node: name, version });
  const links = new ErlangTransport(name, log, { tracer });
  const nodes = createNodes(links, log);
  const { dispatcher, members } = nodes;
  const cpu = new CpuMeter();
  const { webrtc, sip, resourcesBasePath: resources } = config;
  const common = { log, hot, config, announced, address, members, metrics, closers, tracer, registry: dispatcher };
  const local = { ...common, node: name, resources, userAgent: `Mediarooms/${version}` };

  const tokens = createTokens(common);
  const distribution = createDistribution({ ...common, ...nodes, links, name, ...(epmdPort !== undefined && { epmdPort }) });
  const { eventLog, webhooks, publish } = await createEvents({ ...local, others: new WebhookHandover(nodes, log) });
  collectRoomSeries(metrics, eventLog);
  const media = await startMedia({ ...common, webrtc });
  const turn = await startTurn({ ...common, webrtc });
  const { uploads, archive } = createUploads({ ...local, onEvent: publish });
  const { components, content } = createComponents({ ...local, uploads, archive, sip, cpu });
  const rooms = createRooms({ ...local, engine: media, components, clustered: config.dist.enabled, tokens: tokens.peers, publish });
  const { cluster, traffic, messages, operations, openRoom } = createCluster({
    ...{ ...common, nodes, rooms, version, content, archive, renders: components.renders, events: eventLog },
    load: () => ({ ...media.load(), rooms: rooms.size, cpu: cpu.read(), accepting: rooms.accepting && announced.ready }),
    webhooks: webhookAdmin(webhooks),
    onRoomLost: (event, webhookUrl) => webhooks.publish(event, webhookUrl),
  });
  followCrashes(media, traffic.events, name);
  const access = new AccessAdmission({ rooms, tokens: tokens.access, openRoom, discovering: () => distribution.discovering });
  const { peerSockets, upgrade, iceServers } = createSignaling({ ...common, rooms, tokens, access, traffic, distribution, turn });
  createWhip({ ...common, rooms, tokens, access, operations, iceServers });
  const livekit = await createLiveKit({
    ...{ ...common, media, rooms, tokens, access, traffic, operations, webhooks, iceServers, nodes: messages, events: eventLog },
    workOf: (peer) => peerSockets.workOf(peer),
  });
  const drain = createDrain({ ...common, rooms, peerSockets, membership: cluster.membership });
  serveConfig(dispatcher, { ...common, warnings });
  const served = {
    ...createHealth({ ...common, media, rooms, drain, distribution, cluster }),
    documents: { asyncapi: () => asyncApiDocument({ version, address: address.host }) },
    content: traffic.content,
    forwardedBy: traffic.forwardedBy,
  };
  const http = await startHttp({ ...common, ...served, operations, tokens, upgrade: (path) => livekit(path) ?? upgrade(path) });
  const metricsServer = await startMetricsServer(common);
  await distribution.start();
  void components.start();
  void uploads.start();
  closers.add('drain', (ending) => drain.terminate(ending.drainTimeout));
  return { log, name, address, media, turn, components, rooms, webhooks, peerSockets, http, metrics: metricsServer, distribution };
}
