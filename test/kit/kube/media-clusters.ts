// MediaClusters in tests: creates them, waits for them, and inspects them as a client.
import type { MediaClusterSpec } from '../../../crds/types.ts';
import type { KubeObject } from '../../../operator/kube/objects.ts';
import type { MediaCluster } from '../../../operator/objects.ts';
import { type ApiClient, apiClient } from '../answers/api-client.ts';
import { eventually } from '../eventually.ts';
import { PeerSocket } from '../network/peer-socket.ts';
import type { ApiServer } from './api-server.ts';
import { startControlPlane } from './control-plane.ts';
import { ClusterOperator, type ClusterOperatorOptions } from './controllers/cluster-operator.ts';
import { mustKubectl } from './kubectl.ts';
import { type PodRunnerOptions, startPodRunner } from './pods/pod-runner.ts';
import { changesOf, type Kind, mediaCluster, readObject, readObjects, readSecret } from './read-objects.ts';
import type { Scope } from './scope.ts';

export type ClusterPod = {
  metadata: {
    name: string;
    uid: string;
    labels: Record<string, string>;
    annotations: Record<string, string>;
    deletionTimestamp?: string;
  };
  spec: { nodeName?: string; containers: { env: { name: string; value?: string }[] }[] };
  status: { podIP?: string; phase?: string; conditions?: { type: string; status: string }[]; containerStatuses?: { name: string }[] };
};

const timeoutMs = 60_000;
/** Besides changes of objects, for what a media node responds. */
const pollInterval = 250;

export class MediaClusterUser {
  readonly name = 'c';
  readonly namespace: string;
  /** kubectl in the namespace. @throws with its message */
  readonly kubectl: (...args: string[]) => Promise<string>;
  readonly #server: ApiServer;

  /** The MediaCluster `c` of that namespace. */
  constructor(server: ApiServer, namespace: string) {
    this.#server = server;
    this.namespace = namespace;
    this.kubectl = mustKubectl(server, ['-n', namespace]);
  }

  /** Creates a MediaCluster `c` in a new namespace. */
  static async make(server: ApiServer, namespace: string, spec: Record<string, unknown>): Promise<MediaClusterUser> {
    const user = new MediaClusterUser(server, namespace);
    await server.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    await server.waitFor('the ServiceAccount of the namespace', `/api/v1/namespaces/${namespace}/serviceaccounts/default`);
    await user.apply(spec);
    return user;
  }

  /** `kubectl apply` of the MediaCluster with this spec. */
  apply(spec: object): Promise<void> {
    return this.#server.apply(mediaCluster(this.name, spec, this.namespace));
  }

  /** @throws if it does not exist */
  async get<T>(kind: Kind, name: string): Promise<T> {
    const found = await readObject(this.#server, kind, name, this.namespace);
    if (found === undefined) throw new Error(`${kind} has no ${name}`);
    return found as T;
  }

  async list<T>(kind: Kind, labelSelector?: string): Promise<T[]> {
    return (await readObjects(this.#server, kind, this.namespace, { labelSelector })) as T[];
  }

  async names(kind: Kind): Promise<string[]> {
    return (await this.list<KubeObject>(kind)).map(({ metadata }) => metadata.name).sort();
  }

  cluster(): Promise<MediaCluster & { spec: MediaClusterSpec }> {
    return this.get('mediaClusters', this.name);
  }

  async condition(type: string): Promise<{ status: string; reason: string; message: string }> {
    const { status } = await this.cluster();
    const found = status?.conditions?.find((condition) => condition.type === type);
    return found ?? { status: 'Missing', reason: '', message: '' };
  }

  /** Its pods, by index. */
  async pods(): Promise<ClusterPod[]> {
    const pods = await this.list<ClusterPod>('pods', `mediarooms.dev/cluster=${this.name}`);
    return pods.sort((one, other) => indexOf(one) - indexOf(other));
  }

  async livingPods(): Promise<ClusterPod[]> {
    return (await this.pods()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  async readyPods(): Promise<ClusterPod[]> {
    return (await this.livingPods()).filter(isReady);
  }

  /** Checks at each change of a MediaCluster or pod until the condition holds. @throws with the last status of the cluster */
  async until(what: string, holds: () => Promise<boolean>, withinMs = timeoutMs): Promise<void> {
    const state = async () => {
      const { status } = await this.cluster();
      return `${what}\n${JSON.stringify(status, null, 1)}\n${await this.kubectl('get', 'pods', '-o', 'wide')}`;
    };
    const wakes = changesOf(this.#server, 'mediaClusters', 'pods');
    await eventually(state, holds, { within: withinMs, every: pollInterval, wakes });
  }

  /** Waits until exactly these pods run, all of them ready, and no change is in progress. */
  async settled(...names: string[]): Promise<ClusterPod[]> {
    await this.until(`only ${names.join(', ')} run and are ready`, async () => {
      const living = await this.livingPods();
      return living.map(({ metadata }) => metadata.name).join() === names.join() && living.every(isReady);
    });
    await this.until('no change is in progress', () => this.rests());
    return this.livingPods();
  }

  /** Whether no change is in progress for the current spec; conditions of an earlier generation do not count. */
  async rests(): Promise<boolean> {
    const { metadata, status } = await this.cluster();
    const progressing = status?.conditions?.find(({ type }) => type === 'Progressing');
    return progressing?.status === 'False' && progressing.observedGeneration === metadata.generation;
  }

  async token(key = 'admin'): Promise<string> {
    return (await readSecret(this.#server, `${this.name}-api-tokens`, this.namespace))?.[key] ?? '';
  }

  /** REST client of the node in a pod. */
  async api(pod: ClusterPod): Promise<ApiClient> {
    return apiClient(`http://${pod.status.podIP}:8080`, await this.token());
  }

  /** `ws://` address of a websocket in a pod. */
  socket(pod: ClusterPod, path = '/socket/peer/websocket'): string {
    return `ws://${pod.status.podIP}:8080${path}`;
  }
}

/** A room with one connected peer, on the node of one pod. */
export class LiveRoom {
  readonly id: string;
  readonly socket: PeerSocket;
  readonly #user: MediaClusterUser;
  readonly #pod: ClusterPod;

  private constructor(user: MediaClusterUser, pod: ClusterPod, id: string, socket: PeerSocket) {
    this.#user = user;
    this.#pod = pod;
    this.id = id;
    this.socket = socket;
  }

  /** Retries until the cluster places the room there: rooms are placed on the least loaded node. */
  static async open(user: MediaClusterUser, pod: ClusterPod, id: string): Promise<LiveRoom> {
    const api = await user.api(pod);
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const roomId = `${id}-${attempt}`;
      const { status, body } = await api.post('/room', { roomId });
      if (status !== 201) throw new Error(`no room: ${JSON.stringify(body)}`);
      if (body.data.svc_address === `${pod.status.podIP}:8080`) {
        const { token } = (await api.post(`/room/${roomId}/peer`, { type: 'webrtc' })).body.data;
        const socket = await PeerSocket.enter(user.socket(pod), token);
        if (!socket.welcome.ok) throw new Error(`no peer: ${JSON.stringify(socket.welcome)}`);
        return new LiveRoom(user, pod, roomId, socket);
      }
    }
    throw new Error(`No room was placed on ${pod.metadata.name}`);
  }

  /** Whether the peer is still connected. */
  async lives(): Promise<boolean> {
    if (this.socket.webSocket.readyState !== WebSocket.OPEN) return false;
    const { status, body } = await (await this.#user.api(this.#pod)).get(`/room/${this.id}`);
    return status === 200 && body.data.peers.some((peer: { status: string }) => peer.status === 'connected');
  }

  /** Disconnects the peer; the room lives until its node ends it. */
  async leave(): Promise<void> {
    await this.socket.request('leave');
    this.socket.webSocket.terminate();
  }
}

function isReady({ status }: ClusterPod): boolean {
  return status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false;
}

function indexOf({ metadata }: ClusterPod): number {
  return Number(metadata.labels['mediarooms.dev/index']);
}

export function basePort({ spec }: ClusterPod): number {
  return Number(spec.containers[0]?.env.find(({ name }) => name === 'SVC_WEBRTC_BASE_PORT')?.value);
}

/** Applies our CRDs, and further ones, and waits until they are effective. */
export async function applyDefinitions(server: ApiServer, more: readonly object[] = []): Promise<void> {
  const kubectl = mustKubectl(server);
  await kubectl('apply', '--server-side', '-f', 'crds/room.yaml', '-f', 'crds/mediacluster.yaml');
  if (more.length > 0) await server.apply(more);
  await kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=50s');
}

type OperatedClusterOptions = { definitions?: readonly object[]; pods?: PodRunnerOptions; operator?: ClusterOperatorOptions };

/** A control plane with our CRDs, pods as processes, and the MediaCluster controller in this process. All end with the scope. */
export async function startClusterOperator(scope: Scope, { definitions, pods, operator }: OperatedClusterOptions = {}) {
  const server = await startControlPlane(scope);
  await applyDefinitions(server, definitions);
  const runner = await startPodRunner(server, pods);
  return { server, runner, operator: await ClusterOperator.start(server, operator) };
}
