// Status of a MediaCluster, computed from its pods. Pure.
import { mediaClusterConditions } from '../../../crds/condition-reasons.ts';
import type { MediaClusterStatus } from '../../../crds/types.ts';
import { type Condition, type ConditionReason, type Convergence, setCondition, setConvergence } from '../../kube/conditions.ts';
import type { Stored } from '../../kube/objects.ts';
import type { MediaCluster } from '../../objects.ts';
import { annotation, podSelector, selectorText } from '../names.ts';
import type { ObservedPod } from '../observed-objects.ts';
import { notReadyReason } from '../pods/observe-pod.ts';
import type { PodSnapshot } from '../pods/pod-snapshot.ts';
import type { ConfigState } from './config-state.ts';

export type PodReport = { pod: Stored<ObservedPod>; facts: PodSnapshot; message?: string | undefined };

/** Maximum of messages in one condition. */
const maxMessages = 20;

export type StatusInput = {
  cluster: Stored<MediaCluster>;
  pods: readonly PodReport[];
  desired: number;
  config: ConfigState;
  /** Changes in progress; empty if the cluster matches the spec. */
  progress: readonly ConditionReason[];
  problems: readonly ConditionReason[];
  /** Why pods of an older template stay. */
  held?: ConditionReason | undefined;
  keyGeneration: number;
  adminTokenSecret: string;
  url: string;
  now: Date;
};

type StatusNode = NonNullable<MediaClusterStatus['nodes']>[number];

export function statusOf(input: StatusInput): MediaClusterStatus {
  const { cluster, pods, desired, now } = input;
  const { generation = 0, name } = cluster.metadata;
  const nodes = [...pods].sort((one, other) => one.facts.index - other.facts.index).map(nodeStatus);
  let conditions = cluster.status?.conditions ?? [];
  const convergence = convergenceOf(input);
  for (const condition of [ready(input, convergence), available(input), progressing(input), configSynced(input), degraded(input)])
    conditions = setCondition(conditions, { ...condition, observedGeneration: generation }, now);
  conditions = setConvergence(conditions, convergence, generation, now);
  return {
    observedGeneration: generation,
    conditions,
    replicas: pods.filter(({ facts }) => !facts.failed).length,
    readyReplicas: readyPods(pods).length,
    desiredReplicas: desired,
    selector: selectorText(podSelector(name)),
    rooms: sum(nodes.map(({ rooms }) => rooms)),
    forwardedTracks: sum(nodes.map(({ forwardedTracks }) => forwardedTracks)),
    keyGeneration: input.keyGeneration,
    adminTokenSecret: input.adminTokenSecret,
    url: input.url,
    nodes,
  };
}

/** Keeps the stored counters, so that their change alone causes no write. */
export function withStableCounters(status: MediaClusterStatus, stored: MediaClusterStatus | undefined): MediaClusterStatus {
  const before = new Map(stored?.nodes?.map((node) => [node.name, node]));
  const nodes = status.nodes?.map((node) => {
    const { rooms, forwardedTracks, ...rest } = node;
    const known = before.get(node.name);
    return {
      ...rest,
      ...(known?.rooms === undefined ? {} : { rooms: known.rooms }),
      ...(known?.forwardedTracks === undefined ? {} : { forwardedTracks: known.forwardedTracks }),
    };
  });
  return {
    ...status,
    ...(stored?.rooms === undefined ? {} : { rooms: stored.rooms }),
    ...(stored?.forwardedTracks === undefined ? {} : { forwardedTracks: stored.forwardedTracks }),
    ...(nodes ? { nodes } : {}),
  };
}

function nodeStatus({ pod, facts, message }: PodReport): StatusNode {
  const address = pod.metadata.annotations?.[annotation.mediaAddress];
  const why = message ?? (facts.ready || facts.ending ? undefined : notReadyReason(pod));
  return {
    name: facts.name,
    ...(pod.status?.podIP ? { node: nodeName(pod.status.podIP) } : {}),
    ...(address ? { address } : {}),
    state: stateOf(facts),
    ...(facts.report ? { rooms: facts.report.rooms, forwardedTracks: facts.report.forwardedTracks } : {}),
    ...(why ? { message: why.slice(0, 1024) } : {}),
  };
}

/** Name of the node of a pod among media nodes, as in its environment. */
export function nodeName(podIP: string): string {
  return `svc@${podIP}`;
}

function stateOf(facts: PodSnapshot): StatusNode['state'] {
  if (facts.ending) return 'Terminating';
  if (facts.lost) return 'Lost';
  if (facts.drain || facts.report?.state === 'draining') return 'Draining';
  return facts.ready ? 'Ready' : 'Pending';
}

type Finding = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** What separates the cluster from its spec. Problems that change nothing about the nodes, such as RecordingsNotKept, do not count. */
function convergenceOf(input: StatusInput): Convergence | undefined {
  const { config, problems, desired } = input;
  const failure = config.status === 'False' ? [config] : [];
  const blocking = [...problems, ...failure].find(({ reason }) => isStalling(reason));
  if (blocking) return { type: 'Stalled', reason: blocking.reason, message: asConditionMessage(blocking.message) };
  const { status, reason, message } = progressing(input);
  if (status === 'True') return { type: 'Reconciling', reason, message };
  // Without the Secrets of the configuration no pod is created, and they may follow.
  if (isStalling(reason) && config.status !== 'False') return { type: 'Stalled', reason, message };
  if (config.status === 'True' || (config.status === 'Unknown' && desired === 0)) return undefined;
  return { type: 'Reconciling', reason: config.reason, message: config.message };
}

function isStalling(reason: string): boolean {
  return (mediaClusterConditions.stalled as readonly string[]).includes(reason);
}

function ready(input: StatusInput, convergence: Convergence | undefined): Finding {
  if (convergence) return { type: 'Ready', status: 'False', reason: convergence.reason, message: convergence.message };
  // A cluster of zero nodes matches its spec.
  const { reason, message } = available(input);
  return { type: 'Ready', status: 'True', reason, message };
}

function available({ pods, desired }: StatusInput): Finding {
  const ready = readyPods(pods).length;
  const count = `${ready} of ${desired} ${desired === 1 ? 'node is' : 'nodes are'} ready.`;
  if (ready > 0) return { type: 'Available', status: 'True', reason: 'NodesReady', message: count };
  if (desired === 0) return { type: 'Available', status: 'False', reason: 'ScaledToZero', message: 'Scaled to zero: spec.replicas is 0.' };
  const why = pods.map(({ pod, facts }) => (facts.ending ? undefined : notReadyReason(pod))).find((text) => text !== undefined);
  return { type: 'Available', status: 'False', reason: 'NoNodeReady', message: [count, why].filter((text) => text).join(' ') };
}

function progressing({ pods, desired, progress, held }: StatusInput): Finding {
  const [first] = progress;
  if (first) return { type: 'Progressing', status: 'True', reason: first.reason, message: textOf(progress) };
  const missing = desired - readyPods(pods).length;
  if (missing > 0) {
    const message = `${missing} ${missing === 1 ? 'node is' : 'nodes are'} missing and cannot be created; see condition Degraded.`;
    return { type: 'Progressing', status: 'False', reason: 'Stopped', message };
  }
  if (held) return { type: 'Progressing', status: 'False', ...held };
  return { type: 'Progressing', status: 'False', reason: 'Complete', message: 'All nodes match the spec.' };
}

function configSynced({ config }: StatusInput): Finding {
  return { type: 'ConfigSynced', ...config };
}

function degraded({ problems }: StatusInput): Finding {
  const [first] = problems;
  if (!first) return { type: 'Degraded', status: 'False', reason: 'AsExpected', message: 'The operator has found no problem.' };
  return { type: 'Degraded', status: 'True', reason: first.reason, message: textOf(problems) };
}

function textOf(all: readonly ConditionReason[]): string {
  return all
    .slice(0, maxMessages)
    .map(({ message }) => asConditionMessage(message))
    .join(' ');
}

/** Adds a capital letter and a full stop. */
export function asConditionMessage(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`.replace(/[^.!?]$/, '$&.');
}

function readyPods(pods: readonly PodReport[]): PodReport[] {
  return pods.filter(({ facts }) => facts.ready && !facts.lost);
}

function sum(numbers: readonly (number | undefined)[]): number {
  return numbers.reduce<number>((total, number) => total + (number ?? 0), 0);
}
