// Media node: composes all services from the configuration and starts them in order. shutdown.ts stops them in order.
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { nodeMetrics } from '../api/metrics.ts';
import { operations } from '../api/operations/table.ts';
import { peerSocketPath } from '../api/peer.ts';
import { Cluster } from './cluster/cluster.ts';
import { CpuMeter } from './cluster/cpu-meter.ts';
import { ErlangTransport } from './cluster/erlang-transport.ts';
import { InterNodeServices } from './cluster/inter-node-services.ts';
import { Dispatcher } from './cluster/rpc/dispatcher.ts';
import { type Log, setLogLevel } from './common/log.ts';
import { withoutRequestContext } from './common/request-id.ts';
import { ComponentRegistry } from './components/component-registry.ts';
import { withActualPort } from './config/addresses.ts';
import type { AnnouncedAddresses } from './config/announced.ts';
import type { ReloadableConfig } from './config/reloadable-config.ts';
import type { Config } from './config.ts';
import { Distribution, distributionName } from './distribution.ts';
import { Drain } from './drain.ts';
import { EventLog } from './events/event-log.ts';
import { WebhookStore } from './events/webhooks/store.ts';
import { webhookAdmin } from './events/webhooks/webhook-admin.ts';
import { Webhooks } from './events/webhooks/webhooks.ts';
import { HttpServer, type UpgradeHandler } from './http/http-server.ts';
import { workerProcessReadings, workerReadings } from './media/worker/worker-metrics.ts';
import { type MediaWorkerPool, startMediaWorkerPool } from './media/worker/worker-pool.ts';
import { Metrics } from './metrics/metrics.ts';
import { MetricsServer } from './metrics/metrics-server.ts';
import { RoomSeries } from './metrics/room-series.ts';
import { diskProblem, statusOf } from './node-status.ts';
import { drainViewOf, healthOf, loadOf, nodeConfigOf } from './node-views.ts';
import { LocalRooms } from './rooms/local-rooms.ts';
import { roomHandlers } from './rooms/room-handlers.ts';
import { roomReadings } from './rooms/room-metrics.ts';
import { ApiTokens } from './rooms/tokens/api-tokens.ts';
import { PeerTokens } from './rooms/tokens/peer-tokens.ts';
import { SignedCalls } from './rooms/tokens/signed-calls.ts';
import { ViewerTokens } from './rooms/tokens/viewer-tokens.ts';
import { asyncApiDocument } from './signaling/asyncapi.ts';
import { PeerSockets } from './signaling/peer-sockets.ts';
import { ServerSockets, serverSocketPath } from './signaling/server-sockets.ts';
import { startTurn, turnRelayAddress, withTurnAddress } from './start-turn.ts';
import { LocalContent } from './storage/local-content.ts';
import { NodeContent } from './storage/node-content.ts';
import { s3TargetOf } from './storage/s3/s3-target.ts';
import { S3Archive } from './storage/s3-archive.ts';
import { S3Uploads } from './storage/uploads/s3-uploads.ts';
import type { TurnServer } from './turn/turn-server.ts';
import { version } from './version.ts';

const consoleDir = join(import.meta.dirname, '../packages/console/dist');

/** `warnings`: warnings of the configuration, for the REST API. */
export type NodeOptions = { config: Config; hot: ReloadableConfig; announced: AnnouncedAddresses; log: Log; warnings?: readonly string[] };

/** The services of a running node, in the order of their start. */
export type NodeServices = {
  log: Log;
  hot: ReloadableConfig;
  announced: AnnouncedAddresses;
  media: MediaWorkerPool;
  turn: TurnServer | undefined;
  components: ComponentRegistry;
  uploads: S3Uploads;
  rooms: LocalRooms;
  webhooks: Webhooks;
  drain: Drain;
  cluster: Cluster;
  traffic: InterNodeServices;
  peerSockets: PeerSockets;
  serverSockets: ServerSockets;
  http: HttpServer;
  distribution: Distribution;
  metrics: MetricsServer;
};

export class MediaNode {
  readonly parts: NodeServices;
  readonly host: string;
  /** `<nodename>@<host>`. */
  readonly name: string;
  readonly #config: Config;

  private constructor(parts: NodeServices, options: { config: Config; host: string; name: string }) {
    this.parts = parts;
    this.host = options.host;
    this.name = options.name;
    this.#config = options.config;
  }

  /** Resolves when all servers listen. @throws Error with one sentence; everything is stopped then */
  static async start(options: NodeOptions): Promise<MediaNode> {
    const { config, hot, announced, log } = options;
    let host = config.host;
    let internalAddress = config.internalAddress;
    const startedAt = Date.now();
    const name = await distributionName(config.dist);
    const links = new ErlangTransport(name, log);
    const dispatcher = new Dispatcher({
      links,
      log,
      locate: (roomId) => cluster.rooms.locate(roomId),
      member: (node) => cluster.membership.members.get(node),
    });
    const events = new EventLog(log, { node: name });
    const keys = new PeerTokens(hot.current.secretKeys);
    const viewerTokens = new ViewerTokens(hot.current.secretKeys);
    const apiTokens = new ApiTokens(() => hot.current.apiTokens);
    const signedCalls = new SignedCalls({ tokens: apiTokens, address: () => internalAddress });
    const webhooks = new Webhooks({
      log,
      store: await WebhookStore.open({ log, base: join(config.resourcesBasePath, 'webhooks'), name }),
      settings: () => ({ ...hot.current.webhooks, pendingMaxBytes: hot.current.limits.pendingMaxBytes }),
      userAgent: `Mediarooms/${version}`,
    });
    const media = await startMediaWorkerPool({
      log,
      listenIp: config.webrtc.listenIp,
      announced: () => (config.webrtc.turn.enabled ? withTurnAddress(announced.current, config.webrtc.turn.relayIp) : announced.current),
      basePort: config.webrtc.basePort ?? undefined,
      workers: config.webrtc.workers,
      maxIncomingBitrate: () => hot.current.webrtc.maxIncomingBitrate ?? undefined,
      relayIp: turnRelayAddress(config),
      elsewhere: () => [...cluster.membership.members.values()].some(({ state }) => state === 'accepting'),
    });
    const uploads = new S3Uploads({
      log,
      resources: config.resourcesBasePath,
      node: () => name,
      place: () => s3TargetOf(hot.current.s3),
      allowPrivate: () => hot.current.allowPrivateAddresses,
      onEvent: (event, webhookUrl) => {
        webhooks.publish(event, webhookUrl);
        events.publish(event);
      },
    });
    const archive = new S3Archive(() => s3TargetOf(hot.current.s3));
    const cpu = new CpuMeter();
    const componentRegistry = new ComponentRegistry({
      used: () => hot.current.componentsUsed,
      resources: config.resourcesBasePath,
      log,
      node: () => name,
      uploads,
      archive,
      recordingTimeToLive: () => hot.current.timeouts.rawRecordingTtl,
      machine: () => ({ budget: hot.current.avMaxCpu, cores: availableParallelism(), busy: cpu.read() }),
      sip: () => ({
        announcedIp: config.sip.ip ?? announced.current[0],
        ports: config.sip.ports,
        rtpPorts: config.sip.rtpPorts,
        userAgent: `Mediarooms/${version}`,
        allowPrivate: hot.current.allowPrivateAddresses,
      }),
    });
    const rooms: LocalRooms = new LocalRooms({
      node: name,
      log,
      engine: media,
      components: componentRegistry,
      clustered: config.dist.enabled,
      address: () => host,
      limits: () => ({ ...hot.current.limits, ...hot.current.roomDefaults }),
      signToken: (claims) => keys.sign(claims),
      onEvent: (event, { config }) => {
        // Subscribers outlive the request that caused the event.
        withoutRequestContext(() => {
          webhooks.publish(event, config.webhookUrl);
          events.publish(event);
          cluster.roomEvent(event);
        });
      },
    });
    dispatcher.serve(operations, roomHandlers(rooms));
    const traffic: InterNodeServices = new InterNodeServices({
      links,
      dispatcher,
      log,
      events,
      content: new NodeContent({
        resources: config.resourcesBasePath,
        local: new LocalContent(config.resourcesBasePath, (id) => componentRegistry.recordings.isRunning(id), componentRegistry.streams),
        uploads,
        renders: componentRegistry.renders,
      }),
      ownRenders: componentRegistry.renders,
      archive,
      secrets: hot.current.secretKeys,
      cookie: config.dist.cookie,
      ownerOf: (roomId) => cluster.rooms.ownerOf(roomId),
      locate: (roomId) => cluster.rooms.locate(roomId),
      member: (node) => cluster.membership.members.get(node),
      ownWebhooks: webhookAdmin(webhooks),
      takeWebhooks: (data) => webhooks.take(data),
      onRoomLost: (event, webhookUrl) => webhooks.publish(event, webhookUrl),
      ownCertificate: () => ownCertificate(config),
    });
    const sockets = {
      log,
      rateLimit: () => hot.current.limits.rateLimitSocket,
      checkOrigin: () => config.checkOrigin,
      address: () => host,
    };
    const peerSockets = new PeerSockets({
      ...sockets,
      findPeer: (roomId, peerId) => rooms.findPeer(roomId, peerId),
      // Without a cluster no other node can recreate a lost room: it has ended.
      whyMissing: (roomId, peerId, incarnation) =>
        rooms.roomNotFoundError(
          roomId,
          peerId,
          config.dist.enabled ? incarnation : undefined,
          distribution?.discovering ?? config.dist.enabled,
        ),
      forward: traffic.forward,
      forwardedFor: traffic.forwardedFor,
      verifyToken: (token) => keys.verify(token),
      signToken: (claims) => keys.sign(claims),
      iceServers: ({ roomId, id }) => [
        ...hot.current.iceServers.map((server) => ({ ...server })),
        // Peer ids are unique per room only, and peers must not share a TURN quota.
        ...(turn?.iceServers(`${roomId}/${id}`) ?? []),
      ],
      resumeWindow: () => hot.current.timeouts.peerResumeWindow / 1000,
    });
    const serverSockets = new ServerSockets({
      ...sockets,
      apiTokens,
      signedCalls,
      events: traffic.events,
    });
    const drain = new Drain({
      rooms,
      notifyPeers: (deadline) => peerSockets.drainingNotice(deadline),
      stateChanged: (state) => cluster.membership.stateChanged(state),
      log,
    });
    const cluster: Cluster = new Cluster({
      links,
      dispatcher,
      local: rooms,
      log,
      load: () => ({ ...media.load(), rooms: rooms.size, cpu: cpu.read(), accepting: rooms.accepting && announced.ready }),
      describe: () => ({ address: host, internalAddress, version, tls: config.tls !== null, state: drain.state }),
      drain,
      drainTimeout: () => config.drainTimeout,
      drainView: () => drainViewOf(drain, rooms, config),
      config: () => nodeConfigOf(name, { config, hot, warnings: options.warnings ?? [] }, { host, internalAddress }),
      onNodes: (from, names) => distribution?.addKnownNodes(from, names),
      traffic,
    });
    const roomSeries = new RoomSeries();
    events.subscribe(({ event }) => roomSeries.take(event));
    const metrics = new Metrics();
    metrics.collect(nodeMetrics.rooms, () => roomReadings(rooms));
    metrics.collect(nodeMetrics.workers, () => workerReadings(media.workers()));
    metrics.collectSlow(nodeMetrics.workerProcesses, () => workerProcessReadings(media.workers()));
    metrics.collect(nodeMetrics.cluster, () => ({ nodes: distribution?.status.nodesInCluster || 1 }));
    metrics.collect(nodeMetrics.roomSeries, () => roomSeries.readings());
    metrics.collectSlow(nodeMetrics.mediaTraffic, () => media.traffic());
    metrics.collect(nodeMetrics.httpTraffic, () => http?.traffic ?? { received: 0, sent: 0 });
    metrics.collect(nodeMetrics.webhooks, () => webhooks.counters());
    metrics.collect(nodeMetrics.uploads, () => uploads.figures());
    traffic.events.subscribe(({ event: { type, node, roomId, reason = '' } }) => {
      if (type === 'RoomCrashed' && node !== name) media.roomCrashedElsewhere(roomId, reason);
    });
    const doors = new Map<string, { handleUpgrade: UpgradeHandler }>([
      [peerSocketPath, peerSockets],
      [serverSocketPath, serverSockets],
    ]);
    let http: HttpServer | undefined;
    let distribution: Distribution | undefined;
    let turn: TurnServer | undefined;
    const ready = () => announced.ready && distribution?.synced === true;
    try {
      turn = await startTurn(config, log, {
        address: () => announced.current[0],
        onRenew: () => peerSockets.iceServersUpdated(),
        host: () => host,
      });
      http = await HttpServer.start({
        log,
        operations: dispatcher,
        content: traffic.content,
        viewerTokens,
        forwardedBy: traffic.forwardedBy,
        otherAddresses: () => [...cluster.membership.members.values()].map(({ address }) => address),
        ip: config.ip,
        port: config.port,
        host: () => host,
        tls: config.tls ?? undefined,
        apiTokens,
        signedCalls,
        corsOrigins: () => hot.current.corsOrigins,
        trustProxy: config.trustProxy,
        health: async () => {
          const disk = await diskProblem(config.resourcesBasePath);
          const { state } = drain;
          const status = statusOf({ state, ready: ready(), workers: media.workers(), disk });
          return healthOf({ config, hot, startedAt, status, state, distribution: distribution?.status, load: loadOf(rooms, media) });
        },
        ready,
        consoleDir: existsSync(consoleDir) ? consoleDir : undefined,
        consoleSession: () => ({
          development: hot.developmentToken !== undefined,
          token: hot.developmentToken,
          components: [...hot.current.componentsUsed],
        }),
        upgrade: (path) => {
          const door = doors.get(path);
          return door ? (...upgrade) => door.handleUpgrade(...upgrade) : undefined;
        },
        documents: { asyncapi: () => asyncApiDocument({ version, address: host }) },
        rateLimit: () => hot.current.limits.rateLimitApi ?? undefined,
        observe: ({ duration, status, ...labels }) =>
          metrics.observe(nodeMetrics.requests.duration, { ...labels, status: String(status) }, duration / 1000),
      });
      host = withActualPort(host, http.port);
      internalAddress = withActualPort(internalAddress, http.port);
      const metricsServer = await MetricsServer.start({ ...config.metrics, metrics, log });
      hot.onChange((settings) => {
        setLogLevel(log, settings.logLevel);
        keys.replace(settings.secretKeys);
        viewerTokens.replace(settings.secretKeys);
        traffic.secretsChanged(settings.secretKeys);
        serverSockets.tokensChanged();
        peerSockets.iceServersUpdated();
      });
      distribution = await Distribution.start({ config: config.dist, name, links, log, handshakesPending: () => cluster.meets });
      void componentRegistry.start();
      void uploads.start();
      const parts = {
        log,
        hot,
        announced,
        media,
        turn,
        components: componentRegistry,
        uploads,
        rooms,
        webhooks,
        drain,
        cluster,
        traffic,
        peerSockets,
        serverSockets,
        http,
        distribution,
        metrics: metricsServer,
      };
      return new MediaNode(parts, { config, host, name });
    } catch (error) {
      await distribution?.close();
      await uploads.close(0);
      await http?.close(0);
      await webhooks.close(0);
      await turn?.close();
      await media.close();
      throw error;
    }
  }

  /** URL of the node as seen from this host. */
  get url(): string {
    const wildcard = this.#config.ip === '0.0.0.0' || this.#config.ip === '::';
    return `${this.#config.tls ? 'https' : 'http'}://${wildcard ? this.host : this.parts.http.address}`;
  }

  get drainTimeout(): number {
    return this.#config.drainTimeout;
  }

  get shutdownDelay(): number {
    return this.#config.shutdownDelay;
  }
}

/** The TLS certificate of this node; undefined without TLS, or if the file cannot be read. */
function ownCertificate({ tls }: Config): string | undefined {
  try {
    return tls ? readFileSync(tls.certPath, 'utf8') : undefined;
  } catch {
    return undefined;
  }
}
