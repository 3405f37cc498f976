// Room fixture: the Room controller in the process of a test, with a real API server, real media nodes, and pods defined by the test.
import { resources, type Stored } from '../../../operator/kube/objects.ts';
import type { CallObservation } from '../../../operator/kube/observer.ts';
import { Reflector } from '../../../operator/kube/reflector.ts';
import { SecretStore } from '../../../operator/kube/secret-store.ts';
import type { MediaCluster, Room } from '../../../operator/objects.ts';
import type { ClusterAccess, ClusterNode } from '../../../operator/rooms/cluster-access.ts';
import { RoomController } from '../../../operator/rooms/controller.ts';
import type { Secret } from '../../../operator/rooms/desired-components.ts';
import { roomIndexes } from '../../../operator/rooms/room-conflicts.ts';
import { eventually } from '../eventually.ts';
import { apiToken } from '../processes/start-node.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { connectController } from './controllers/controller-client.ts';
import { applyDefinitions } from './media-clusters.ts';
import { changesOf, type KubeJson, mediaCluster, readSecret } from './read-objects.ts';
import type { Scope } from './scope.ts';

export type RoomOperatorOptions = { now?: () => number; pollMs?: number; workers?: number };

export type RoomOperator = {
  controller: RoomController;
  /** Every request to the API server except watches, since the start. */
  calls: CallObservation[];
  /** Idempotent. */
  stop: () => Promise<void>;
};

/** Besides changes of Rooms, because a watch may be interrupted. */
const pollInterval = 250;

export class RoomFixture {
  readonly server: ApiServer;
  /** Pods of each MediaCluster, by `<namespace>/<name>`; a test changes them and calls `podsChanged`. */
  readonly pods = new Map<string, ClusterNode[]>();
  /** Public URL of any node, if all nodes share one. */
  api: string | undefined;
  token: string | undefined = apiToken;
  readonly #operators = new Set<RoomOperator>();

  private constructor(server: ApiServer) {
    this.server = server;
  }

  static async start(scope: Scope, server?: ApiServer): Promise<RoomFixture> {
    const fixture = new RoomFixture(server ?? (await startApiServer(scope)));
    await applyDefinitions(fixture.server);
    return fixture;
  }

  /** Adds a MediaCluster with these nodes, all ready. */
  async addCluster(name: string, nodes: readonly { url: string }[], spec: object = {}, namespace = 'default'): Promise<void> {
    this.setPods(`${namespace}/${name}`, nodes);
    await this.server.apply(mediaCluster(name, spec, namespace));
  }

  setPods(cluster: string, nodes: readonly { url: string }[]): void {
    const base = cluster.slice(cluster.indexOf('/') + 1);
    const pods = nodes.map(({ url }, index) => ({
      pod: `${base}-${index}`,
      url,
      signed: true,
      ready: true,
      terminating: false,
      lost: false,
    }));
    this.pods.set(cluster, pods);
    this.podsChanged(cluster);
  }

  /** Removes the pod, as after its deletion. */
  removePod(cluster: string, pod: string): void {
    this.pods.set(
      cluster,
      (this.pods.get(cluster) ?? []).filter((each) => each.pod !== pod),
    );
    this.podsChanged(cluster);
  }

  podsChanged(cluster: string): void {
    const [namespace = '', name = ''] = cluster.split('/');
    for (const { controller } of this.#operators) controller.nodesChanged(namespace, name);
  }

  /** Running when it returns; ends before the API server. */
  async startOperator(options: RoomOperatorOptions = {}): Promise<RoomOperator> {
    const { client, recorder, log, calls, close } = await connectController(this.server.kubeconfig);
    const stop = new AbortController();
    const common = { client, namespaces: [], log };
    const rooms = new Reflector<Room>({
      ...common,
      resource: resources.rooms,
      indexes: roomIndexes,
      onChange: (room, old) => controller.roomChanged(room, old),
      onDelete: (room) => controller.roomDeleted(room),
    });
    const secrets = new Reflector<Secret>({
      ...common,
      resource: resources.secrets,
      metadataOnly: true,
      onChange: (secret) => controller.secretChanged(secret),
      onDelete: (secret) => controller.secretDeleted(secret),
    });
    const clusters = new Reflector<MediaCluster>({
      ...common,
      resource: resources.mediaClusters,
      onChange: (cluster, old) => controller.clusterChanged(cluster, old),
      onDelete: (cluster) => controller.clusterChanged(cluster),
    });
    const access = this.#accessTo(clusters);
    const controller: RoomController = new RoomController({
      client,
      rooms,
      secrets: new SecretStore({ metadata: secrets, client, maxBytes: 2 ** 20 }),
      access,
      recorder,
      log,
      ...options,
    });
    const reflectors = [rooms, secrets, clusters];
    const reflecting = reflectors.map((reflector) => reflector.run(stop.signal));
    await Promise.all(reflectors.map((reflector) => reflector.whenSynced(stop.signal)));
    const running = controller.run(stop.signal);
    let ending: Promise<void> | undefined;
    const operator: RoomOperator = {
      controller,
      calls,
      stop: () => {
        ending ??= (async () => {
          this.#operators.delete(operator);
          stop.abort();
          await Promise.all([running, ...reflecting]);
          await close();
        })();
        return ending;
      },
    };
    this.#operators.add(operator);
    this.server.beforeEnd(operator.stop);
    return operator;
  }

  async room(name: string, namespace = 'default'): Promise<KubeJson> {
    return this.object(`/apis/mediarooms.dev/v1alpha2/namespaces/${namespace}/rooms/${name}`);
  }

  /** undefined if it does not exist. */
  async object(path: string): Promise<KubeJson> {
    let last: { status: number; body: unknown } | undefined;
    const check = async () => {
      const { status, body } = await this.server.client.call(path);
      last = { status, body };
      // A busy or starting API server returns these.
      return status !== 429 && status < 500 && last;
    };
    const { status, body } = await eventually(() => `${path} has a response: ${JSON.stringify(last)}`, check, { every: 100 });
    if (status === 200) return body;
    if (status === 404) return undefined;
    throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
  }

  /** Waits until the Room matches. @throws with its last state after the timeout */
  async waitFor(name: string, wanted: (room: KubeJson) => boolean, namespace = 'default'): Promise<KubeJson> {
    let room: KubeJson;
    const check = async () => {
      room = await this.room(name, namespace);
      return wanted(room);
    };
    const wakes = changesOf(this.server, 'rooms');
    await eventually(() => `Room ${name} matches: ${JSON.stringify(room?.status ?? room, null, 1)}`, check, { every: pollInterval, wakes });
    return room;
  }

  waitUntilReady(name: string, namespace = 'default'): Promise<KubeJson> {
    return this.waitFor(name, (room) => room?.status?.phase === 'Ready' && isSettled(room), namespace);
  }

  /** Values of a Secret as text. */
  secret(name: string, namespace = 'default'): Promise<Record<string, string> | undefined> {
    return readSecret(this.server, name, namespace);
  }

  #accessTo(clusters: Reflector<MediaCluster>): ClusterAccess {
    return {
      find: (namespace, name) => {
        const all: Stored<MediaCluster>[] = clusters.list().filter(({ metadata }) => metadata.namespace === namespace);
        const found = name === undefined ? all : all.filter(({ metadata }) => metadata.name === name);
        const [only] = found;
        if (only && found.length === 1) return { cluster: only };
        return { reason: only ? 'ClusterNotNamed' : 'ClusterNotFound', message: `Found ${found.length} such MediaClusters.` };
      },
      nodes: (namespace, cluster) => this.pods.get(`${namespace}/${cluster}`) ?? [],
      prepare: async () => {},
      token: () => this.token,
      publicUrl: () => this.api,
    };
  }
}

/** Whether its status belongs to its current spec. */
export function isSettled({ metadata, status }: KubeJson): boolean {
  return status?.observedGeneration === metadata.generation;
}
