// kstatus: the status of an object as Flux and `kubectl kpt` compute it from a custom resource (sigs.k8s.io/cli-utils, pkg/kstatus/status).
import { condition, type KubeJson } from './read-objects.ts';

export type Kstatus = 'Current' | 'InProgress' | 'Failed' | 'Terminating';

export function kstatusOf(object: KubeJson): Kstatus {
  const { metadata, status } = object;
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  if (status?.observedGeneration !== undefined && status.observedGeneration !== metadata.generation) return 'InProgress';
  for (const { type, status: is } of status?.conditions ?? []) {
    if (type === 'Reconciling' && is === 'True') return 'InProgress';
    if (type === 'Stalled' && is === 'True') return 'Failed';
  }
  const ready = condition(object, 'Ready');
  return ready === undefined || ready.status === 'True' ? 'Current' : 'InProgress';
}
