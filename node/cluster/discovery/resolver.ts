// DNS resolver: A and AAAA records from the servers of /etc/resolv.conf, with getaddrinfo (/etc/hosts, search domains) as fallback.
import { lookup } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { Timer } from '../../common/timer.ts';

/** The addresses of one family, or the reason of a failure. An empty list is a successful result. */
export type DnsAnswer = { addresses: readonly string[] } | { failure: string };
/** If neither family has an address, both are failures. */
export type DnsResult = { ipv4: DnsAnswer; ipv6: DnsAnswer };
/** Never rejects, and ends soon after the signal is aborted. */
export type DnsResolver = (host: string, signal: AbortSignal) => Promise<DnsResult>;
/** All addresses of a name from getaddrinfo. */
export type HostLookup = (host: string) => Promise<readonly string[]>;

export type ResolverOptions = {
  /** `ip:port` instead of the servers of /etc/resolv.conf. */
  servers?: readonly string[];
  /** Timeout in milliseconds, for DNS and again for getaddrinfo. */
  deadline?: number;
  hosts?: HostLookup;
};

/** The server reports that the record does not exist, which is a successful result. */
const noRecords = new Set(['ENODATA', 'ENOTFOUND']);

export function systemResolver({ servers, deadline = 4_000, hosts = getaddrinfo }: ResolverOptions = {}): DnsResolver {
  const shared = sharedLookup(hosts);
  return async (host, signal) => {
    const asked = isIP(host) === 0 ? await askServers(host, servers, deadline, signal) : failed('an address, not a name');
    if (hasAddress(asked) || signal.aborted) return asked;
    const found = await within(shared(host), deadline, signal).catch(() => []);
    if (found.length === 0) return bothFailed(asked);
    const ofFamily = (family: number) => ({ addresses: found.filter((address) => isIP(address) === family) });
    return { ipv4: ofFamily(4), ipv6: ofFamily(6) };
  };
}

async function askServers(host: string, servers: ResolverOptions['servers'], deadline: number, signal: AbortSignal): Promise<DnsResult> {
  // Created for each query, so that a changed /etc/resolv.conf takes effect.
  const resolver = new Resolver({ timeout: Math.ceil(deadline / 4), tries: 2 });
  if (servers) resolver.setServers(servers);
  const cancel = () => resolver.cancel();
  const timer = new Timer(deadline, cancel);
  signal.addEventListener('abort', cancel);
  try {
    const [ipv4, ipv6] = await Promise.all([answer(resolver.resolve4(host)), answer(resolver.resolve6(host))]);
    return { ipv4, ipv6 };
  } finally {
    timer.stop();
    signal.removeEventListener('abort', cancel);
  }
}

async function answer(query: Promise<string[]>): Promise<DnsAnswer> {
  try {
    return { addresses: await query };
  } catch (error) {
    const code = String((error as NodeJS.ErrnoException).code);
    return noRecords.has(code) ? { addresses: [] } : { failure: code };
  }
}

function hasAddress({ ipv4, ipv6 }: DnsResult): boolean {
  return [ipv4, ipv6].some((each) => 'addresses' in each && each.addresses.length > 0);
}

function failed(failure: string): DnsResult {
  return { ipv4: { failure }, ipv6: { failure } };
}

function bothFailed({ ipv4, ipv6 }: DnsResult): DnsResult {
  const failure = (one: DnsAnswer, other: DnsAnswer) => ('failure' in one ? one : 'failure' in other ? other : { failure: 'no addresses' });
  return { ipv4: failure(ipv4, ipv6), ipv6: failure(ipv6, ipv4) };
}

function getaddrinfo(host: string): Promise<string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string[]>();
  lookup(host, { all: true }, (error, found) => (error ? reject(error) : resolve(found.map(({ address }) => address))));
  return promise;
}

/** getaddrinfo cannot be cancelled and blocks one of few threads, so at most one runs per name. */
function sharedLookup(hosts: HostLookup): HostLookup {
  const pending = new Map<string, Promise<readonly string[]>>();
  return (host) => {
    const found = pending.get(host) ?? hosts(host).finally(() => pending.delete(host));
    pending.set(host, found);
    return found;
  };
}

async function within<Value>(call: Promise<Value>, deadline: number, signal: AbortSignal): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  const expire = () => reject(new Error('timeout'));
  const timer = new Timer(deadline, expire);
  signal.addEventListener('abort', expire);
  try {
    return await Promise.race([call, promise]);
  } finally {
    timer.stop();
    signal.removeEventListener('abort', expire);
  }
}
