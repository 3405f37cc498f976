// Routes of TURN over TLS by server name: TLSRoutes of the Gateway API, or an IngressRouteTCP of Traefik. Both forward TLS without ending it.
import type { MediaClusterSpec } from '../../../crds/types.ts';
import type { ClusterContext } from '../cluster-context.ts';
import type { IngressRouteTcp, TlsRoute } from '../manifests.ts';
import { namesOf, turnServicePort } from '../names.ts';
import { ownedMeta, type StoredCluster } from '../owned.ts';
import { parentRefs } from './http-route.ts';
import { routedIndexes } from './ingress.ts';

/** Host and port of TURN over TLS for clients, if they differ from the media address and the port of the pod. */
export function publicTurn(cluster: StoredCluster, index: number): { host: string | undefined; port: number | undefined } {
  const { tlsRoutes, tlsHost, tlsPort } = cluster.spec.turn ?? {};
  return tlsRoutes ? { host: routedHost(cluster, tlsRoutes, index), port: tlsRoutes.port } : { host: tlsHost, port: tlsPort };
}

/** One for each index. */
export function tlsRoutes(cluster: StoredCluster, facts: Pick<ClusterContext, 'tlsRoutes' | 'spareIndexes'>): TlsRoute[] {
  const wanted = cluster.spec.turn?.tlsRoutes;
  if (wanted?.gateway === undefined || facts.tlsRoutes !== true) return [];
  const refs = parentRefs(wanted.gateway.parentRefs);
  return routedIndexes(cluster, facts).map((index) => {
    const name = namesOf(cluster.metadata.name).turn(index);
    return {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'TLSRoute',
      metadata: ownedMeta(cluster, name, { annotations: wanted.annotations }),
      spec: {
        parentRefs: refs,
        hostnames: [routedHost(cluster, wanted, index)],
        rules: [{ backendRefs: [{ name, port: turnServicePort }] }],
      },
    };
  });
}

/** One with a route for each index. */
export function ingressRouteTcp(
  cluster: StoredCluster,
  facts: Pick<ClusterContext, 'ingressRouteTcps' | 'spareIndexes'>,
): IngressRouteTcp | undefined {
  const wanted = cluster.spec.turn?.tlsRoutes;
  if (wanted?.traefik === undefined || facts.ingressRouteTcps !== true) return undefined;
  const names = namesOf(cluster.metadata.name);
  const { entryPoints } = wanted.traefik;
  return {
    apiVersion: 'traefik.io/v1alpha1',
    kind: 'IngressRouteTCP',
    metadata: ownedMeta(cluster, names.ingressRouteTcp, { annotations: wanted.annotations }),
    spec: {
      ...(entryPoints === undefined ? {} : { entryPoints }),
      routes: routedIndexes(cluster, facts).map((index) => ({
        match: `HostSNI(\`${routedHost(cluster, wanted, index)}\`)`,
        services: [
          { name: names.turn(index), port: turnServicePort, ...(wanted.proxyProtocol === true && { proxyProtocol: { version: 2 } }) },
        ],
      })),
      tls: { passthrough: true },
    },
  };
}

type TlsRoutes = NonNullable<NonNullable<MediaClusterSpec['turn']>['tlsRoutes']>;

function routedHost(cluster: StoredCluster, { host }: TlsRoutes, index: number): string {
  return `${namesOf(cluster.metadata.name).pod(index)}.${host}`;
}
