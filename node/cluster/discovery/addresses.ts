// IP addresses in node names: normalization to one spelling, and a filter for addresses that can be dialed.
import { BlockList, isIP, SocketAddress } from 'node:net';

const useless = new BlockList();
useless.addAddress('0.0.0.0', 'ipv4');
useless.addAddress('::', 'ipv6');
useless.addSubnet('224.0.0.0', 4, 'ipv4');
useless.addSubnet('ff00::', 8, 'ipv6');
useless.addSubnet('fe80::', 10, 'ipv6');

export type Family = 'ipv4' | 'ipv6';

export function familyOf(address: string): Family {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}

/** The spelling of RFC 5952. Undefined if it is no address, or cannot be the address of a node: wildcard, multicast, link-local. */
export function normalizeAddress(address: string): string | undefined {
  if (isIP(address) === 0 || address.includes('%')) return undefined;
  const family = familyOf(address);
  return useless.check(address, family) ? undefined : new SocketAddress({ address, family }).address;
}
