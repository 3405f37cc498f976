// HTTPRoutes of a MediaCluster (gateway-api.sigs.k8s.io): same paths as ingress.ts.
import type { MediaClusterSpec } from '../../../crds/types.ts';
import type { ClusterContext } from '../cluster-context.ts';
import type { HttpRoute, HttpRouteRule } from '../manifests.ts';
import { namesOf, nodePorts } from '../names.ts';
import { ownedMeta, type StoredCluster } from '../owned.ts';
import { nodePath, routedIndexes } from './ingress.ts';

/** Maximum rules of a route. */
const maxRules = 16;

/** Empty if disabled or not supported by the API server. The longest matching path wins, across all routes. */
export function httpRoutes(cluster: StoredCluster, facts: Pick<ClusterContext, 'httpRoutes' | 'spareIndexes'>): HttpRoute[] {
  const wanted = cluster.spec.gateway;
  if (wanted === undefined || facts.httpRoutes !== true) return [];
  const names = namesOf(cluster.metadata.name);
  const nodes = routedIndexes(cluster, facts).map((index) => rule(nodePath(index), names.node(index)));
  const rules = [rule('/', names.api), ...nodes];
  return Array.from({ length: Math.ceil(rules.length / maxRules) }, (_, part) => ({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute' as const,
    metadata: ownedMeta(cluster, names.httpRoute(part)),
    spec: {
      parentRefs: parentRefs(wanted.parentRefs),
      hostnames: [wanted.host],
      rules: rules.slice(part * maxRules, (part + 1) * maxRules),
    },
  }));
}

type ParentRef = NonNullable<MediaClusterSpec['gateway']>['parentRefs'][number];

/** Without fields that are not set. */
export function parentRefs(refs: readonly ParentRef[]): HttpRoute['spec']['parentRefs'] {
  return refs.map(({ name, namespace, sectionName }) => ({
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(sectionName === undefined ? {} : { sectionName }),
  }));
}

function rule(prefix: string, service: string): HttpRouteRule {
  return { matches: [{ path: { type: 'PathPrefix', value: prefix } }], backendRefs: [{ name: service, port: nodePorts.http }] };
}
