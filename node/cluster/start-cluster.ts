// Cluster of a node: finds rooms on all nodes, and serves their traffic between nodes.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeMetrics } from '../../api/metrics.ts';
import type { FeatureContext } from '../common/feature-context.ts';
import { waitWhile } from '../common/timer.ts';
import type { NodeAddress } from '../config/node-address.ts';
import type { ReloadableConfigView } from '../config/reloadable-config.ts';
import type { TlsFiles } from '../config/tls.ts';
import type { LocalRooms } from '../rooms/local-rooms.ts';
import { Cluster, type ClusterOptions } from './cluster.ts';
import { InterNodeServices, type InterNodeServicesOptions } from './inter-node-services.ts';
import type { Nodes } from './nodes.ts';
import { ClusterMessages } from './rpc/cluster-messages.ts';
import { OperationRouter } from './rpc/operation-router.ts';
import { RoomLocator } from './rpc/room-locator.ts';
import { type OpenRoom, RoomOpener } from './rpc/room-opener.ts';

export type ClusterContext = Pick<FeatureContext, 'log' | 'closers' | 'metrics'> &
  Pick<ClusterOptions, 'load'> &
  Pick<InterNodeServicesOptions, 'events' | 'content' | 'renders' | 'archive' | 'webhooks' | 'onRoomLost'> & {
    nodes: Nodes;
    rooms: LocalRooms;
    hot: Pick<ReloadableConfigView, 'current' | 'onChange'>;
    address: NodeAddress;
    version: string;
    config: { dist: { cookie: string }; tls: TlsFiles | null; shutdownDelay: number };
  };
/**
 * `operations` runs operations of clients; `traffic`: services between nodes; `messages`: those of features; `openRoom` creates a room unless
 * a node has it.
 */
export type StartedCluster = {
  cluster: Cluster;
  traffic: InterNodeServices;
  messages: ClusterMessages;
  operations: OperationRouter;
  openRoom: OpenRoom;
};

export function createCluster(context: ClusterContext): StartedCluster {
  const { nodes, rooms, hot, address, version, config, closers, metrics, load, ...services } = context;
  const { log, events } = services;
  const locator = new RoomLocator({ ...nodes, local: rooms });
  const traffic = new InterNodeServices({
    ...services,
    ...nodes,
    locator,
    secrets: hot.current.secretKeys,
    cookie: config.dist.cookie,
    ownCertificate: () => certificateOf(config.tls),
  });
  const cluster = new Cluster({
    ...nodes,
    local: rooms,
    log,
    load,
    describe: () => ({ address: address.host, internalAddress: address.internal, version, tls: config.tls !== null }),
    traffic,
  });
  metrics.collect(nodeMetrics.placement, () => ({ rejected: cluster.rooms.rejected }));
  events.subscribe(({ event }) => cluster.roomEvent(event));
  hot.onChange(({ secretKeys }) => traffic.secretsChanged(secretKeys));
  closers.add('loadBalancers', (ending) => waitWhile(ending.left(config.shutdownDelay), () => cluster.hasActiveNodes));
  closers.add('peers', () => traffic.closeForwarding());
  closers.add('events', () => traffic.events.close());
  const opener = new RoomOpener({
    locate: (roomId) => locator.locate(roomId),
    create: (options) => cluster.rooms.createRoom(options),
    sleep,
  });
  const messages = new ClusterMessages({ ...nodes, locator });
  return { cluster, traffic, messages, operations: new OperationRouter(nodes.dispatcher, locator), openRoom: opener.open };
}

/** The TLS certificate of this node; undefined without TLS, or if the file cannot be read. */
function certificateOf(tls: TlsFiles | null): string | undefined {
  try {
    return tls ? readFileSync(tls.certPath, 'utf8') : undefined;
  } catch {
    return undefined;
  }
}
