// Scheduler: assigns a pod to a Kubernetes node by the requirements of the pod, the taints of the node, and the least load.
import type { V1NodeSelectorTerm, V1Taint, V1Toleration } from '@kubernetes/client-node';
import type { Json } from '../../../../operator/kube/kinds.ts';
import type { HostObject, Pod } from './pod-spec.ts';

type Taint = Json<V1Taint>;

export type Candidate = {
  host: HostObject;
  /** Pods on the Kubernetes node. */
  pods: readonly Pod[];
};

export type Choice = { host: string } | { reason: string };

const cordon: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

export function chooseHost(pod: Pod, candidates: readonly Candidate[]): Choice {
  const reasons: string[] = [];
  const fitting = candidates.filter((candidate) => {
    const why = obstacle(pod, candidate);
    if (why !== undefined) reasons.push(why);
    return why === undefined;
  });
  const [best] = fitting.sort(
    (one, other) => one.pods.length - other.pods.length || one.host.metadata.name.localeCompare(other.host.metadata.name),
  );
  if (best) return { host: best.host.metadata.name };
  const counts = [...new Set(reasons)].map((why) => `${reasons.filter((each) => each === why).length} ${why}`);
  return { reason: `0/${candidates.length} nodes are available: ${counts.join(', ')}.` };
}

function obstacle(pod: Pod, { host, pods }: Candidate): string | undefined {
  const { spec = {}, metadata } = host;
  const tolerations = pod.spec.tolerations ?? [];
  if (spec.unschedulable && !tolerates(tolerations, cordon)) return 'node(s) were unschedulable';
  const taint = spec.taints?.find((each) => each.effect !== 'PreferNoSchedule' && !tolerates(tolerations, each));
  if (taint) return `node(s) had untolerated taint(s) {${taint.key}: ${taint.value ?? ''}}`;
  if (!matchesAffinity(pod, metadata.labels ?? {})) return "node(s) didn't match Pod's node affinity/selector";
  const taken = new Set(pods.flatMap(hostPorts));
  if (hostPorts(pod).some((port) => taken.has(port))) return "node(s) didn't have free ports for the requested pod ports";
  return undefined;
}

function tolerates(tolerations: readonly Json<V1Toleration>[], taint: Taint): boolean {
  return tolerations.some(({ key, operator = 'Equal', value = '', effect }) => {
    if (effect && effect !== taint.effect) return false;
    if (!key) return operator === 'Exists';
    return key === taint.key && (operator === 'Exists' || value === (taint.value ?? ''));
  });
}

function matchesAffinity({ spec }: Pod, labels: Record<string, string>): boolean {
  if (Object.entries(spec.nodeSelector ?? {}).some(([key, value]) => labels[key] !== value)) return false;
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return terms === undefined || terms.some((term) => matchesTerm(term, labels));
}

function matchesTerm({ matchExpressions = [] }: Json<V1NodeSelectorTerm>, labels: Record<string, string>): boolean {
  return matchExpressions.every(({ key, operator, values = [] }) => {
    const value = labels[key];
    if (operator === 'Exists') return value !== undefined;
    if (operator === 'DoesNotExist') return value === undefined;
    const among = value !== undefined && values.includes(value);
    return operator === 'In' ? among : operator === 'NotIn' && !among;
  });
}

/** Host ports that a pod uses, for example `UDP 30500`. */
function hostPorts({ spec }: Pod): string[] {
  return spec.containers.flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort, containerPort, protocol = 'TCP' }) => {
      const port = spec.hostNetwork ? containerPort : hostPort;
      return port === undefined ? [] : [`${protocol} ${port}`];
    }),
  );
}
