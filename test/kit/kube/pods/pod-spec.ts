// Types of Kubernetes objects that the pod runner reads.
import type { V1NodeSpec, V1PodCondition, V1PodSpec, V1PodStatus, V1ServiceSpec, V1ServiceStatus } from '@kubernetes/client-node';
import type { Json } from '../../../../operator/kube/kinds.ts';

export type ApiObject = {
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    resourceVersion: string;
    generation?: number;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    deletionTimestamp?: string;
    deletionGracePeriodSeconds?: number;
  };
};
export type PodCondition = Json<V1PodCondition>;
export type Pod = ApiObject & { spec: Json<V1PodSpec>; status?: Json<V1PodStatus> };
export type Service = ApiObject & { spec: Json<V1ServiceSpec>; status?: Json<V1ServiceStatus> };
export type HostObject = ApiObject & { spec?: Json<V1NodeSpec> };

/** Whether a pod runs or will run. */
export function isLive(pod: Pod): boolean {
  return pod.status?.phase !== 'Succeeded' && pod.status?.phase !== 'Failed';
}

export function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

/** Whether labels match a selector. A missing selector selects nothing. */
export function selects(selector: Record<string, string> | undefined, labels: Record<string, string> = {}): boolean {
  return selector !== undefined && Object.entries(selector).every(([key, value]) => labels[key] === value);
}
