// The routes of a MediaCluster at a Gateway: what ingress.ts says of an Ingress, in the words of the Gateway API (gateway-api.sigs.k8s.io).
import type { ClusterContext } from '../cluster-context.ts';
import type { HttpRoute, HttpRouteRule } from '../manifests.ts';
import { indexCount, namesOf, nodePorts } from '../names.ts';
import { ownedMeta, type StoredCluster } from '../owned.ts';
import { nodePath } from './ingress.ts';

/** As many as a route may have. */
const maxRules = 16;

/** None where none is wanted or the API server does not know the kind. The longest path that fits wins, in whichever route it stands. */
export function httpRoutes(cluster: StoredCluster, facts: Pick<ClusterContext, 'httpRoutes'>): HttpRoute[] {
  const wanted = cluster.spec.gateway;
  if (wanted === undefined || facts.httpRoutes !== true) return [];
  const names = namesOf(cluster.metadata.name);
  const nodes = Array.from({ length: indexCount(cluster) }, (_, index) => rule(nodePath(index), names.node(index)));
  const rules = [rule('/', names.api), ...nodes];
  return Array.from({ length: Math.ceil(rules.length / maxRules) }, (_, part) => ({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute' as const,
    metadata: ownedMeta(cluster, names.httpRoute(part)),
    spec: {
      parentRefs: wanted.parentRefs.map(({ name, namespace, sectionName }) => ({
        name,
        ...(namespace === undefined ? {} : { namespace }),
        ...(sectionName === undefined ? {} : { sectionName }),
      })),
      hostnames: [wanted.host],
      rules: rules.slice(part * maxRules, (part + 1) * maxRules),
    },
  }));
}

function rule(prefix: string, service: string): HttpRouteRule {
  return { matches: [{ path: { type: 'PathPrefix', value: prefix } }], backendRefs: [{ name: service, port: nodePorts.http }] };
}
