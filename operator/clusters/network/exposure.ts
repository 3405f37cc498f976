// Media address that a pod announces to clients, or the reason why it is not known yet.
import { isIP } from 'node:net';
import type { MediaClusterSpec } from '../../../crds/types.ts';
import type { ConditionReason } from '../../kube/conditions.ts';
import { exposureOf } from './ports.ts';

/** Observed addresses of a pod. */
export type PodLocation = {
  /** From the status of the Pod. */
  podIP?: string;
  podIPs?: readonly string[];
  hostIP?: string;
  /** `status.addresses` of its Node, if that could be read. */
  hostAddresses?: readonly { type: string; address: string }[];
  /** Whether the operator may read Nodes. If not, the internal address is used, because the external one stays unknown. */
  mayReadHosts: boolean;
  /** Whether addresses of both families are announced; else those of the family of the pod. */
  dualStack?: boolean;
  /** `status.loadBalancer.ingress` of its media Service. */
  loadBalancer?: readonly { ip?: string; hostname?: string }[];
};

/** Content of SVC_WEBRTC_TURN_IP_FILE, or the reason why it is pending. */
export type Announced = { address: string } | ConditionReason;

// Maximum that a node accepts.
const maxAddresses = 8;

/** Media addresses of a pod for clients: IP addresses or host names, separated by spaces. */
export function announcedAddress(spec: MediaClusterSpec, place: PodLocation): Announced {
  const exposure = exposureOf(spec);
  const wanted = spec.media?.announcedAddress?.trim() ?? byDefault[exposure];
  switch (wanted) {
    case 'loadBalancer':
      return known(
        place.loadBalancer?.flatMap(({ ip, hostname }) => ip || hostname || []),
        loadBalancerPending,
      );
    case 'podIP':
      return known(firstOfFamilies(place, [place.podIP ?? '', ...(place.podIPs ?? [])]), podPending);
    case 'nodeInternalIP':
      return known(firstOfFamilies(place, [...addressesOf(place, 'InternalIP'), place.hostIP ?? '']), podPending);
    case 'nodeExternalIP':
      return ofHost(place);
    default:
      return known(wanted.split(/\s+/), podPending);
  }
}

const byDefault = {
  nodePort: 'nodeExternalIP',
  hostPort: 'nodeExternalIP',
  hostNetwork: 'nodeExternalIP',
  podIP: 'podIP',
  loadBalancer: 'loadBalancer',
} as const;

const podPending: ConditionReason = { reason: 'PodPending', message: 'the pod is not scheduled yet, so its media address is not known' };
const hostPending: ConditionReason = {
  reason: 'HostUnknown',
  message: 'the addresses of the Kubernetes node of the pod are not known yet',
};
const loadBalancerPending: ConditionReason = {
  reason: 'LoadBalancerPending',
  message: 'the media Service of the pod has no load balancer address yet',
};

/** External addresses of the Kubernetes node; otherwise its internal address. */
function ofHost(place: PodLocation): Announced {
  if (place.hostIP === undefined) return podPending;
  if (place.hostAddresses === undefined) return place.mayReadHosts ? hostPending : { address: place.hostIP };
  const external = addressesOf(place, 'ExternalIP');
  return known(external.length > 0 ? external : firstOfFamilies(place, [...addressesOf(place, 'InternalIP'), place.hostIP]), hostPending);
}

/** The first address, and with dual stack the first of each family. */
function firstOfFamilies({ dualStack = false }: PodLocation, addresses: readonly string[]): string[] {
  const [first = '', ...others] = addresses.filter((address) => address !== '');
  return [first, ...(dualStack ? others.filter((each) => isIP(each) !== isIP(first)).slice(0, 1) : [])];
}

/** Addresses of that type, of the family that pods use if there are any; with dual stack of both families. */
function addressesOf(place: PodLocation, type: string): string[] {
  const all = (place.hostAddresses ?? []).filter((each) => each.type === type).map(({ address }) => address);
  const family = isIP(place.podIP ?? place.hostIP ?? '');
  const same = all.filter((address) => isIP(address) === family);
  if (place.dualStack) return [...same, ...all.filter((address) => !same.includes(address))];
  return same.length > 0 ? same : all;
}

function known(addresses: readonly string[] | undefined, otherwise: ConditionReason): Announced {
  const found = [...new Set((addresses ?? []).filter((address) => address !== ''))].slice(0, maxAddresses);
  return found.length > 0 ? { address: found.join(' ') } : otherwise;
}
