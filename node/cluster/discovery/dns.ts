// DNS discovery: polls one query and dials each address as a node with the base name of this node.
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Log } from '../../common/log.ts';
import { Timer } from '../../common/timer.ts';
import { splitNodeName } from '../erlang/node-names.ts';
import { type Family, familyOf, normalizeAddress } from './addresses.ts';
import { addresses } from './node-name-from-dns.ts';
import { Redialer, type RedialerOptions } from './redialer.ts';
import type { DnsAnswer, DnsResolver, DnsResult } from './resolver.ts';

/** Maximum number of addresses of one query: in ascending order, IPv4 first. */
const maxAddresses = 1_000;
/** Failed dials before a warning. A starting node is in DNS before it listens. */
const failuresToTell = 3;
/** Nodes that start at the same time appear in DNS one after the other. The first polls use the short interval `soon`. */
const firstPolls = 6;
const soon = 1_000;
/** An IPv6 address next to IPv4 is usually the second address of the same node, so it is dialed rarely. Milliseconds. */
const secondFamilyPause = 30_000;

export type DnsOptions = Omit<RedialerOptions, 'onFailure'> & {
  query: string;
  /**
   * Interval in milliseconds between the end of a query and the next one, after the first polls. Also the maximum delay between two dials
   * of an address.
   */
  pollingInterval: number;
  log: Log;
  resolve: DnsResolver;
  /** All addresses of the local interfaces. */
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
  #polls = 0;
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

  /** True if there may be nodes that were not found yet. */
  get discovering(): boolean {
    return this.#answers < 2 || this.#polls < firstPolls || this.#redialer.dialing;
  }

  /** True if all addresses of the first results were dialed. */
  get dialed(): boolean {
    return this.#answers > 0 && !this.#redialer.dialing;
  }

  /** The connection to a node was lost. */
  down(name: string): void {
    this.#redialer.down(name);
  }

  /** Stops, and cancels a query in progress. */
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
    this.#polls += 1;
    if ([dnsResult.ipv4, dnsResult.ipv6].some((dnsAnswer) => 'addresses' in dnsAnswer)) this.#answers += 1;
    this.#take('ipv4', dnsResult.ipv4);
    this.#take('ipv6', dnsResult.ipv6);
    this.#dial();
    this.#timer = new Timer(this.#polls < firstPolls ? Math.min(soon, pollingInterval) : pollingInterval, () => void this.#poll());
  }

  /** If the node name has a host name, the query lists the addresses of that host. */
  async #findOwn(): Promise<void> {
    if (this.#own.length > 0) return;
    this.#own = await addresses(this.#ownHost, this.#options.resolve, this.#ending.signal).catch(() => []);
  }

  /** Each family keeps its last successful result if a query fails. */
  #take(family: Family, dnsAnswer: DnsAnswer): void {
    const { log, query } = this.#options;
    const record = family === 'ipv4' ? 'A' : 'AAAA';
    if ('addresses' in dnsAnswer) {
      if (this.#failing.delete(family)) log.info({ query, record }, 'DNS query recovered');
      this.#known[family] = [...new Set(dnsAnswer.addresses.flatMap((each) => normalizeAddress(each) ?? []))].sort();
    } else if (!this.#failing.has(family)) {
      this.#failing.add(family);
      log.warn({ query, record, reason: dnsAnswer.failure }, 'DNS query failed, keeping last known addresses');
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

  /**
   * Local addresses of the family that the node name does not use. Local addresses of the same family may belong to other nodes on this
   * host.
   */
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
    if (cut && !this.#cut) log.warn({ query, addresses: found.length, limit: maxAddresses }, 'too many DNS addresses, ignoring the rest');
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
