// Shared resources of the pods of a cluster: Secrets, configuration files and cluster-wide objects.
import type { KubeClient } from '../kube/client.ts';
import type { ConditionReason } from '../kube/conditions.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import type { ClusterContext, IpFamily, PortRange } from './cluster-context.ts';
import { type ConfigFiles, configFiles, configObjects } from './config-files.ts';
import { sharedObjects, specProblems } from './desired.ts';
import { namesOf } from './names.ts';
import type { ClusterStores, ObservedService } from './observed-objects.ts';
import type { StoredCluster } from './owned.ts';
import type { OwnedObjects } from './owned-objects.ts';
import type { PodIndexes } from './pods/pod-indexes.ts';
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
  /** Optional kinds that the API server supports; they may appear later. */
  stores: Pick<ClusterStores, 'serviceMonitors' | 'httpRoutes'>;
};

export type SharedResourcesResult = {
  facts: ClusterContext;
  files: Files;
  rotation: RotationState;
  problems: ConditionReason[];
  /** Names (`Kind name`) of the desired objects. */
  wanted: Set<string>;
  /** Whether the inputs that pods read at startup exist: the address family of the headless Service and the generated Secrets. */
  ready: boolean;
};

export class SharedResources {
  readonly #options: SharedResourcesOptions;

  constructor(options: SharedResourcesOptions) {
    this.#options = options;
  }

  /** `confirmed`: whether all nodes have loaded these files. @throws KubeError if the API server is unavailable */
  async reconcile(
    client: Client,
    cluster: StoredCluster,
    livePorts: readonly PortRange[],
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
      livePorts,
      secrets: read,
      ...(indexes.nodePortRange ? { nodePortRange: indexes.nodePortRange } : {}),
    };
    const problems = [...specProblems(cluster, facts), ...('problems' in files ? files.problems : [])];
    if (rotation.problem) problems.push(rotation.problem);
    const wanted = new Set<string>();
    // First, because pods mount them.
    if (!('problems' in files)) await this.#apply(client, cluster, configObjects(cluster, files), wanted, problems);
    const applied = await this.#apply(client, cluster, sharedObjects(cluster, facts), wanted, problems);
    const headless = applied.get(`Service ${namesOf(cluster.metadata.name).nodes}`) as ObservedService | undefined;
    const family = headless?.spec?.ipFamilies?.[0] as IpFamily | undefined;
    const { apiTokens, secretKeys, cookie, certificates = cookie } = secretsOf(cluster);
    const ready = headless !== undefined && [apiTokens, secretKeys, cookie, certificates].every((name) => read.has(name));
    return {
      facts: { ...facts, ...(family ? { ipFamily: family } : {}) },
      files,
      rotation,
      problems,
      wanted,
      ready,
    };
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
