// IP addresses as names of nodes carry them: one spelling each, and which of them can be dialled.
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

/** The spelling that resolvers give (RFC 5952); undefined where it is no address, or none of a node: wildcard, multicast, link-local. */
export function normalizeAddress(address: string): string | undefined {
  if (isIP(address) === 0 || address.includes('%')) return undefined;
  const family = familyOf(address);
  return useless.check(address, family) ? undefined : new SocketAddress({ address, family }).address;
}
