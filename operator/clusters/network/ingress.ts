// Ingress of a MediaCluster, and the public URLs that follow from an Ingress or a Gateway.
import type { MediaClusterSpec } from '../../../crds/types.ts';
import type { IngressPath } from '../../kube/kinds.ts';
import type { ClusterContext } from '../cluster-context.ts';
import type { Ingress } from '../manifests.ts';
import { indexCount, namesOf } from '../names.ts';
import { ownedMeta, type StoredCluster } from '../owned.ts';

/** Base URL of the API for clients: `https://host[:port]`; undefined without Ingress and Gateway. */
export function publicUrl(spec: MediaClusterSpec): string | undefined {
  const host = publicHost(spec);
  return host && `${isSecure(spec) ? 'https' : 'http'}://${host}`;
}

/** SVC_HOST of a node: `host[:port]/n/<index>`; undefined without Ingress and Gateway. */
export function nodeHost(spec: MediaClusterSpec, index: number): string | undefined {
  const host = publicHost(spec);
  return host && `${host}${nodePath(index)}`;
}

/** Indexes with a path: all that scaling and rollouts use, so that they do not change the Ingress, and spare ones in use. */
export function routedIndexes(cluster: StoredCluster, { spareIndexes = [] }: Pick<ClusterContext, 'spareIndexes'>): number[] {
  return [...Array(indexCount(cluster)).keys(), ...spareIndexes];
}

/** One path for the API and one for each index. */
export function ingress(cluster: StoredCluster, facts: Pick<ClusterContext, 'spareIndexes'>): Ingress | undefined {
  const wanted = cluster.spec.ingress;
  if (wanted === undefined) return undefined;
  const names = namesOf(cluster.metadata.name);
  const nodes = routedIndexes(cluster, facts).map((index) => path(nodePath(index), names.node(index)));
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: ownedMeta(cluster, names.ingress, { annotations: wanted.annotations }),
    spec: {
      ...(wanted.className === undefined ? {} : { ingressClassName: wanted.className }),
      ...(wanted.tls === undefined ? {} : { tls: [{ hosts: [wanted.host], secretName: wanted.tls.secretName }] }),
      rules: [{ host: wanted.host, http: { paths: [...nodes, path('/', names.api)] } }],
    },
  };
}

export const nodePath = (index: number): string => `/n/${index}`;

function path(prefix: string, service: string): IngressPath {
  return { path: prefix, pathType: 'Prefix', backend: { service: { name: service, port: { name: 'http' } } } };
}

/** Whether clients connect through an Ingress or a Gateway. */
export function isBehindProxy(spec: MediaClusterSpec): boolean {
  return spec.ingress !== undefined || spec.gateway !== undefined;
}

function isSecure({ ingress: wanted, gateway }: MediaClusterSpec): boolean {
  return wanted === undefined ? gateway?.tls === true : wanted.tls !== undefined;
}

function publicHost(spec: MediaClusterSpec): string | undefined {
  const wanted = spec.ingress ?? spec.gateway;
  if (wanted === undefined) return undefined;
  const usual = isSecure(spec) ? 443 : 80;
  return wanted.port === undefined || wanted.port === usual ? wanted.host : `${wanted.host}:${wanted.port}`;
}
