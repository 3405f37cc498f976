// Pod operations of the rollout plan: creates, drains and removes pods, cancels drains, and updates annotations and labels.

import { messageOf } from '../../error-message.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { ConditionReason } from '../../kube/conditions.ts';
import type { EventRecorder } from '../../kube/event-recorder.ts';
import { isAlreadyExists, isUnavailable, KubeError } from '../../kube/http/kube-error.ts';
import { isControlledBy, keyOf, resources, type Stored } from '../../kube/objects.ts';
import { cacheLagMs } from '../../kube/store.ts';
import type { Log } from '../../log.ts';
import { isAdoptable } from '../adoption.ts';
import type { ClusterContext } from '../cluster-context.ts';
import { annotation, indexOf, label, namesOf } from '../names.ts';
import { announcedAddress } from '../network/exposure.ts';
import { podDnsAnnotations } from '../network/external-dns.ts';
import type { ClusterStores, ObservedPod } from '../observed-objects.ts';
import { namespaceOf, type StoredCluster } from '../owned.ts';
import { cancelStep, drainStep, drainText, evictionAnnotations, isBusy } from '../scaling/drain.ts';
import { nodeName } from '../status/status.ts';
import type { HostMonitor } from './hosts.ts';
import type { NodeApi, NodePoll } from './node-poll.ts';
import { pod as podOf } from './pod.ts';
import { failureText } from './pod-failure.ts';
import type { PodIndexes } from './pod-indexes.ts';
import type { DrainReason, PodSnapshot } from './pod-snapshot.ts';

/** Delay before the kubelet is notified again of files that a node has not loaded, in milliseconds. Doubles: nodes may reject them. */
const retouchAfter = 5_000;
const maxRetouchMs = 60_000;
/** How long a name in use is skipped, in milliseconds. */
const takenFor = 60_000;
/** Grace period of a pod whose drain timed out, in seconds: its termination must not restart the drain timeout. */
const lastSeconds = 30;

export type PodOperationsOptions = {
  stores: ClusterStores;
  indexes: PodIndexes;
  hosts: HostMonitor;
  poll: NodePoll;
  recorder: Pick<EventRecorder, 'emit'>;
  log: Log;
  /** Monotonic milliseconds. */
  now: () => number;
  clock: () => Date;
};

/** Written hash, its time and number of repetitions. */
type Touch = { hash: string; at: number; times: number };

/** Context of one reconcile of one cluster. `canStart`: whether new pods find the files that they mount. */
export type ReconcileContext = {
  key: string;
  client: KubeClient;
  cluster: StoredCluster;
  facts: ClusterContext;
  canStart: boolean;
  signal: AbortSignal;
};
export type Pods = ReadonlyMap<string, Stored<ObservedPod>>;

export class PodOperations {
  readonly #options: PodOperationsOptions;
  readonly #made = new Map<string, { pod: Stored<ObservedPod>; at: number }>();
  readonly #taken = new Map<string, { cluster: string; index: number; until: number }>();
  /** By cluster and pod. */
  readonly #touched = new Map<string, Map<string, Touch>>();

  constructor(options: PodOperationsOptions) {
    this.#options = options;
  }

  /** Owned pods by uid, including those just created that are not in the cache yet. */
  pods(cluster: StoredCluster): Map<string, Stored<ObservedPod>> {
    const { stores, now } = this.#options;
    const mine = (pod: Stored<ObservedPod>) =>
      pod.metadata.namespace === cluster.metadata.namespace && isControlledBy(pod, cluster.metadata.uid) && indexOf(pod) !== undefined;
    const found = new Map(
      stores.pods
        .list()
        .filter(mine)
        .map((pod) => [pod.metadata.uid, pod]),
    );
    for (const [key, { pod, at }] of this.#made) {
      if (found.has(pod.metadata.uid) || now() - at > cacheLagMs) this.#made.delete(key);
      else if (mine(pod)) found.set(pod.metadata.uid, pod);
    }
    return found;
  }

  /** Indexes whose names foreign pods use. */
  takenIndexes(cluster: StoredCluster): Set<number> {
    const now = this.#options.now();
    for (const [key, { until }] of this.#taken) if (until <= now) this.#taken.delete(key);
    return new Set([...this.#taken.values()].filter((each) => each.cluster === cluster.metadata.uid).map(({ index }) => index));
  }

  /** @returns the problem, if the pod could not be created */
  async create(context: ReconcileContext, index: number, configHash: string | undefined): Promise<ConditionReason | undefined> {
    const { client, cluster, facts } = context;
    const slot = await this.#options.indexes.make(client, cluster, index);
    if ('problem' in slot) return slot.problem;
    const made = podOf(cluster, facts, slot.slot);
    if (configHash !== undefined) made.metadata.annotations = { ...made.metadata.annotations, [annotation.configHash]: configHash };
    const { name } = made.metadata;
    try {
      const pod = await client.create<ObservedPod>(resources.pods, made as unknown as ObservedPod);
      this.#made.set(keyOf(pod), { pod, at: this.#options.now() });
      this.#emit(context, 'Normal', 'PodCreated', 'Create', `Created pod ${name}.`);
      return undefined;
    } catch (error) {
      if (isAlreadyExists(error)) return await this.#checkName(context, index, name);
      if (!(error instanceof KubeError) || error.status === 0 || isUnavailable(error)) throw error;
      this.#emit(context, 'Warning', 'PodRefused', 'Create', `Pod ${name} was rejected: ${error.message}`);
      return { reason: 'PodRefused', message: `pod "${name}" was rejected: ${error.message}` };
    }
  }

  /** Removes a pod that failed, and reports why, because its status is deleted with it. @returns the report */
  async removeFailed(context: ReconcileContext, pods: Pods, pod: PodSnapshot): Promise<string> {
    const failure = `Pod ${pod.name} failed: ${failureText(pods.get(pod.uid) ?? {}, context.facts.secrets)}`;
    this.#emit(context, 'Warning', 'PodFailed', 'Replace', failure);
    this.#options.log.warn({ pod: pod.name, cluster: context.key, failure }, 'media pod failed');
    await this.remove(context, pod, 'it failed');
    return failure;
  }

  async remove(context: ReconcileContext, pod: PodSnapshot, why: string, gracePeriodSeconds?: number): Promise<void> {
    const { client, cluster } = context;
    const options = { uid: pod.uid, ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }) };
    if (await client.delete(resources.pods, { namespace: namespaceOf(cluster), name: pod.name }, options))
      this.#emit(context, 'Normal', 'PodRemoved', 'Remove', `Removed pod ${pod.name}: ${why}.`);
  }

  /** Performs one step of a drain. @returns what it waits for */
  async drain(context: ReconcileContext, pods: Pods, pod: PodSnapshot, reason: DrainReason, timeout: number): Promise<string | undefined> {
    const now = this.#options.clock().getTime();
    const step = drainStep(pod, reason, timeout, now);
    switch (step.do) {
      case 'begin': {
        await this.#patch(context, pod, { annotations: { [annotation.drain]: drainText(step) } });
        this.#emit(context, 'Normal', 'Draining', 'Drain', `Draining pod ${pod.name} (${causes[reason]}).`);
        const seconds = Math.max(0, Math.ceil((step.deadline - now) / 1000));
        await this.#request(context, pods, pod, (calls, node) => calls.drain(node, seconds, context.signal));
        return `Pod ${pod.name} is being drained.`;
      }
      case 'ask':
        return (
          (await this.#request(context, pods, pod, (calls, node) => calls.drain(node, step.seconds, context.signal))) ??
          `Pod ${pod.name} is being drained.`
        );
      case 'remove': {
        const late = pod.drain !== undefined && now >= pod.drain.deadline;
        await this.remove(context, pod, causes[reason], late && !pod.idle ? lastSeconds : undefined);
        return `Pod ${pod.name} is terminating.`;
      }
      case 'wait':
        return `Pod ${pod.name} is being drained: ${step.message}`;
    }
  }

  /** Performs one step of cancelling the drain of a pod that stays. */
  async cancelDrain(context: ReconcileContext, pods: Pods, pod: PodSnapshot): Promise<string | undefined> {
    const step = cancelStep(pod);
    if (step === 'callBack') {
      const failure = await this.#request(context, pods, pod, (calls, node) => calls.cancelDrain(node, context.signal));
      if (failure !== undefined) return failure;
    }
    if (step === 'nothing') return pod.drain ? `The drain of pod ${pod.name} will be cancelled when its node responds.` : undefined;
    await this.#patch(context, pod, { annotations: { [annotation.drain]: null } });
    this.#emit(context, 'Normal', 'DrainCancelled', 'CallBack', `Pod ${pod.name} accepts rooms again.`);
    return undefined;
  }

  /** Patches address, configuration hash, busy label and annotations for autoscalers and external-dns if they differ. @returns why the address is not known yet */
  async mark(
    context: ReconcileContext,
    pod: Stored<ObservedPod>,
    facts: PodSnapshot,
    config: { hash: string; effective: boolean } | undefined,
  ): Promise<ConditionReason | undefined> {
    const { annotations = {}, labels = {} } = pod.metadata;
    const announced = this.#address(context, pod);
    const touch = config && this.#touch(context.key, pod, facts, config);
    const busy = isBusy(facts, this.#options.clock().getTime());
    const wanted: Record<string, string | null> = {
      ...('address' in announced ? { [annotation.mediaAddress]: announced.address } : {}),
      ...(touch === undefined ? {} : { [annotation.configHash]: touch }),
      ...podDnsAnnotations(context.cluster, facts.index, 'address' in announced ? announced.address : undefined),
      ...(busy === undefined ? {} : evictionAnnotations(busy, context.cluster.spec.podTemplate?.annotations)),
    };
    const changed = Object.entries(wanted).filter(([name, value]) => (annotations[name] ?? null) !== value);
    const relabel = busy !== undefined && busy !== (labels[label.busy] === 'true');
    if (changed.length > 0 || relabel)
      await this.#patch(context, facts, {
        ...(changed.length > 0 ? { annotations: Object.fromEntries(changed) } : {}),
        ...(relabel ? { labels: { [label.busy]: busy ? 'true' : null } } : {}),
      });
    return 'address' in announced ? undefined : announced;
  }

  /** Drops the state of all other pods of the cluster. */
  retain(key: string, pods: Pods): void {
    const touched = this.#touched.get(key);
    for (const uid of touched?.keys() ?? []) if (!pods.has(uid)) touched?.delete(uid);
    if (touched?.size === 0) this.#touched.delete(key);
  }

  /** Value of the annotation: the hash, with a counter if the kubelet must be notified again. */
  #touch(key: string, pod: Stored<ObservedPod>, facts: PodSnapshot, { hash, effective }: { hash: string; effective: boolean }): string {
    const { uid } = pod.metadata;
    const now = this.#options.now();
    const present = pod.metadata.annotations?.[annotation.configHash];
    const touched = this.#touched.get(key) ?? new Map<string, Touch>();
    this.#touched.set(key, touched);
    const before = touched.get(uid);
    const known = before?.hash === hash ? before : { hash, at: now, times: 0 };
    const again = !effective && facts.report !== undefined && now - known.at > Math.min(retouchAfter * 2 ** known.times, maxRetouchMs);
    const next = again ? { hash, at: now, times: known.times + 1 } : known;
    touched.set(uid, next);
    if (!again && (present === hash || present?.startsWith(`${hash}.`))) return present;
    return next.times === 0 ? hash : `${hash}.${next.times}`;
  }

  #address({ cluster, facts }: ReconcileContext, pod: Stored<ObservedPod>) {
    const { hosts, stores } = this.#options;
    const { podIP, podIPs, hostIP } = pod.status ?? {};
    const hostAddresses = pod.spec?.nodeName === undefined ? undefined : hosts.addresses(pod.spec.nodeName);
    const media = `${namespaceOf(cluster)}/${namesOf(cluster.metadata.name).media(indexOf(pod) ?? -1)}`;
    const loadBalancer = stores.services.get(media)?.status?.loadBalancer?.ingress;
    return announcedAddress(cluster.spec, {
      mayReadHosts: hosts.known,
      ...(podIP ? { podIP } : {}),
      ...(podIPs ? { podIPs: podIPs.map(({ ip }) => ip) } : {}),
      ...(facts.dualStack ? { dualStack: true } : {}),
      ...(hostIP ? { hostIP } : {}),
      ...(hostAddresses ? { hostAddresses } : {}),
      ...(loadBalancer ? { loadBalancer } : {}),
    });
  }

  /** Sends a drain request to the node of a pod. @returns why it failed */
  async #request(
    context: ReconcileContext,
    pods: Pods,
    facts: PodSnapshot,
    send: (calls: NodeApi, node: string) => Promise<void>,
  ): Promise<string | undefined> {
    const podIP = pods.get(facts.uid)?.status?.podIP;
    const calls = this.#options.poll.calls(context.key, facts.uid);
    if (podIP === undefined || !calls) return undefined;
    calls.resetBackoff();
    try {
      await send(calls, nodeName(podIP));
      return undefined;
    } catch (error) {
      context.signal.throwIfAborted();
      this.#options.log.info({ pod: facts.name, err: error }, 'could not start or cancel drain');
      return `The node of pod ${facts.name} could not be drained: ${messageOf(error)}`;
    } finally {
      this.#options.poll.pollSoon(context.key);
    }
  }

  async #patch({ client, cluster }: ReconcileContext, pod: PodSnapshot, metadata: Record<string, unknown>): Promise<void> {
    const ref = { namespace: namespaceOf(cluster), name: pod.name };
    try {
      await client.patch(resources.pods, ref, { metadata: { uid: pod.uid, ...metadata } });
    } catch (error) {
      // Another pod uses the name now; the next reconcile sees it.
      if (!(error instanceof KubeError && error.status === 409)) throw error;
    }
  }

  /** A pod of ours that is missing in the cache is no conflict, nor is one that will be adopted; a foreign pod keeps its name, and ours gets another index. */
  async #checkName({ client, cluster }: ReconcileContext, index: number, name: string): Promise<ConditionReason | undefined> {
    const namespace = namespaceOf(cluster);
    const there = await client.find<ObservedPod>(resources.pods, { namespace, name });
    if (!there || ((isControlledBy(there, cluster.metadata.uid) || isAdoptable(there, cluster)) && hasOurLabels(there))) return undefined;
    this.#taken.set(`${namespace}/${name}`, { cluster: cluster.metadata.uid, index, until: this.#options.now() + takenFor });
    return { reason: 'NotOurs', message: `pod "${name}" already exists and is not managed by the operator; another name is used` };
  }

  #emit({ cluster }: ReconcileContext, type: 'Normal' | 'Warning', reason: string, action: string, note: string): void {
    this.#options.recorder.emit(cluster, type, reason, action, note);
  }
}

function hasOurLabels(pod: Stored<ObservedPod>): boolean {
  return pod.metadata.labels?.['app.kubernetes.io/managed-by'] === 'mediarooms-operator' && indexOf(pod) !== undefined;
}

const causes: Record<DrainReason, string> = {
  HostDrained: 'its Kubernetes node is being drained',
  Rollout: 'a pod of the new template replaces it',
  ScaleDown: 'the number of nodes is reduced',
};
