// Client address: resolved behind trusted proxies, for requests and upgrades.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { isLoopbackHost } from '../../config/addresses.ts';

/** `hops`: maximum number of proxies, null for any number; `networks` (CIDR): networks of the proxies, empty for any network. */
export type TrustedProxies = { hops: number | null; networks: readonly string[] };
/** IP address; that of the socket if no trusted proxy names another one. */
export type ClientAddressOf = (request: Pick<IncomingMessage, 'socket' | 'headers'>) => string;

/**
 * Reads X-Forwarded-For from the end: an entry counts if its writer is trusted and it is a valid address. Entries that the client added
 * have no effect.
 */
export function clientBehind({ hops, networks }: TrustedProxies): ClientAddressOf {
  const list = listOf(networks);
  const trusts = (address: string, hop: number) =>
    hop < (hops ?? Number.POSITIVE_INFINITY) && (networks.length === 0 || list.check(address, familyOf(address)));
  return ({ socket, headers }) => {
    let client = socket.remoteAddress ?? '';
    const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',').reverse();
    for (const [hop, entry] of forwarded.entries()) {
      const address = addressIn(entry.trim());
      if (address === undefined || !trusts(client, hop)) break;
      client = address;
    }
    return client;
  };
}

const headersOfProxies = new Set(['forwarded', 'via', 'x-real-ip']);

/** True if a request was sent to a loopback name or address, and no proxy header (RFC 7239; RFC 9110, section 7.6.3) is present. */
export function isLocal(headers: IncomingHttpHeaders): boolean {
  const forwarded = Object.keys(headers).some((name) => name.startsWith('x-forwarded-') || headersOfProxies.has(name));
  return !forwarded && headers.host !== undefined && isLoopbackHost(headers.host);
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    list.addSubnet(address, prefix === undefined ? (isIP(address) === 6 ? 128 : 32) : Number(prefix), familyOf(address));
  }
  return list;
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Some proxies add the port, and then put IPv6 in brackets. */
function addressIn(entry: string): string | undefined {
  const address = /^\[(.*)\](?::\d+)?$/.exec(entry)?.[1] ?? entry.replace(/^([\d.]+):\d+$/, '$1');
  return isIP(address) === 0 ? undefined : address;
}
