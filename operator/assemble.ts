// Composition of stores and controllers: routes changes of stored objects to the controllers.
import type { Tracer } from '../tracing/spans.ts';
import { ClusterController } from './clusters/controller.ts';
import { type OptionalKind, optionalKinds } from './clusters/observed-objects.ts';
import type { OperatorConfig } from './config.ts';
import type { KubeClient } from './kube/client.ts';
import type { EventRecorder } from './kube/event-recorder.ts';
import type { NamespaceClaims } from './kube/namespace-claims.ts';
import { type KubeObject, resources, type Stored } from './kube/objects.ts';
import type { Log } from './log.ts';
import type { OperatorMetrics } from './metrics/operator-metrics.ts';
import { NodeClient } from './nodes/node-client.ts';
import type { MediaCluster, Room } from './objects.ts';
import type { ConnectNode } from './rooms/cluster-client.ts';
import { RoomController } from './rooms/controller.ts';
import { Stores } from './stores.ts';

export type AssembledOperator = { stores: Stores; rooms: RoomController; clusters: ClusterController };

export type ComposeOptions = {
  config: OperatorConfig;
  /** Clients for reads and for writes; dry runs use different ones. */
  reading: KubeClient;
  writing: KubeClient;
  recorder: Pick<EventRecorder, 'emit'>;
  /** Without it, objects of all namespaces are reconciled. */
  claims?: Pick<NamespaceClaims, 'conflict' | 'retryMs'>;
  log: Log;
  metrics: OperatorMetrics;
  tracer?: Tracer;
  /** Creates the clients of nodes. */
  connect?: ConnectNode;
};

export async function assemble(options: ComposeOptions): Promise<AssembledOperator> {
  const { config, reading, writing, recorder, log, metrics } = options;
  const { connect = (node) => new NodeClient(node) } = options;
  const { namespaces, nodeImage, clusterDomain, roomWorkers, clusterWorkers } = config;
  const mayReadNodes = (await reading.can('list', resources.nodes)) && (await reading.can('watch', resources.nodes));
  if (!mayReadNodes) log.warn('no permission to read Nodes: external addresses and drain on cordon disabled');
  const stores: Stores = new Stores({
    client: reading,
    namespaces,
    nodes: mayReadNodes,
    optionalKinds: await supportedKinds(reading),
    log,
    metrics,
    changed: (object, old) => {
      if (object.kind !== 'Room') clusters.changed(object, old);
      notifyRooms(rooms, object, old);
    },
    deleted: (object) => {
      if (object.kind === 'Room') rooms.roomDeleted(object as Stored<Room>);
      else clusters.deleted(object);
      notifyRooms(rooms, object, undefined, true);
    },
    appeared: () => clusters.enqueueAll(),
  });
  const clusters = new ClusterController({
    client: writing,
    stores: stores.clusters,
    ...(options.claims && { claims: options.claims }),
    nodeCalls: (target) => connect({ ...target, timeoutMs: 2_000 }),
    recorder,
    log,
    metrics,
    image: nodeImage,
    clusterDomain,
    workers: clusterWorkers,
  });
  const rooms = new RoomController({
    client: writing,
    rooms: stores.rooms,
    secrets: stores.roomSecrets,
    ...(options.claims && { claims: options.claims }),
    access: clusters.access,
    recorder,
    log,
    metrics,
    ...(options.tracer && { tracer: options.tracer }),
    samplePercent: config.traces.samplePercent,
    workers: roomWorkers,
    connect,
  });
  return { stores, rooms, clusters };
}

async function supportedKinds(client: KubeClient): Promise<Set<OptionalKind>> {
  const supported = new Set<OptionalKind>();
  for (const kind of optionalKinds) if (await client.serves(resources[kind])) supported.add(kind);
  return supported;
}

/** Notifies the Room controller of objects that Rooms depend on. */
function notifyRooms(rooms: RoomController, object: Stored<KubeObject>, old: Stored<KubeObject> | undefined, deleted = false): void {
  if (object.kind === 'Room' && !deleted) rooms.roomChanged(object as Stored<Room>, old as Stored<Room> | undefined);
  else if (object.kind === 'Secret' && deleted) rooms.secretDeleted(object);
  else if (object.kind === 'Secret') rooms.secretChanged(object);
  else if (object.kind === 'MediaCluster') rooms.clusterChanged(object as Stored<MediaCluster>, old as Stored<MediaCluster> | undefined);
  else if (object.kind === 'Pod') {
    const cluster = object.metadata.labels?.['mediarooms.dev/cluster'];
    if (cluster !== undefined) rooms.nodesChanged(object.metadata.namespace ?? '', cluster);
  }
}
