// Fixture for tests of the operator: control plane, pods as processes, the operator, and one MediaCluster that is Available.
import { type ApiClient, apiClient } from '../answers/api-client.ts';
import { eventually } from '../eventually.ts';
import type { ApiServer } from './api-server.ts';
import { type ControlPlaneOptions, startControlPlane } from './control-plane.ts';
import { mustKubectl } from './kubectl.ts';
import { type OperatorOptions, type OperatorProcess, startOperator } from './operator-process.ts';
import { type PodRunner, startPodRunner } from './pods/pod-runner.ts';
import { changesOf, condition, type Kind, type KubeJson, mediaCluster, readObject, readObjects, readSecret, room } from './read-objects.ts';
import type { Scope } from './scope.ts';

export type OperatorFixtureOptions = { plane?: ControlPlaneOptions; operator?: OperatorOptions };

/** Besides changes of objects, because a watch may be interrupted. */
const pollInterval = 500;

export class ClusterFixture {
  readonly server: ApiServer;
  readonly runner: PodRunner;
  operator: OperatorProcess;
  /** kubectl as a user. @throws with its message */
  readonly kubectl: (...args: string[]) => Promise<string>;

  constructor(server: ApiServer, runner: PodRunner, operator: OperatorProcess) {
    this.server = server;
    this.runner = runner;
    this.operator = operator;
    this.kubectl = mustKubectl(server);
  }

  /** @returns undefined if it does not exist */
  get(kind: Kind, name: string, namespace = 'default'): Promise<KubeJson> {
    return readObject(this.server, kind, name, namespace);
  }

  list(kind: Kind, namespace = 'default'): Promise<KubeJson[]> {
    return readObjects(this.server, kind, namespace);
  }

  /** Values of a Secret; empty if it does not exist. */
  async secret(name: string): Promise<Record<string, string>> {
    return (await readSecret(this.server, name)) ?? {};
  }

  /** Applies a Room and waits until it is Ready. */
  async makeRoom(name: string, spec: Record<string, unknown> = {}): Promise<KubeJson> {
    await this.server.apply(room(name, spec));
    return this.waitFor('rooms', name, isReady);
  }

  /** Waits until the object matches. @throws with its last state, and the end of the log of the operator */
  async waitFor(kind: Kind, name: string, is: (object: KubeJson) => boolean, withinMs = 60_000, namespace = 'default'): Promise<KubeJson> {
    let found: KubeJson;
    const check = async () => {
      found = await this.get(kind, name, namespace);
      return is(found);
    };
    const state = () => `${kind} ${name} matches: ${JSON.stringify(found, null, 1)}\n${this.operator.output.slice(-4_000)}`;
    await eventually(state, check, { within: withinMs, every: pollInterval, wakes: changesOf(this.server, kind) });
    return found;
  }

  /** REST client of a pod of a MediaCluster, at the address that the operator uses. */
  async api(pod: string, cluster = 'media'): Promise<ApiClient> {
    const { podIP } = this.runner.pod(pod).status ?? {};
    return apiClient(`http://${podIP}:8080`, (await this.secret(`${cluster}-api-tokens`)).admin);
  }
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

/** The operator leads; no MediaCluster exists. Everything ends with the scope. */
export async function startOperatorFixture(scope: Scope, options: OperatorFixtureOptions = {}): Promise<ClusterFixture> {
  const server = await startControlPlane(scope, options.plane);
  const runner = await startPodRunner(server);
  const fixture = new ClusterFixture(server, runner, startOperator(scope, server, options.operator));
  await fixture.operator.says(/started leading/);
  return fixture;
}

/** The MediaCluster `media` is Available. `spec`: changes to that of `smallCluster`. */
export async function startClusterFixture(
  scope: Scope,
  { spec, ...options }: OperatorFixtureOptions & { spec?: object } = {},
): Promise<ClusterFixture> {
  const fixture = await startOperatorFixture(scope, options);
  await fixture.server.apply(smallCluster('media', spec));
  await fixture.waitFor('mediaClusters', 'media', isAvailable);
  return fixture;
}

/** A MediaCluster of one replica with short drains. */
export function smallCluster(name: string, spec: object = {}, namespace = 'default') {
  return mediaCluster(name, { replicas: 1, drain: { timeoutSeconds: 5 }, config: { componentsUsed: ['file'] }, ...spec }, namespace);
}
