// DNS: the addresses under one query are asked for again and again; each is a node of this node's own name.
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Log } from '../../common/log.ts';
import { Timer } from '../../common/timer.ts';
import { splitNodeName } from '../erlang/node-names.ts';
import { type Family, familyOf, normalizeAddress } from './addresses.ts';
import { addresses } from './node-name-from-dns.ts';
import { Redialer, type RedialerOptions } from './redialer.ts';
import type { DnsAnswer, DnsResolver, DnsResult } from './resolver.ts';

/** Addresses of one query that count, in ascending order, IPv4 first. */
const maxAddresses = 1_000;
/** Failed dials after which the log says that nobody of our name is there: a node that is starting is in DNS before it listens. */
const failuresToTell = 3;
/** Nodes that start in the same moment come under the query one after the other: so many looks at first are `soon` apart, in milliseconds. */
const firstLooks = 6;
const soon = 1_000;
/** IPv6 beside IPv4 is most often the second address of a node that goes by its first: it is tried seldom. Milliseconds. */
const secondFamilyPause = 30_000;

export type DnsOptions = Omit<RedialerOptions, 'onFailure'> & {
  query: string;
  /** Milliseconds between the end of a query and the next, once the first ones were; also the longest wait between two dials of an address. */
  pollingInterval: number;
  log: Log;
  resolve: DnsResolver;
  /** Every address of this machine. */
  localAddresses?: () => readonly string[];
};

export class DnsDiscovery {
  readonly #options: DnsOptions;
  readonly #redialer: Redialer;
  readonly #nodeName: string;
  readonly #ownHost: string;
  readonly #known: Record<Family, readonly string[]> = { ipv4: [], ipv6: [] };
  readonly #failing = new Set<Family>();
  readonly #ending = new AbortController();
  #own: readonly string[] = [];
  #timer: Timer | undefined;
  #cut = false;
  #looks = 0;
  #answers = 0;

  constructor(options: DnsOptions) {
    const self = splitNodeName(options.connector.self);
    this.#options = options;
    this.#nodeName = self?.name ?? options.connector.self;
    this.#ownHost = self?.host ?? '';
    if (isIP(this.#ownHost) !== 0) this.#own = [normalizeAddress(this.#ownHost) ?? this.#ownHost];
    this.#redialer = new Redialer({ ...options, onFailure: (name, failures) => this.#tellFailure(name, failures) });
    void this.#poll();
  }

  /** Whether others may be there that it could not find yet. */
  get looking(): boolean {
    return this.#answers < 2 || this.#looks < firstLooks || this.#redialer.dialing;
  }

  /** Whether whoever was under the query at first was dialled. */
  get dialed(): boolean {
    return this.#answers > 0 && !this.#redialer.dialing;
  }

  /** The connection to a node is gone. */
  down(name: string): void {
    this.#redialer.down(name);
  }

  /** Ends a query that is under way, too. */
  close(): void {
    this.#ending.abort();
    this.#timer?.stop();
    this.#redialer.close();
  }

  async #poll(): Promise<void> {
    const { resolve, query, pollingInterval } = this.#options;
    const { signal } = this.#ending;
    const [dnsResult] = await Promise.all([resolve(query, signal).catch(asFailure), this.#findOwn()]);
    if (signal.aborted) return;
    this.#looks += 1;
    if ([dnsResult.ipv4, dnsResult.ipv6].some((dnsAnswer) => 'addresses' in dnsAnswer)) this.#answers += 1;
    this.#take('ipv4', dnsResult.ipv4);
    this.#take('ipv6', dnsResult.ipv6);
    this.#dial();
    this.#timer = new Timer(this.#looks < firstLooks ? Math.min(soon, pollingInterval) : pollingInterval, () => void this.#poll());
  }

  /** A node that goes by a host name is under the query with the addresses of that host. */
  async #findOwn(): Promise<void> {
    if (this.#own.length > 0) return;
    this.#own = await addresses(this.#ownHost, this.#options.resolve, this.#ending.signal).catch(() => []);
  }

  /** Each family is known by its last answer: one that fails keeps what it had. */
  #take(family: Family, dnsAnswer: DnsAnswer): void {
    const { log, query } = this.#options;
    const record = family === 'ipv4' ? 'A' : 'AAAA';
    if ('addresses' in dnsAnswer) {
      if (this.#failing.delete(family)) log.info({ query, record }, 'the DNS query is answered again');
      this.#known[family] = [...new Set(dnsAnswer.addresses.flatMap((each) => normalizeAddress(each) ?? []))].sort();
    } else if (!this.#failing.has(family)) {
      this.#failing.add(family);
      log.warn({ query, record, reason: dnsAnswer.failure }, 'the DNS query fails, what is known of it stays');
    }
  }

  #dial(): void {
    const { pollingInterval } = this.#options;
    const mine = new Set([...this.#own, ...this.#ownOfOtherFamily()]);
    const others = this.#bounded([...this.#known.ipv4, ...this.#known.ipv6].filter((address) => !mine.has(address)));
    const wanted = new Map(others.map((address) => [`${this.#nodeName}@${address}`, address]));
    for (const name of this.#redialer.names()) if (!wanted.has(name)) this.#redialer.forget(name);
    for (const [name, address] of wanted) {
      this.#redialer.addTarget(name, { longest: this.#isSecond(address) ? Math.max(secondFamilyPause, pollingInterval) : pollingInterval });
    }
  }

  /** This machine's addresses of the family that this node is not named by. Those of its own family may be other nodes beside it. */
  #ownOfOtherFamily(): string[] {
    const families = new Set(this.#own.map(familyOf));
    if (families.size === 0) return [];
    const local = (this.#options.localAddresses ?? localAddresses)().flatMap((each) => normalizeAddress(each) ?? []);
    return local.filter((address) => !families.has(familyOf(address)));
  }

  #isSecond(address: string): boolean {
    return familyOf(address) === 'ipv6' && this.#known.ipv4.length > 0;
  }

  #bounded(found: string[]): string[] {
    const { log, query } = this.#options;
    const cut = found.length > maxAddresses;
    if (cut && !this.#cut) log.warn({ query, addresses: found.length, limit: maxAddresses }, 'the DNS query has more addresses than count');
    this.#cut = cut;
    return found.slice(0, maxAddresses);
  }

  #tellFailure(name: string, failures: number): void {
    const { log, query } = this.#options;
    const address = name.slice(this.#nodeName.length + 1);
    const tell = failures === failuresToTell && !this.#isSecond(address);
    log[tell ? 'info' : 'debug'](
      { node: name, query, failures },
      'an address under the DNS query is no node of this name that can be reached',
    );
  }
}

function localAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => address));
}

function asFailure(error: unknown): DnsResult {
  const failure = error instanceof Error ? error.message : String(error);
  return { ipv4: { failure }, ipv6: { failure } };
}
