// Fixture for tests of the operator: control plane, pods as processes, the operator, and one MediaCluster that is Available.
import { type ApiClient, apiClient } from '../answers/api-client.ts';
import { eventually } from '../eventually.ts';
import type { ApiServer } from './api-server.ts';
import { type ControlPlaneOptions, startControlPlane } from './control-plane.ts';
import { type OperatorOptions, type OperatorProcess, startOperator } from './operator-process.ts';
import { type PodRunner, type PodRunnerOptions, startPodRunner } from './pods/pod-runner.ts';
import { type Kind, readObject, readObjects } from './read-objects.ts';
import type { Scope } from './scope.ts';

export type MediaStageOptions = {
  /** spec of the MediaCluster `media`; one replica with drains of 5 s if omitted. */
  spec?: Record<string, unknown>;
  plane?: ControlPlaneOptions;
  pods?: PodRunnerOptions;
  operator?: OperatorOptions;
};

// biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes as a test looks at them.
export type KubeJson = any;

export class ClusterFixture {
  readonly server: ApiServer;
  readonly runner: PodRunner;
  operator: OperatorProcess;

  constructor(server: ApiServer, runner: PodRunner, operator: OperatorProcess) {
    this.server = server;
    this.runner = runner;
    this.operator = operator;
  }

  /** kubectl as a user. @throws with its message */
  async kubectl(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.server.kubectl(args);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  }

  /** @returns undefined if it does not exist */
  get(kind: Kind, name: string, namespace = 'default'): Promise<KubeJson> {
    return readObject(this.server, kind, name, namespace);
  }

  list(kind: Kind, namespace = 'default'): Promise<KubeJson[]> {
    return readObjects(this.server, kind, namespace);
  }

  room(name: string, spec: Record<string, unknown> = {}, namespace = 'default') {
    return { apiVersion: 'mediarooms.dev/v1alpha2', kind: 'Room', metadata: { name, namespace }, spec };
  }

  /** Applies a Room and waits until it is Ready. */
  async makeRoom(name: string, spec: Record<string, unknown> = {}): Promise<KubeJson> {
    await this.server.apply(this.room(name, spec));
    return this.waitFor('rooms', name, isReady);
  }

  /** Polls until the object matches. @throws with its last state, and the end of the log of the operator */
  async waitFor(kind: Kind, name: string, is: (object: KubeJson) => boolean, withinMs = 60_000, namespace = 'default'): Promise<KubeJson> {
    let found: KubeJson;
    const look = async () => {
      found = await this.get(kind, name, namespace);
      return is(found);
    };
    const state = () => `${kind} ${name} matches: ${JSON.stringify(found, null, 1)}\n${this.operator.output.slice(-4_000)}`;
    await eventually(state, look, { within: withinMs });
    return found;
  }

  async adminToken(cluster = 'media'): Promise<string> {
    const secret = await this.get('secrets', `${cluster}-api-tokens`);
    return Buffer.from(secret.data.admin, 'base64').toString();
  }

  /** REST client of a pod, at the address that the operator uses. */
  async api(pod: string): Promise<ApiClient> {
    const { podIP } = this.runner.pod(pod).status ?? {};
    return apiClient(`http://${podIP}:8080`, await this.adminToken());
  }
}

export function condition(object: KubeJson, type: string): KubeJson {
  return object?.status?.conditions?.find((each: KubeJson) => each.type === type);
}

export function isReady(object: KubeJson): boolean {
  const ready = condition(object, 'Ready');
  return ready?.status === 'True' && ready.observedGeneration === object.metadata.generation;
}

/** For the current spec; conditions of an earlier generation do not count. */
export function isAvailable(object: KubeJson): boolean {
  const [available, progressing] = ['Available', 'Progressing'].map((type) => condition(object, type));
  return available?.status === 'True' && progressing?.status !== 'True' && available.observedGeneration === object.metadata.generation;
}

/** Everything ends with the scope. */
export async function startClusterFixture(scope: Scope, options: MediaStageOptions = {}): Promise<ClusterFixture> {
  const server = await startControlPlane(scope, options.plane);
  const runner = await startPodRunner(server, options.pods);
  const stage = new ClusterFixture(server, runner, startOperator(scope, server, options.operator));
  await stage.operator.says(/started leading/);
  await server.apply(mediaCluster('media', options.spec));
  await stage.waitFor('mediaClusters', 'media', isAvailable, 60_000);
  return stage;
}

export function mediaCluster(name: string, spec: Record<string, unknown> = {}, namespace = 'default') {
  return {
    apiVersion: 'mediarooms.dev/v1alpha1',
    kind: 'MediaCluster',
    metadata: { name, namespace },
    spec: { replicas: 1, drain: { timeoutSeconds: 5 }, config: { componentsUsed: ['file'] }, ...spec },
  };
}
