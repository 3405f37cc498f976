// One reconcile of a MediaCluster: creates missing objects, deletes surplus ones and writes the status.
import type { MediaClusterStatus } from '../../crds/types.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/http/kube-error.ts';
import { resources } from '../kube/objects.ts';
import { writeStatus } from '../kube/status-writer.ts';
import type { Adoption } from './adoption.ts';
import { indexCount, namesOf, nodePorts } from './names.ts';
import { publicUrl } from './network/ingress.ts';
import { mediaPortsOf } from './network/ports.ts';
import type { ClusterStores } from './observed-objects.ts';
import { namespaceOf, type StoredCluster } from './owned.ts';
import type { OwnedObjects } from './owned-objects.ts';
import type { Fleet, FleetState } from './pods/fleet.ts';
import { retainedIndexes } from './pods/fleet.ts';
import type { PodOperations, Pods, ReconcileContext } from './pods/pod-operations.ts';
import { secretNames, secretsOf } from './secrets/secret-values.ts';
import type { SharedResources, SharedResourcesResult } from './shared-resources.ts';
import { configState } from './status/config-state.ts';
import { statusOf, withStableCounters } from './status/status.ts';

/** Requeue interval in milliseconds: normally, and while changes are in progress. */
const requeueMs = { usual: 5_000, quick: 1_000 };
/** Until the caches contain the new owner of adopted objects, in milliseconds. */
const adoptedRequeueMs = 100;
/** Minimum interval between status writes that only change counters, in milliseconds. */
const countingPause = 10_000;

export type ReconcilerOptions = {
  client: KubeClient;
  stores: ClusterStores;
  adoption: Adoption;
  sharedResources: SharedResources;
  fleet: Fleet;
  operations: PodOperations;
  objects: OwnedObjects;
  /** Monotonic milliseconds. */
  now: () => number;
  clock: () => Date;
};

type Remembered = { uid: string; namespace: string; quick: boolean; countedAt: number };

export class ClusterReconciler {
  readonly #options: ReconcilerOptions;
  readonly #remembered = new Map<string, Remembered>();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  async reconcile(key: string, signal: AbortSignal): Promise<{ requeueAfterMs: number } | undefined> {
    const cluster = this.#options.stores.mediaClusters.get(key);
    // The garbage collector deletes objects owned by a deleted cluster; its pods have their grace period.
    if (!cluster || cluster.metadata.deletionTimestamp !== undefined) return this.#forget(key);
    const remembered = this.#remember(key, cluster);
    const client = this.#options.client.scoped({ signal });
    const { adoption, sharedResources, fleet } = this.#options;
    await this.#readSecrets(cluster);
    if (await adoption.adopt(client, cluster)) return { requeueAfterMs: adoptedRequeueMs };
    const pods = fleet.watch(key, cluster, remembered.quick);
    const live = {
      hasPods: pods.size > 0,
      livePorts: [...pods.values()].flatMap((pod) => mediaPortsOf(pod) ?? []),
      spareIndexes: [...retainedIndexes(pods)].filter((index) => index >= indexCount(cluster)).sort((one, other) => one - other),
    };
    const shared = await sharedResources.reconcile(client, cluster, live, (files) => fleet.haveKeys(key, pods, files));
    const context: ReconcileContext = { key, client, cluster, facts: shared.facts, canStart: shared.canStart, signal };
    const state = shared.ready ? await fleet.step(context, pods, shared.files) : emptyState(cluster);
    if (shared.ready) await this.#prune(context, shared);
    const config = configState(shared.files, fleet.holders(key, pods, false));
    if (config.reason === 'Waiting') state.progress.push({ reason: 'ConfigPending', message: config.message });
    if (shared.rotation.message) state.progress.push({ reason: 'KeysRotating', message: shared.rotation.message });
    remembered.quick = state.progress.length > 0;
    await this.#writeStatus(context, shared, state, config, remembered);
    const after = Math.min(
      remembered.quick ? requeueMs.quick : requeueMs.usual,
      fleet.nextLoss(pods) ?? Number.POSITIVE_INFINITY,
      Math.max(1_000, shared.rotation.dueIn ?? Number.POSITIVE_INFINITY),
    );
    return { requeueAfterMs: after };
  }

  /** One reconcile that polls the nodes first, because no reports exist yet. */
  async once(key: string, signal: AbortSignal): Promise<void> {
    const { stores, fleet } = this.#options;
    const cluster = stores.mediaClusters.get(key);
    if (!cluster || cluster.metadata.deletionTimestamp !== undefined) return;
    await this.#readSecrets(cluster);
    fleet.watch(key, cluster, true);
    await fleet.pollNow(key);
    await this.reconcile(key, signal);
  }

  /** Later steps, and requests to the nodes, use the content that was read last. */
  async #readSecrets(cluster: StoredCluster): Promise<void> {
    const names = [...secretNames(cluster), namesOf(cluster.metadata.name).config];
    await this.#options.stores.secrets.read(namespaceOf(cluster), names);
  }

  #remember(key: string, { metadata }: StoredCluster): Remembered {
    const known = this.#remembered.get(key);
    if (known?.uid === metadata.uid) return known;
    if (known) this.#forget(key);
    const fresh = { uid: metadata.uid, namespace: metadata.namespace ?? '', quick: true, countedAt: 0 };
    this.#remembered.set(key, fresh);
    return fresh;
  }

  #forget(key: string): undefined {
    const known = this.#remembered.get(key);
    if (known) this.#options.objects.forget(known.namespace, known.uid);
    if (known) this.#options.sharedResources.forget(known.uid);
    this.#remembered.delete(key);
    this.#options.fleet.forget(key);
    return undefined;
  }

  async #prune({ client, cluster }: ReconcileContext, { wanted, routed }: SharedResourcesResult): Promise<void> {
    const { objects, operations, stores } = this.#options;
    const names = namesOf(cluster.metadata.name);
    const held: Pods = operations.pods(cluster);
    const turnNames = cluster.spec.turn?.tlsRoutes === undefined ? [] : [names.turn];
    for (const index of retainedIndexes(held))
      for (const nameOf of [names.node, names.media, ...turnNames]) wanted.add(`Service ${nameOf(index)}`);
    if (!routed) for (const { metadata } of stores.services.list()) wanted.add(`Service ${metadata.name}`);
    await objects.prune(client, cluster, wanted);
  }

  async #writeStatus(
    { client, cluster }: ReconcileContext,
    { problems, rotation }: SharedResourcesResult,
    state: FleetState,
    config: ReturnType<typeof configState>,
    remembered: Remembered,
  ): Promise<void> {
    const { metadata, spec } = cluster;
    // A poll is in progress: a status without it would be corrected immediately.
    if (state.seen.some(({ facts }) => facts.unpolled)) return;
    const full = statusOf({
      cluster,
      pods: state.seen,
      desired: state.desired,
      config,
      progress: state.progress,
      problems: [...problems, ...state.problems],
      held: state.held,
      keyGeneration: rotation.generation,
      adminTokenSecret: secretsOf(cluster).apiTokens,
      url: publicUrl(spec) ?? `http://${namesOf(metadata.name).api}.${namespaceOf(cluster)}.svc:${nodePorts.http}`,
      now: this.#options.clock(),
    });
    const now = this.#options.now();
    const counts = now - remembered.countedAt >= countingPause;
    const status: MediaClusterStatus = counts ? full : withStableCounters(full, cluster.status);
    try {
      const written = await writeStatus(client, resources.mediaClusters, cluster, status);
      if (written && counts) remembered.countedAt = now;
    } catch (error) {
      // It was deleted or replaced by another object of that name; the next reconcile sees which.
      if (!(error instanceof KubeError && (error.status === 404 || error.status === 409))) throw error;
    }
  }
}

/** State if even the headless Service could not be created. */
function emptyState({ spec, status }: StoredCluster): FleetState {
  return { seen: [], desired: spec.replicas ?? status?.desiredReplicas ?? 1, progress: [], problems: [], held: undefined };
}
