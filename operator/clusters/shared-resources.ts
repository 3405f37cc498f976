// Shared resources of the pods of a cluster: Secrets, configuration files and cluster-wide objects.
import type { KubeClient } from '../kube/client.ts';
import type { ConditionReason } from '../kube/conditions.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import { isControlledBy } from '../kube/objects.ts';
import type { ClusterContext, IpFamily } from './cluster-context.ts';
import { type ConfigFiles, configFiles, configObjects } from './config-files.ts';
import { sharedObjects, specProblems } from './desired.ts';
import { cookieKey, namesOf } from './names.ts';
import type { ClusterStores, ObservedService, OptionalKind } from './observed-objects.ts';
import { namespaceOf, type StoredCluster } from './owned.ts';
import type { OwnedObjects } from './owned-objects.ts';
import type { PodIndexes } from './pods/pod-indexes.ts';
import { ClusterCookies } from './secrets/cluster-cookie.ts';
import type { ClusterSecrets, RotationState } from './secrets/cluster-secrets.ts';
import { secretsOf } from './secrets/secret-values.ts';

type Client = Pick<KubeClient, 'apply' | 'create' | 'delete' | 'find' | 'patch'>;
export type Files = ConfigFiles | { problems: ConditionReason[] };

export type SharedResourcesOptions = {
  secrets: ClusterSecrets;
  objects: OwnedObjects;
  indexes: PodIndexes;
  recorder: Pick<EventRecorder, 'emit'>;
  image: string;
  clusterDomain: string;
  /** Optional kinds that the API server supports; they may appear later. Configuration files are in `configMaps` and `secrets`. */
  stores: Pick<ClusterStores, OptionalKind | 'configMaps' | 'secrets' | 'services'>;
};

export type SharedResourcesResult = {
  facts: ClusterContext;
  files: Files;
  rotation: RotationState;
  problems: ConditionReason[];
  /** Names (`Kind name`) of the desired objects. */
  wanted: Set<string>;
  /** Whether the Ingress is as desired; a rejected change leaves one that names earlier Services. */
  routed: boolean;
  /** Whether the Services exist whose address families pods need. */
  ready: boolean;
  /** Whether new pods find everything that they mount; else they wait for a Secret of the user. */
  canStart: boolean;
};

export class SharedResources {
  readonly #options: SharedResourcesOptions;
  readonly #cookies = new ClusterCookies();

  constructor(options: SharedResourcesOptions) {
    this.#options = options;
  }

  /**
   * `live`: ports and indexes of existing pods; `hasPods`: also pods that end; `confirmed`: whether all nodes have loaded these files.
   * @throws KubeError if the API server is unavailable
   */
  async reconcile(
    client: Client,
    cluster: StoredCluster,
    { hasPods, ...live }: Pick<ClusterContext, 'livePorts' | 'spareIndexes'> & { hasPods: boolean },
    confirmed: (files: ConfigFiles) => boolean,
  ): Promise<SharedResourcesResult> {
    const { secrets, recorder, stores, image, clusterDomain, indexes } = this.#options;
    const made = await secrets.make(client, cluster);
    if (made.length > 0)
      recorder.emit(cluster, 'Normal', 'SecretsMade', 'Create', `Created ${made.map((name) => `Secret ${name}`).join(' and ')}.`);
    const certified = await secrets.certify(client, cluster);
    if (certified !== undefined) recorder.emit(cluster, 'Normal', 'CertificatesMade', 'Certify', certified);
    const before = configFiles(cluster, { secrets: secrets.read(cluster) });
    const rotation = await secrets.rotate(client, cluster, !('problems' in before) && confirmed(before));
    if (rotation.changed && rotation.message) recorder.emit(cluster, 'Normal', 'KeysRotate', 'Rotate', rotation.message);
    const read = secrets.read(cluster);
    const files = rotation.changed ? configFiles(cluster, { secrets: read }) : before;
    const facts: ClusterContext = {
      image,
      clusterDomain,
      serviceMonitors: stores.serviceMonitors !== undefined,
      httpRoutes: stores.httpRoutes !== undefined,
      tlsRoutes: stores.tlsRoutes !== undefined,
      ingressRouteTcps: stores.ingressRouteTcps !== undefined,
      ...live,
      secrets: read,
      ...(indexes.nodePortRange ? { nodePortRange: indexes.nodePortRange } : {}),
    };
    const problems = [...specProblems(cluster, facts), ...('problems' in files ? files.problems : [])];
    if (rotation.problem) problems.push(rotation.problem);
    const wanted = new Set<string>();
    // First, because pods mount them.
    const configs = 'problems' in files ? [] : await this.#configObjects(client, cluster, files, hasPods, problems);
    const written = await this.#apply(client, cluster, configs, wanted, problems);
    const { certificates } = secretsOf(cluster);
    const canStart =
      (certificates === undefined || read.has(certificates)) &&
      (written.size > 0 ? written.size === configs.length : this.#hasFiles(cluster));
    const applied = await this.#apply(client, cluster, sharedObjects(cluster, facts), wanted, problems);
    const { nodes, api, ingress } = namesOf(cluster.metadata.name);
    const ingressName = `Ingress ${ingress}`;
    const headless = applied.get(`Service ${nodes}`) as ObservedService | undefined;
    const family = headless?.spec?.ipFamilies?.[0] as IpFamily | undefined;
    // A rejected change leaves the present families.
    const reached = (applied.get(`Service ${api}`) ?? stores.services.get(`${namespaceOf(cluster)}/${api}`)) as ObservedService | undefined;
    const dualStack = (reached?.spec?.ipFamilies?.length ?? 1) > 1;
    return {
      facts: { ...facts, ...(family ? { ipFamily: family } : {}), ...(dualStack ? { dualStack } : {}) },
      files,
      rotation,
      problems,
      wanted,
      routed: applied.has(ingressName) === wanted.has(ingressName),
      // Without the families, a pod of the wrong template would be created.
      ready: headless !== undefined && (cluster.spec.services === undefined || reached !== undefined),
      canStart,
    };
  }

  /** Drops the state of a deleted cluster. */
  forget(uid: string): void {
    this.#cookies.forget(uid);
  }

  async #configObjects(client: Client, cluster: StoredCluster, files: ConfigFiles, hasPods: boolean, problems: ConditionReason[]) {
    const { cookie, problem } = await this.#cookies.choose(client, cluster, files.cookie, hasPods);
    if (problem) problems.push(problem);
    return configObjects(cluster, files, cookie);
  }

  /** Whether all files of an earlier reconcile exist, with which pods can start. An operator before 0.8 wrote no cookie. */
  #hasFiles(cluster: StoredCluster): boolean {
    const { configMaps, secrets } = this.#options.stores;
    const key = `${namespaceOf(cluster)}/${namesOf(cluster.metadata.name).config}`;
    const stored = [configMaps.get(key), secrets.get(key)];
    return (
      stored.every((object) => object !== undefined && isControlledBy(object, cluster.metadata.uid)) &&
      secrets.get(key)?.data?.[cookieKey] !== undefined
    );
  }

  async #apply(
    client: Client,
    cluster: StoredCluster,
    objects: ReturnType<typeof sharedObjects>,
    wanted: Set<string>,
    problems: ConditionReason[],
  ): Promise<Map<string, unknown>> {
    const stored = new Map<string, unknown>();
    for (const object of objects) {
      const name = `${object.kind} ${object.metadata.name}`;
      wanted.add(name);
      const applied = await this.#options.objects.apply(client, cluster, object);
      if ('problem' in applied) problems.push(applied.problem);
      else stored.set(name, applied.stored);
    }
    return stored;
  }
}
