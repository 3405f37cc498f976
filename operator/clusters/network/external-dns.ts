// Annotations for external-dns: a DNS name for each pod.
import type { MediaClusterSpec } from '../../../crds/types.ts';
import { namesOf } from '../names.ts';
import type { StoredCluster } from '../owned.ts';
import { exposureOf } from './ports.ts';

/** external-dns reads the first since its release 0.22, the second before. */
const prefixes = ['external-dns.kubernetes.io', 'external-dns.alpha.kubernetes.io'] as const;

/** Whether the media Service of a pod has its name; with other exposures there is none, and the pod has it. */
function isOnService(spec: MediaClusterSpec): boolean {
  const exposure = exposureOf(spec);
  return exposure === 'nodePort' || exposure === 'loadBalancer';
}

/** DNS name of the pod of an index; undefined if it has none. */
function dnsName({ metadata, spec }: StoredCluster, index: number): string | undefined {
  return spec.externalDns?.hostname.replaceAll('{pod}', namesOf(metadata.name).pod(index));
}

/** Annotations of a media Service, whose addresses external-dns determines. */
export function serviceDnsAnnotations(cluster: StoredCluster, index: number): Record<string, string> {
  const name = isOnService(cluster.spec) ? dnsName(cluster, index) : undefined;
  return name === undefined ? {} : Object.fromEntries(prefixes.map((prefix) => [`${prefix}/hostname`, name]));
}

/**
 * Annotations of a pod with its announced addresses, or `null` for one to be removed. Annotations of the user stay.
 * @param addresses separated by spaces; undefined if not known yet
 */
export function podDnsAnnotations(cluster: StoredCluster, index: number, addresses: string | undefined): Record<string, string | null> {
  const name = isOnService(cluster.spec) || addresses === undefined ? null : (dnsName(cluster, index) ?? null);
  const target = name === null ? null : (addresses ?? '').replaceAll(' ', ',');
  const given = cluster.spec.podTemplate?.annotations ?? {};
  const all = prefixes.flatMap((prefix) => [[`${prefix}/hostname`, name] as const, [`${prefix}/target`, target] as const]);
  return Object.fromEntries(all.filter(([key]) => given[key] === undefined));
}
