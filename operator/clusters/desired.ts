// What there is to be for a MediaCluster: all of its objects, from its spec and what is known of the world. Pure.
import { disruptionBudget, serviceAccount, serviceMonitor } from './auxiliary-objects.ts';
import type { ClusterContext, ConditionProblem, PodSlot } from './cluster-context.ts';
import type { ClusterObject, Service } from './manifests.ts';
import { httpRoutes } from './network/http-route.ts';
import { ingress } from './network/ingress.ts';
import { networkPolicy } from './network/network-policy.ts';
import { exposureOf, fixedPortBlock } from './network/ports.ts';
import { apiService, mediaService, nodeService, nodesService } from './network/services.ts';
import type { StoredCluster } from './owned.ts';
import { persistentVolumeClaim } from './pods/storage.ts';

/** Objects of the cluster as a whole, but for its Secrets and configuration (generated-secrets.ts, config-files.ts), in the order to apply. */
export function sharedObjects(cluster: StoredCluster, facts: ClusterContext): ClusterObject[] {
  return [
    serviceAccount(cluster),
    nodesService(cluster),
    apiService(cluster),
    disruptionBudget(cluster),
    ...some(networkPolicy(cluster, facts)),
    ...some(ingress(cluster)),
    ...httpRoutes(cluster, facts),
    ...some(serviceMonitor(cluster, facts)),
  ];
}

/** Objects that one pod needs before it. `media` apart, since the API server may refuse its node ports (ports.ts). */
export function slotObjects(cluster: StoredCluster, podSlot: PodSlot): { media: Service | undefined; others: ClusterObject[] } {
  return {
    media: mediaService(cluster, podSlot),
    others: [nodeService(cluster, podSlot.index), ...some(persistentVolumeClaim(cluster, podSlot.index))],
  };
}

/** What is wrong with a spec that the API server could not see, besides its Secrets. The cluster runs all the same. */
export function specProblems(cluster: StoredCluster, facts: Pick<ClusterContext, 'serviceMonitors' | 'httpRoutes'>): ConditionProblem[] {
  const { spec } = cluster;
  const problems: ConditionProblem[] = [];
  const uploads = spec.config?.s3 !== undefined;
  if (spec.config?.componentsUsed?.includes('recording') && spec.storage?.persistentVolumeClaim === undefined && !uploads)
    problems.push({
      reason: 'RecordingsNotKept',
      message: 'recordings are on an emptyDir and there is no config.s3: they are lost with their pod',
    });
  if (spec.monitoring?.serviceMonitor !== undefined && !facts.serviceMonitors)
    problems.push({
      reason: 'NoServiceMonitors',
      message: 'monitoring.serviceMonitor has no effect: the API server does not know that kind',
    });
  if (spec.gateway !== undefined && facts.httpRoutes !== true)
    problems.push({ reason: 'NoHttpRoutes', message: 'gateway has no effect: the API server does not know routes of the Gateway API' });
  if (exposureOf(spec) !== 'nodePort' && fixedPortBlock(spec, spec.maxReplicas) === undefined)
    problems.push({
      reason: 'TooFewPorts',
      message: 'media.ports has fewer ports than maxReplicas and one pod more need: pods of the last indexes cannot be made',
    });
  return problems;
}

const some = <T>(value: T | undefined): T[] => (value === undefined ? [] : [value]);
