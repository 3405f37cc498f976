// Leader election over a Lease, by the rules of client-go: https://pkg.go.dev/k8s.io/client-go/tools/leaderelection
import type { Log } from '../log.ts';
import type { KubeClient, Scope } from './client.ts';
import { sleep } from './http/deadline.ts';
import { isAlreadyExists, isConflict } from './http/kube-error.ts';
import { type KubeObject, type OwnerReference, resources, type Stored } from './objects.ts';
import { microTime } from './times.ts';

type LeaseClient = Pick<KubeClient, 'get' | 'create' | 'patch'>;
export type LeaseSpec = {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
};
export type Lease = KubeObject & { spec?: LeaseSpec };

export type LeaderElectorOptions = {
  client: { scoped: (scope: Scope) => LeaseClient };
  namespace: string;
  name: string;
  /** Owner of the Lease, with which it is deleted when no process renews it; set by the last leader. */
  owner?: OwnerReference | undefined;
  /** Name of this process; unique. */
  identity: string;
  /** Validity of the Lease without renewal, in milliseconds. */
  leaseMs?: number;
  /** Leadership ends if no renewal succeeded for this time; shorter than `leaseMs`. */
  renewMs?: number;
  retryMs?: number;
  log: Log;
  /** Monotonic clock in milliseconds. Only the local clock judges the Lease, so clocks may differ. */
  now?: () => number;
  random?: () => number;
  onChange?: (leading: boolean) => void;
};

export class LeaderElector {
  readonly #options: Required<Omit<LeaderElectorOptions, 'client' | 'onChange' | 'owner'>> & Pick<LeaderElectorOptions, 'owner'>;
  readonly #client: LeaseClient;
  readonly #onChange: (leading: boolean) => void;
  /** The record as last seen, and when it was first seen like that. */
  #seen: { record: string; at: number } | undefined;
  /** Start of the last successful renewal. */
  #renewedAt = Number.NEGATIVE_INFINITY;
  #leads = false;
  /** The last error message, to avoid repeated log lines. */
  #lastMessage = '';

  constructor(options: LeaderElectorOptions) {
    const { client, onChange = () => {}, ...rest } = options;
    const defaults = { leaseMs: 15_000, renewMs: 10_000, retryMs: 2000, now: () => performance.now(), random: Math.random };
    this.#options = { ...defaults, ...rest };
    this.#onChange = onChange;
    // A request that hangs must leave time for another attempt before the lease is lost.
    this.#client = client.scoped({ timeoutMs: this.#options.renewMs / 2, urgent: true });
  }

  /**
   * Whether the lease is valid now, by the local clock. It is false immediately after the process was frozen, before any timer fires. For
   * `mayWrite` of KubeClient.scoped.
   */
  get leading(): boolean {
    return this.#leads && this.#options.now() - this.#renewedAt < this.#options.renewMs;
  }

  /**
   * Acquires the lease, leads until `lead` ends, the signal aborts or the lease is lost, then releases the lease. `lost` aborts in the
   * latter two cases; rejections of `lead` are passed on.
   * @returns why it ended
   */
  async run(signal: AbortSignal, lead: (lost: AbortSignal) => Promise<void>): Promise<'ended' | 'lost'> {
    const { identity, log, name, retryMs, random } = this.#options;
    while (!signal.aborted && !(await this.#try())) if (!(await sleep(retryMs * (1 + 0.2 * random()), signal))) break;
    if (signal.aborted) {
      if (this.#holds()) await this.#release();
      return 'ended';
    }
    log.info({ lease: name, identity }, 'acquired leadership');
    this.#setLeads(true);
    const over = new AbortController();
    const renewing = this.#renew(over, signal);
    try {
      await lead(over.signal);
    } finally {
      over.abort(new Error('leadership has ended'));
      this.#setLeads(false);
      await renewing;
      if (this.#holds()) await this.#release();
    }
    return over.signal.reason instanceof LeaseLost ? 'lost' : 'ended';
  }

  /** Renews until `over` aborts; aborts it when the lease is lost or the signal aborts. */
  async #renew(over: AbortController, signal: AbortSignal): Promise<void> {
    const { log, name, renewMs, retryMs } = this.#options;
    const end = () => over.abort(signal.reason);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
    const lose = (why: string) => {
      if (over.signal.aborted) return;
      this.#setLeads(false);
      log.error({ lease: name, renewMs }, why);
      over.abort(new LeaseLost(why));
    };
    const check = () => {
      if (!this.leading) lose('lease was not renewed in time, leadership lost');
    };
    // A separate timer, because a hanging request must not hide an expired lease.
    const watch = setInterval(check, Math.min(retryMs / 4, 500));
    while (await sleep(retryMs, over.signal)) {
      // After a freeze another process may have led, so an expired lease is not renewed.
      check();
      if (!over.signal.aborted && !(await this.#try()) && !this.#holds()) lose('another process acquired the lease');
    }
    clearInterval(watch);
    signal.removeEventListener('abort', end);
  }

  /** Whether the last seen record names this process. */
  #holds(): boolean {
    return this.#seen?.record.startsWith(`${this.#options.identity}|`) ?? false;
  }

  /** Acquires or renews the lease if it is free, expired or ours. @returns whether it is ours now */
  async #try(): Promise<boolean> {
    const { namespace, name, identity, log, now } = this.#options;
    const begun = now();
    try {
      const lease = await this.#client.get<Lease>(resources.leases, { namespace, name });
      const spec = this.#claim(lease?.spec ?? {});
      if (lease) {
        this.#observe(lease.spec ?? {}, now());
        if (!this.#isFree(lease.spec ?? {})) return false;
        await this.#write(lease, spec);
      } else {
        const { apiVersion, kind } = resources.leases;
        await this.#client.create<Lease>(resources.leases, { apiVersion, kind, metadata: { name, namespace, ...this.#owned() }, spec });
      }
      this.#observe(spec, begun);
      // Others count from their first sight of the record, which is later.
      this.#renewedAt = begun;
      this.#lastMessage = '';
      return true;
    } catch (error) {
      // Another process was faster, or the API server is unreachable and the record is unchanged.
      const beaten = isConflict(error) || isAlreadyExists(error);
      const { message } = error as Error;
      // Repeated attempts of an outage have the same message; it is logged once.
      log[beaten || message === this.#lastMessage ? 'debug' : 'warn']({ lease: name, identity, error: message }, 'could not acquire lease');
      this.#lastMessage = message;
      return false;
    }
  }

  #isFree(spec: LeaseSpec): boolean {
    const { identity, leaseMs, now } = this.#options;
    if (spec.holderIdentity === identity) return true;
    // A leader renews but never acquires, because another process held the lease in between.
    if (this.#leads) return false;
    if (!spec.holderIdentity) return true;
    const lasts = spec.leaseDurationSeconds === undefined ? leaseMs : spec.leaseDurationSeconds * 1000;
    return now() - (this.#seen?.at ?? Number.POSITIVE_INFINITY) >= lasts;
  }

  #claim(old: LeaseSpec): LeaseSpec {
    const { identity, leaseMs } = this.#options;
    const time = microTime(Date.now());
    const mine = old.holderIdentity === identity;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.max(1, Math.ceil(leaseMs / 1000)),
      renewTime: time,
      acquireTime: mine && old.acquireTime !== undefined ? old.acquireTime : time,
      leaseTransitions: (old.leaseTransitions ?? 0) + (mine || old.holderIdentity === undefined ? 0 : 1),
    };
  }

  #owned(): { ownerReferences?: OwnerReference[] } {
    const { owner } = this.#options;
    return owner === undefined ? {} : { ownerReferences: [owner] };
  }

  #setLeads(leads: boolean): void {
    if (this.#leads === leads) return;
    this.#leads = leads;
    this.#onChange(leads);
  }

  #observe(spec: LeaseSpec, at: number): void {
    const record = `${spec.holderIdentity}|${spec.renewTime}|${spec.leaseTransitions}`;
    if (this.#seen?.record !== record) this.#seen = { record, at };
  }

  async #write(lease: Stored<Lease>, spec: LeaseSpec): Promise<void> {
    const { namespace, name } = this.#options;
    const { resourceVersion } = lease.metadata;
    const metadata = { resourceVersion, ...this.#owned() };
    const written = await this.#client.patch<Lease>(resources.leases, { namespace, name }, { metadata, spec });
    if (!written) throw new Error('The lease was deleted concurrently');
  }

  /** Lets the next leader start immediately; otherwise the lease expires. */
  async #release(): Promise<void> {
    const { namespace, name, identity, log } = this.#options;
    this.#seen = undefined;
    this.#renewedAt = Number.NEGATIVE_INFINITY;
    try {
      const lease = await this.#client.get<Lease>(resources.leases, { namespace, name });
      if (lease?.spec?.holderIdentity !== identity) return;
      await this.#write(lease, { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime(Date.now()) });
      log.info({ lease: name, identity }, 'released lease');
    } catch (error) {
      log.warn({ lease: name, identity, error: (error as Error).message }, 'could not release lease');
    }
  }
}

class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}
