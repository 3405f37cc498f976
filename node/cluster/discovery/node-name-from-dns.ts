// Node name for DNS discovery: the name by which other nodes find this node, since DNS only gives them addresses.
import { isIP } from 'node:net';
import { splitNodeName } from '../erlang/node-names.ts';
import { normalizeAddress } from './addresses.ts';
import type { DnsAnswer, DnsResolver } from './resolver.ts';

/**
 * The node name with the DNS strategy: `<nodename>@<ip>`. A host name is replaced by one of its addresses: preferably one that the query
 * returns, then IPv4, then one that is not loopback.
 * @throws Error with a message for operators if the host name has no address
 */
export async function nodeNameFromDns(nodeName: string, query: string, dnsResolver: DnsResolver, signal: AbortSignal): Promise<string> {
  const parts = splitNodeName(nodeName);
  if (!parts) throw new Error(`Expected the name of this node to be <nodename>@<hostname>, got: ${nodeName}`);
  const { name, host } = parts;
  if (isIP(host) !== 0) return `${name}@${normalizeAddress(host) ?? host}`;
  const [own, asked] = await Promise.all([addresses(host, dnsResolver, signal), addresses(query, dnsResolver, signal)]);
  const address = own.find((each) => asked.includes(each)) ?? own.find((each) => !isLoopback(each)) ?? own[0];
  if (address === undefined) throw new Error(`Expected the host of the node name to have an address (DNS strategy), got none: ${nodeName}`);
  return `${name}@${address}`;
}

/** All addresses of a name that can be dialed, IPv4 first. */
export async function addresses(host: string, dnsResolver: DnsResolver, signal: AbortSignal): Promise<string[]> {
  const { ipv4, ipv6 } = await dnsResolver(host, signal);
  return [ipv4, ipv6].flatMap(known).flatMap((address) => normalizeAddress(address) ?? []);
}

function known(dnsAnswer: DnsAnswer): readonly string[] {
  return 'addresses' in dnsAnswer ? dnsAnswer.addresses : [];
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1';
}
