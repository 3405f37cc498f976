// In-process cluster: several nodes with real rooms and real cluster code on a simulated network that a test cuts and heals.

import type { RoomEvent } from '../../../api/events.ts';
import { operations } from '../../../api/operations/table.ts';
import { Cluster } from '../../../node/cluster/cluster.ts';
import type { NodeName } from '../../../node/cluster/cluster-transport.ts';
import type { LostEntry } from '../../../node/cluster/connected-peers.ts';
import { createNodes, type Nodes } from '../../../node/cluster/nodes.ts';
import { OperationRouter } from '../../../node/cluster/rpc/operation-router.ts';
import { RoomLocator } from '../../../node/cluster/rpc/room-locator.ts';
import { type OpenRoom, RoomOpener } from '../../../node/cluster/rpc/room-opener.ts';
import { createDrain } from '../../../node/drain.ts';
import type { LocalLimits } from '../../../node/rooms/local-rooms.ts';
import { roomHandlers } from '../../../node/rooms/room-handlers.ts';
import { PeerTokens } from '../../../node/rooms/tokens/peer-tokens.ts';
import { silentLog } from '../silent-log.ts';
import { turns } from '../turns.ts';
import { callsOf, type OperationCalls } from './dispatcher.ts';
import { FakeComponentRegistry } from './fake-components.ts';
import { type FakeLinks, FakeNetwork } from './fake-links.ts';
import { FakeMedia } from './fake-media.ts';
import { TestLocalRooms } from './local-rooms.ts';
import { noLimits } from './rooms.ts';

export type TestNode = Nodes & {
  name: NodeName;
  links: FakeLinks;
  cluster: Cluster;
  locator: RoomLocator;
  /** Runs operations as the HTTP server of this node does. */
  run: OperationCalls;
  /** Creates a room unless a node has it. */
  openRoom: OpenRoom;
  local: TestLocalRooms;
  media: FakeMedia;
  components: FakeComponentRegistry;
  events: RoomEvent[];
  lost: LostEntry[];
  /** Load that the node reports, apart from its rooms. */
  load: { forwardedTracks: number; cpu: number; accepting: boolean };
};

export type TestCluster = { network: FakeNetwork; nodes: TestNode[] };

/** Nodes `svc@a`, `svc@b`, ..., all connected. */
export function makeCluster(count: number, limits: Partial<LocalLimits> = {}): TestCluster {
  const network = new FakeNetwork();
  const nodes = Array.from({ length: count }, (_, index) => makeNode(network, `svc@${String.fromCharCode(97 + index)}`, limits));
  network.connectAll();
  return { network, nodes };
}

export function makeNode(network: FakeNetwork, name: NodeName, limits: Partial<LocalLimits> = {}): TestNode {
  const log = silentLog();
  const links = network.join(name);
  const media = new FakeMedia();
  const components = new FakeComponentRegistry();
  const events: RoomEvent[] = [];
  const lost: LostEntry[] = [];
  const keys = new PeerTokens(['the secret of all nodes']);
  const load = { forwardedTracks: 0, cpu: 0, accepting: true };
  const address = `${name.split('@')[1]}.test`;
  const nodes = createNodes(links, log);
  const { dispatcher } = nodes;
  const local: TestLocalRooms = new TestLocalRooms({
    node: name,
    log,
    engine: media,
    components,
    clustered: true,
    address: () => address,
    limits: () => ({ ...noLimits, ...limits }),
    signToken: (claims) => keys.sign(claims),
    onEvent: (event) => {
      events.push(event);
      cluster.roomEvent(event);
    },
  });
  dispatcher.serve(operations, roomHandlers(local));
  const locator = new RoomLocator({ ...nodes, local });
  const cluster: Cluster = new Cluster({
    ...nodes,
    local,
    log,
    load: () => ({ ...load, rooms: local.size, accepting: load.accepting && local.accepting }),
    describe: () => ({ address, internalAddress: `${address}:8080`, version: '0.7.0', tls: false }),
    traffic: {
      nodeUp: () => {},
      nodeDown: () => {},
      roomsLost: (_node, entries) => lost.push(...entries),
    },
  });
  createDrain({
    ...{ log, registry: dispatcher, rooms: local, membership: cluster.membership },
    peerSockets: { drainingNotice: () => {} },
    config: { drainTimeout: 60_000 },
  });
  const run = callsOf(new OperationRouter(dispatcher, locator));
  const { open: openRoom } = new RoomOpener({
    locate: (roomId) => locator.locate(roomId),
    create: (options) => cluster.rooms.createRoom(options),
    sleep: () => turns(1),
  });
  return { ...nodes, name, links, cluster, locator, run, openRoom, local, media, components, events, lost, load };
}

/** Resolves when all messages in transit between nodes have arrived. */
export async function flushNetwork(): Promise<void> {
  await turns(20);
}
