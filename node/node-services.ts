// Services of a node: the types that node.ts composes.
import type { Cluster } from './cluster/cluster.ts';
import type { InterNodeServices } from './cluster/inter-node-services.ts';
import type { Log } from './common/log.ts';
import type { ComponentRegistry } from './components/component-registry.ts';
import type { AnnouncedAddresses } from './config/announced.ts';
import type { ReloadableConfig } from './config/reloadable-config.ts';
import type { Distribution } from './distribution.ts';
import type { Drain } from './drain.ts';
import type { Webhooks } from './events/webhooks/webhooks.ts';
import type { HttpServer } from './http/http-server.ts';
import type { MediaWorkerPool } from './media/worker/worker-pool.ts';
import type { MetricsServer } from './metrics/metrics-server.ts';
import type { LocalRooms } from './rooms/local-rooms.ts';
import type { PeerSockets } from './signaling/peer-sockets.ts';
import type { ServerSockets } from './signaling/server-sockets.ts';
import type { S3Uploads } from './storage/uploads/s3-uploads.ts';
import type { TurnServer } from './turn/turn-server.ts';

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

/** Servers, as far as they have started. */
export type Servers = { [Name in 'turn' | 'http' | 'metrics' | 'distribution']?: NodeServices[Name] };
