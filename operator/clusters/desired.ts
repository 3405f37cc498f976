// Desired objects of a MediaCluster, computed from its spec and the observed context. Pure.
import type { ConditionReason } from '../kube/conditions.ts';
import { serviceAccount, serviceMonitor } from './auxiliary-objects.ts';
import type { ClusterContext, PodSlot } from './cluster-context.ts';
import type { ClusterObject, Service } from './manifests.ts';
import { httpRoutes } from './network/http-route.ts';
import { ingress, routedIndexes } from './network/ingress.ts';
import { networkPolicy } from './network/network-policy.ts';
import { exposureOf, fixedPortBlock } from './network/ports.ts';
import { apiService, mediaService, nodeService, nodesService, turnService } from './network/services.ts';
import { ingressRouteTcp, tlsRoutes } from './network/turn-routes.ts';
import type { OptionalKind } from './observed-objects.ts';
import type { StoredCluster } from './owned.ts';
import { persistentVolumeClaim } from './pods/storage.ts';

/** Shared objects of the cluster, without Secrets, configuration (generated-secrets.ts, config-files.ts) and the PodDisruptionBudget (fleet.ts), in the order to apply. */
export function sharedObjects(cluster: StoredCluster, facts: ClusterContext): ClusterObject[] {
  return [
    serviceAccount(cluster),
    nodesService(cluster),
    apiService(cluster),
    ...some(networkPolicy(cluster, facts)),
    // Before the Ingress: the controllers of GKE and AWS reject one that names a missing Service.
    ...(cluster.spec.ingress === undefined ? [] : routedIndexes(cluster, facts).map((index) => nodeService(cluster, index))),
    ...some(ingress(cluster, facts)),
    ...httpRoutes(cluster, facts),
    ...tlsRoutes(cluster, facts),
    ...some(ingressRouteTcp(cluster, facts)),
    ...some(serviceMonitor(cluster, facts)),
  ];
}

/** Objects that must exist before a pod. `media` is separate, because the API server may reject its node ports (ports.ts). */
export function slotObjects(cluster: StoredCluster, podSlot: PodSlot): { media: Service | undefined; others: ClusterObject[] } {
  return {
    media: mediaService(cluster, podSlot),
    others: [
      nodeService(cluster, podSlot.index),
      ...some(turnService(cluster, podSlot)),
      ...some(persistentVolumeClaim(cluster, podSlot.index)),
    ],
  };
}

/** Problems of a valid spec, except those of Secrets. The cluster runs despite them. */
export function specProblems(cluster: StoredCluster, facts: Pick<ClusterContext, OptionalKind>): ConditionReason[] {
  const { spec } = cluster;
  const problems: ConditionReason[] = [];
  const uploads = spec.config?.s3 !== undefined;
  if (spec.config?.componentsUsed?.includes('recording') && spec.storage?.persistentVolumeClaim === undefined && !uploads)
    problems.push({
      reason: 'RecordingsNotKept',
      message: 'recordings are stored on an emptyDir without config.s3; they are lost with their pod',
    });
  const needs: readonly [kind: OptionalKind, wanted: unknown, reason: ConditionReason['reason'], field: string, kinds: string][] = [
    ['serviceMonitors', spec.monitoring?.serviceMonitor, 'NoServiceMonitors', 'monitoring.serviceMonitor', 'ServiceMonitors'],
    ['httpRoutes', spec.gateway, 'NoHttpRoutes', 'gateway', 'HTTPRoutes of the Gateway API'],
    ['tlsRoutes', spec.turn?.tlsRoutes?.gateway, 'NoTlsRoutes', 'turn.tlsRoutes.gateway', 'TLSRoutes of the Gateway API (v1)'],
    ['ingressRouteTcps', spec.turn?.tlsRoutes?.traefik, 'NoIngressRouteTcps', 'turn.tlsRoutes.traefik', 'IngressRouteTCPs of Traefik'],
  ];
  for (const [kind, wanted, reason, field, kinds] of needs)
    if (wanted !== undefined && facts[kind] !== true)
      problems.push({ reason, message: `${field} has no effect, because the API server does not support ${kinds}` });
  if (exposureOf(spec) !== 'nodePort' && fixedPortBlock(spec, spec.maxReplicas) === undefined)
    problems.push({
      reason: 'TooFewPorts',
      message: 'media.ports has fewer ports than maxReplicas + 1 pods need; pods of the last indexes cannot be created',
    });
  return problems;
}

const some = <T>(value: T | undefined): T[] => (value === undefined ? [] : [value]);
