// Media node: composes all services from the configuration, starts them in order and ends them in reverse.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeMetrics } from '../api/metrics.ts';
import { operations } from '../api/operations/table.ts';
import { peerSocketPath } from '../api/peer.ts';
import { Cluster } from './cluster/cluster.ts';
import { CpuMeter } from './cluster/cpu-meter.ts';
import { ErlangTransport } from './cluster/erlang-transport.ts';
import { InterNodeServices } from './cluster/inter-node-services.ts';
import { Dispatcher } from './cluster/rpc/dispatcher.ts';
import { Closers, Ending } from './common/closers.ts';
import { type Log, setLogLevel } from './common/log.ts';
import { withoutRequestContext } from './common/request-id.ts';
import { createComponents } from './components/start-components.ts';
import { withActualPort } from './config/addresses.ts';
import type { AnnouncedAddresses } from './config/announced.ts';
import type { ReloadableConfig } from './config/reloadable-config.ts';
import type { Config } from './config.ts';
import { Distribution, distributionName } from './distribution.ts';
import { Drain } from './drain.ts';
import { addClosers, addDrain } from './end-of-node.ts';
import { EventLog } from './events/event-log.ts';
import { WebhookStore } from './events/webhooks/store.ts';
import { webhookAdmin } from './events/webhooks/webhook-admin.ts';
import { Webhooks } from './events/webhooks/webhooks.ts';
import { HttpServer, type UpgradeHandler } from './http/http-server.ts';
import { startMedia } from './media/worker/start-media.ts';
import { MetricsServer } from './metrics/metrics-server.ts';
import { collectMetrics } from './node-metrics.ts';
import type { NodeServices, Servers } from './node-services.ts';
import { diskProblem, statusOf } from './node-status.ts';
import { drainViewOf, healthOf, loadOf, nodeConfigOf } from './node-views.ts';
import { LocalRooms } from './rooms/local-rooms.ts';
import { roomHandlers } from './rooms/room-handlers.ts';
import { ApiTokens } from './rooms/tokens/api-tokens.ts';
import { PeerTokens } from './rooms/tokens/peer-tokens.ts';
import { SignedCalls } from './rooms/tokens/signed-calls.ts';
import { ViewerTokens } from './rooms/tokens/viewer-tokens.ts';
import { asyncApiDocument } from './signaling/asyncapi.ts';
import { PeerSockets } from './signaling/peer-sockets.ts';
import { ServerSockets, serverSocketPath } from './signaling/server-sockets.ts';
import { LocalContent } from './storage/local-content.ts';
import { NodeContent } from './storage/node-content.ts';
import { createUploads } from './storage/uploads/start-uploads.ts';
import { startTurn } from './turn/start-turn.ts';
import { version } from './version.ts';

const consoleDir = join(import.meta.dirname, '../packages/console/dist');

/** `warnings`: warnings of the configuration, for the REST API. */
export type NodeOptions = { config: Config; hot: ReloadableConfig; announced: AnnouncedAddresses; log: Log; warnings?: readonly string[] };

export class MediaNode {
  readonly parts: NodeServices;
  readonly host: string;
  /** `<nodename>@<host>`. */
  readonly name: string;
  readonly #config: Config;
  readonly #closers: Closers;
  #closed: Promise<void> | undefined;

  private constructor(parts: NodeServices, options: { config: Config; host: string; name: string; closers: Closers }) {
    this.parts = parts;
    this.host = options.host;
    this.name = options.name;
    this.#config = options.config;
    this.#closers = options.closers;
  }

  /** Resolves when all servers listen. @throws Error with one sentence; everything is stopped then */
  static async start(options: NodeOptions): Promise<MediaNode> {
    const { config, hot, announced, log } = options;
    let host = config.host;
    let internalAddress = config.internalAddress;
    const servers: Servers = {};
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
    hot.onChange(({ logLevel, secretKeys }) => {
      setLogLevel(log, logLevel);
      keys.replace(secretKeys);
      viewerTokens.replace(secretKeys);
    });
    const apiTokens = new ApiTokens(() => hot.current.apiTokens);
    const signedCalls = new SignedCalls({ tokens: apiTokens, address: () => internalAddress });
    const webhooks = new Webhooks({
      log,
      store: await WebhookStore.open({ log, base: join(config.resourcesBasePath, 'webhooks'), name }),
      settings: () => ({ ...hot.current.webhooks, pendingMaxBytes: hot.current.limits.pendingMaxBytes }),
      userAgent: `Mediarooms/${version}`,
    });
    const media = await startMedia({
      webrtc: config.webrtc,
      hot,
      announced,
      log,
      elsewhere: () => [...cluster.membership.members.values()].some(({ state }) => state === 'accepting'),
    });
    const local = { log, hot, resources: config.resourcesBasePath, node: () => name };
    const { uploads, archive } = createUploads({
      ...local,
      onEvent: (event, webhookUrl) => {
        webhooks.publish(event, webhookUrl);
        events.publish(event);
      },
    });
    const cpu = new CpuMeter();
    const sip = { ...config.sip, userAgent: `Mediarooms/${version}` };
    const componentRegistry = createComponents({ ...local, announced, uploads, archive, sip, busy: () => cpu.read() });
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
          servers.distribution?.discovering ?? config.dist.enabled,
        ),
      forward: traffic.forward,
      forwardedFor: traffic.forwardedFor,
      verifyToken: (token) => keys.verify(token),
      signToken: (claims) => keys.sign(claims),
      iceServers: ({ roomId, id }) => [
        ...hot.current.iceServers.map((server) => ({ ...server })),
        // Peer ids are unique per room only, and peers must not share a TURN quota.
        ...(servers.turn?.iceServers(`${roomId}/${id}`) ?? []),
      ],
      resumeWindow: () => hot.current.timeouts.peerResumeWindow / 1000,
    });
    const serverSockets = new ServerSockets({
      ...sockets,
      apiTokens,
      signedCalls,
      events: traffic.events,
    });
    hot.onChange(({ secretKeys }) => {
      traffic.secretsChanged(secretKeys);
      serverSockets.tokensChanged();
      peerSockets.iceServersUpdated();
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
      onNodes: (from, names) => servers.distribution?.addKnownNodes(from, names),
      traffic,
    });
    const metrics = collectMetrics({ rooms, media, webhooks, uploads, events, servers });
    traffic.events.subscribe(({ event: { type, node, roomId, reason = '' } }) => {
      if (type === 'RoomCrashed' && node !== name) media.roomCrashedElsewhere(roomId, reason);
    });
    const doors = new Map<string, { handleUpgrade: UpgradeHandler }>([
      [peerSocketPath, peerSockets],
      [serverSocketPath, serverSockets],
    ]);
    const closers = new Closers();
    const made = {
      log,
      hot,
      announced,
      media,
      components: componentRegistry,
      uploads,
      rooms,
      webhooks,
      cluster,
      traffic,
      peerSockets,
      serverSockets,
    };
    addClosers(closers, { ...made, servers, links, config });
    const ready = () => announced.ready && servers.distribution?.synced === true;
    try {
      const turn = await startTurn({
        webrtc: config.webrtc,
        log,
        address: () => announced.current[0],
        onRenew: () => peerSockets.iceServersUpdated(),
        host: () => host,
      });
      servers.turn = turn;
      const http = await HttpServer.start({
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
          return healthOf({
            config,
            hot,
            startedAt,
            status,
            state,
            distribution: servers.distribution?.status,
            load: loadOf(rooms, media),
          });
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
      servers.http = http;
      host = withActualPort(host, http.port);
      internalAddress = withActualPort(internalAddress, http.port);
      const metricsServer = await MetricsServer.start({ ...config.metrics, metrics, log });
      servers.metrics = metricsServer;
      const distribution = await Distribution.start({ config: config.dist, name, links, log, handshakesPending: () => cluster.meets });
      servers.distribution = distribution;
      void componentRegistry.start();
      void uploads.start();
      addDrain(closers, { drain });
      const parts = { ...made, turn, drain, http, distribution, metrics: metricsServer };
      return new MediaNode(parts, { config, host, name, closers });
    } catch (error) {
      await closers.unwind(new Ending(0, true));
      throw error;
    }
  }

  /** Ends the node. Idempotent: all callers share one end. `drainTimeout`: milliseconds in which rooms may end. */
  close(drainTimeout: number = this.#config.drainTimeout): Promise<void> {
    this.#closed ??= this.#closers.unwind(new Ending(drainTimeout)).then(() => this.parts.log.info('node ended'));
    return this.#closed;
  }

  /** URL of the node as seen from this host. */
  get url(): string {
    const wildcard = this.#config.ip === '0.0.0.0' || this.#config.ip === '::';
    return `${this.#config.tls ? 'https' : 'http'}://${wildcard ? this.host : this.parts.http.address}`;
  }

  /** Maximum milliseconds that the end waits for rooms and load balancers. */
  get maxWait(): number {
    return Math.max(this.#config.drainTimeout, this.#config.shutdownDelay);
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
