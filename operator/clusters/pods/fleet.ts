// Pods of a cluster: observes them, computes the desired number and performs the steps of the rollout plan.
import { eachOf } from '../../each-of.ts';
import type { ConditionReason } from '../../kube/conditions.ts';
import type { Stored } from '../../kube/objects.ts';
import { disruptionBudget } from '../auxiliary-objects.ts';
import type { ConfigFiles } from '../config-files.ts';
import { slotObjects } from '../desired.ts';
import { container, indexCount, indexLimit, indexOf, nodePorts } from '../names.ts';
import type { ObservedPod } from '../observed-objects.ts';
import type { StoredCluster } from '../owned.ts';
import type { OwnedObjects } from '../owned-objects.ts';
import { ClusterScaler } from '../scaling/cluster-scaler.ts';
import { isBusy } from '../scaling/drain.ts';
import { planRollout, type RolloutPlan } from '../scaling/rollout.ts';
import { defaultSurgeTimeout, RolloutTurns, rolloutPolicy } from '../scaling/rollout-policy.ts';
import { isSigned } from '../secrets/signed-calls.ts';
import type { Files } from '../shared-resources.ts';
import { type ConfigHolder, hasFiles, hasSecrets } from '../status/config-state.ts';
import { asConditionMessage, type PodReport } from '../status/status.ts';
import { type HostMonitor, type OnCordon, replacementTimeoutMs } from './hosts.ts';
import { drainTimeoutMs } from './node-env.ts';
import type { NodePoll, PollTarget } from './node-poll.ts';
import { isReady, podSnapshot } from './observe-pod.ts';
import { specHash, templateHash } from './pod.ts';
import type { PodOperations, Pods, ReconcileContext } from './pod-operations.ts';
import { nodeSnapshot, type PodSnapshot } from './pod-snapshot.ts';
import { SurgeMonitor } from './surge-monitor.ts';

/** Pause before a pod is created after a failure, doubled each time, and the time without failures that resets it; milliseconds. */
const firstFailurePause = 1_000;
const maxFailurePauseMs = 60_000;
const failureMemory = 300_000;
/** Pods that are drained side by side. */
const drainWidth = 16;

export type FleetOptions = {
  operations: PodOperations;
  poll: NodePoll;
  hosts: HostMonitor;
  objects: OwnedObjects;
  /** Monotonic milliseconds. */
  now: () => number;
  clock: () => Date;
};

export type FleetState = {
  seen: PodReport[];
  desired: number;
  /** Changes in progress. */
  progress: ConditionReason[];
  problems: ConditionReason[];
  /** Why pods of an older template stay. */
  held: ConditionReason | undefined;
};

export class Fleet {
  readonly #options: FleetOptions;
  readonly #scaler: ClusterScaler;
  readonly #failures = new Map<string, { times: number; until: number; message: string }>();
  readonly #turns = new RolloutTurns();
  readonly #surges: SurgeMonitor;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#scaler = new ClusterScaler(options.now);
    this.#surges = new SurgeMonitor(options.now);
  }

  /** Observes the pods and polls their nodes from now on. */
  watch(key: string, cluster: StoredCluster, quick: boolean): Pods {
    const pods = this.#options.operations.pods(cluster);
    const targets = [...pods.values()].flatMap((pod): PollTarget[] => {
      const url = urlOf(pod);
      return url === undefined || this.#isLost(pod)
        ? []
        : [{ uid: pod.metadata.uid, url, signed: isSigned(cluster, pod), ready: isReady(pod) }];
    });
    this.#options.poll.watch(key, targets, quick);
    return pods;
  }

  /** Polls their nodes now, in addition to the interval. */
  pollNow(key: string): Promise<void> {
    return this.#options.poll.round(key);
  }

  /** Pods with running nodes and their latest reports, which must have loaded the configuration. */
  holders(key: string, pods: Pods, ending: boolean): ConfigHolder[] {
    return [...pods.values()].flatMap((pod): ConfigHolder[] => {
      const runs = pod.status?.phase === 'Running' && pod.status.containerStatuses?.some(({ state }) => state?.running);
      if (!runs || this.#isLost(pod) || (!ending && pod.metadata.deletionTimestamp !== undefined)) return [];
      return [{ name: pod.metadata.name, health: this.#options.poll.report(key, pod.metadata.uid)?.health }];
    });
  }

  /** Whether every running node, also one that is terminating, has loaded the keys of these files. */
  haveKeys(key: string, pods: Pods, files: ConfigFiles): boolean {
    return this.holders(key, pods, true).every(({ health }) => health !== undefined && hasSecrets(health.config, files));
  }

  /** Performs one step for all pods. @throws KubeError if the API server is unavailable */
  async step(context: ReconcileContext, pods: Pods, files: Files): Promise<FleetState> {
    const { key, cluster, facts } = context;
    const template = templateHash(cluster, facts);
    const seen = this.#observe(key, pods, template, cluster);
    const snapshots = seen.map((each) => each.facts);
    const desired = this.#scaler.desired(key, cluster, snapshots);
    const surge = this.#observeSurge(context, template, snapshots);
    const policy = rolloutPolicy({
      rollout: cluster.spec.rollout,
      desired,
      pods: snapshots,
      surgeTimedOut: surge.timedOut,
      takeTurn: (needed) => this.#turns.take(key, needed),
    });
    const plan = planRollout({
      desired,
      indexes: indexCount(cluster),
      foreignIndexes: this.#options.operations.takenIndexes(cluster),
      pods: snapshots,
      policy,
      replacementTimedOut: (pod) =>
        (this.#options.hosts.leavingSince(pods.get(pod.uid)?.spec?.nodeName ?? '', onCordonOf(cluster)) ?? 0) >= replacementTimeoutMs,
    });
    const state: FleetState = { seen, desired, progress: surge.progress, problems: this.#problemsOf(seen, pods, plan), held: policy.held };
    await this.#replaceFailedAndCreate(context, pods, plan, files, state);
    await this.#drainAndKeep(context, pods, plan, state);
    await this.#protect(context, state);
    await this.#mark(context, pods, files, state);
    await this.#repair(context, pods, state);
    this.#options.operations.retain(key, pods);
    return state;
  }

  /** Milliseconds until an unresponsive Kubernetes node counts as lost; undefined if none is unhealthy. */
  nextLoss(pods: Pods): number | undefined {
    const hosts = new Set([...pods.values()].flatMap((pod) => pod.spec?.nodeName ?? []));
    const waits = [...hosts].flatMap((host) => this.#options.hosts.timeUntilLost(host) ?? []).filter((ms) => ms > 0);
    return waits.length > 0 ? Math.min(...waits) : undefined;
  }

  forget(key: string): void {
    this.#scaler.forget(key);
    this.#failures.delete(key);
    this.#turns.take(key, false);
    this.#surges.forget(key);
    this.#options.operations.retain(key, new Map());
    this.#options.poll.forget(key);
  }

  #isLost(pod: Stored<ObservedPod>): boolean {
    const host = pod.spec?.nodeName;
    return host !== undefined && this.#options.hosts.timeUntilLost(host) === 0;
  }

  #observe(key: string, pods: Pods, template: string, cluster: StoredCluster): PodReport[] {
    const { hosts, poll } = this.#options;
    const context = {
      templateHash: template,
      specHash: specHash(cluster),
      image: cluster.spec.image,
      lost: (host: string) => hosts.timeUntilLost(host) === 0,
      leaving: (host: string) => hosts.leavingSince(host, onCordonOf(cluster)) !== undefined,
      indexes: indexLimit(cluster),
      unpolled: (uid: string) => poll.neverPolled(key, uid),
      report: (uid: string) => {
        const health = poll.report(key, uid)?.health;
        return health && nodeSnapshot(health);
      },
    };
    return [...pods.values()].map((pod) => ({ pod, facts: podSnapshot(pod, context) }));
  }

  /** @returns whether the extra pod of a rollout timed out, and the message for users */
  #observeSurge(
    { key, cluster }: ReconcileContext,
    template: string,
    pods: readonly PodSnapshot[],
  ): { timedOut: boolean; progress: ConditionReason[] } {
    const seconds = cluster.spec.rollout?.surgeTimeoutSeconds ?? defaultSurgeTimeout;
    const { waiting, timedOut } = this.#surges.observe(key, template, pods, seconds * 1000);
    if (seconds === 0 || (!timedOut && !waiting)) return { timedOut, progress: [] };
    const message = timedOut
      ? `The rollout continues without an extra pod, because no Kubernetes node had room for it within ${seconds} s.`
      : `Pod ${waiting?.name} of the new template is not scheduled; after ${seconds} s the rollout continues without an extra pod.`;
    return { timedOut, progress: [{ reason: 'NoRoomForSurge', message }] };
  }

  #problemsOf(seen: readonly PodReport[], pods: Pods, plan: RolloutPlan): ConditionReason[] {
    const problems: ConditionReason[] = plan.blocked === undefined ? [] : [{ reason: 'NoFreeIndex', message: plan.blocked }];
    const hosts = new Set(seen.filter(({ facts }) => facts.lost).map(({ facts }) => pods.get(facts.uid)?.spec?.nodeName));
    for (const host of hosts)
      problems.push({ reason: 'HostLost', message: `Kubernetes node "${host}" is unreachable; its pods are being replaced` });
    if (!this.#options.hosts.known)
      problems.push({
        reason: 'NodesNotReadable',
        message:
          'the operator has no permission to read Nodes; external addresses are unknown, and cordoned and lost Kubernetes nodes are not detected',
      });
    return problems;
  }

  async #replaceFailedAndCreate(
    context: ReconcileContext,
    pods: Pods,
    plan: RolloutPlan,
    files: Files,
    { progress, problems }: FleetState,
  ): Promise<void> {
    const { operations } = this.#options;
    let failure: string | undefined;
    for (const pod of plan.remove) {
      failure = await operations.removeFailed(context, pods, pod);
      progress.push({ reason: 'Replacing', message: `${failure} It is being replaced.` });
    }
    // The problem is among those of the Secrets.
    if (!context.canStart) return;
    const paused = this.#pauseAfterFailure(context.key, failure);
    if (paused !== undefined && plan.create.length > 0) {
      progress.push({ reason: 'Replacing', message: `${paused} The next pod is created after a pause.` });
      return;
    }
    for (const index of plan.create) {
      const problem = await operations.create(context, index, 'problems' in files ? undefined : files.hash);
      if (problem) problems.push(problem);
      else progress.push({ reason: 'Creating', message: `Creating a pod with index ${index}.` });
    }
  }

  /** Limits the rate of pods that fail as soon as they are scheduled. @returns the failure because of which to wait */
  #pauseAfterFailure(key: string, message: string | undefined): string | undefined {
    const now = this.#options.now();
    let known = this.#failures.get(key);
    if (message !== undefined) {
      const times = known && now - known.until < failureMemory ? known.times + 1 : 0;
      known = { times, until: now + Math.min(firstFailurePause * 2 ** times, maxFailurePauseMs), message };
      this.#failures.set(key, known);
    }
    return known && known.until > now ? known.message : undefined;
  }

  async #drainAndKeep(context: ReconcileContext, pods: Pods, plan: RolloutPlan, { seen, progress, held }: FleetState): Promise<void> {
    const { operations } = this.#options;
    const messages = new Map<PodSnapshot, string | undefined>();
    // Side by side, because a node that does not respond delays its own drain only.
    await eachOf(plan.drain, drainWidth, async ({ pod, reason }) => {
      messages.set(pod, await operations.drain(context, pods, pod, reason, drainTimeoutMs(context.cluster, reason)));
    });
    for (const { pod } of plan.drain) {
      const message = messages.get(pod);
      if (message) progress.push({ reason: 'Draining', message });
      const entry = seen.find(({ facts }) => facts === pod);
      if (entry) entry.message = message;
    }
    for (const pod of plan.keep) {
      const message = await operations.cancelDrain(context, pods, pod);
      if (message) progress.push({ reason: 'CallingBack', message });
      else if (!pod.ready) progress.push({ reason: 'Starting', message: `Pod ${pod.name} is not ready yet.` });
      else if (!pod.current && !held)
        progress.push({ reason: 'RollingOut', message: `Pod ${pod.name} will be replaced by a pod of the new template.` });
      else if (pod.leaving)
        progress.push({
          reason: 'HostLeaving',
          message: `Pod ${pod.name} will be removed from its Kubernetes node when a replacement is ready.`,
        });
    }
    for (const { facts } of seen) if (facts.ending) progress.push({ reason: 'Ending', message: `Pod ${facts.name} is terminating.` });
  }

  /** Before pods get the busy label, and after it is removed: the budget must never be lower than the number of busy pods. */
  async #protect({ client, cluster }: ReconcileContext, { seen, problems }: FleetState): Promise<void> {
    const now = this.#options.clock().getTime();
    // The budget does not count pods that are terminating.
    const busy = seen.filter(({ facts }) => !facts.ending && (facts.busyLabel || isBusy(facts, now)));
    const applied = await this.#options.objects.apply(client, cluster, disruptionBudget(cluster, busy.length));
    if ('problem' in applied) problems.push(applied.problem);
  }

  async #mark(context: ReconcileContext, pods: Pods, files: Files, { seen }: FleetState): Promise<void> {
    const { operations, poll } = this.#options;
    for (const entry of seen) {
      const pod = pods.get(entry.facts.uid);
      if (!pod || entry.facts.failed) continue;
      const health = poll.report(context.key, entry.facts.uid)?.health;
      const config =
        'problems' in files ? undefined : { hash: files.hash, effective: health !== undefined && hasFiles(health.config, files) };
      const problem = await operations.mark(context, pod, entry.facts, config);
      if (problem && !entry.facts.ready && entry.message === undefined && pod.spec?.nodeName)
        entry.message = asConditionMessage(problem.message);
      if (!health && entry.facts.ready) entry.message ??= poll.error(context.key, entry.facts.uid);
    }
  }

  /** Restores Services and claims of current pods, which a user may have changed or deleted. */
  async #repair({ client, cluster }: ReconcileContext, pods: Pods, { seen, problems }: FleetState): Promise<void> {
    for (const { facts } of seen) {
      const pod = pods.get(facts.uid);
      const basePort = pod && basePortOf(pod);
      if (basePort === undefined || !facts.current || facts.failed) continue;
      const { media, others } = slotObjects(cluster, { index: facts.index, basePort });
      for (const object of media ? [media, ...others] : others) {
        const applied = await this.#options.objects.apply(client, cluster, object);
        if ('problem' in applied) problems.push(applied.problem);
      }
    }
  }
}

function onCordonOf({ spec }: StoredCluster): OnCordon {
  return spec.drain?.node?.onCordon ?? 'drain';
}

/** URL of the REST API of a pod; undefined while it has no address. */
export function urlOf({ status }: ObservedPod): string | undefined {
  const ip = status?.podIP;
  if (!ip) return undefined;
  return `http://${ip.includes(':') ? `[${ip}]` : ip}:${nodePorts.http}`;
}

type WithEnv = { spec?: { containers?: { name: string; env?: { name: string; value?: string }[] }[] } };

/** First media port with which a pod was created. */
export function basePortOf(pod: ObservedPod): number | undefined {
  const env = (pod as WithEnv).spec?.containers?.find(({ name }) => name === container)?.env;
  const text = env?.find(({ name }) => name === 'SVC_WEBRTC_BASE_PORT')?.value ?? '';
  return /^\d{1,5}$/.test(text) ? Number(text) : undefined;
}

/** Indexes whose Services must stay: a pod of an older template may need a Service that the spec no longer contains. */
export function retainedIndexes(pods: Pods): Set<number> {
  return new Set([...pods.values()].map((pod) => indexOf(pod) ?? -1));
}
