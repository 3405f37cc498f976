// Leader election over a Lease, by the rules of client-go: https://pkg.go.dev/k8s.io/client-go/tools/leaderelection
import type { Log } from '../log.ts';
import type { KubeClient, Scope } from './client.ts';
import { sleep } from './http/deadline.ts';
import { isAlreadyExists, isConflict } from './http/kube-error.ts';
import { microTime } from './micro-time.ts';
import { type KubeObject, type OwnerReference, resources, type Stored } from './objects.ts';

type LeaseClient = Pick<KubeClient, 'get' | 'create' | 'patch'>;
type LeaseSpec = {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
};
type Lease = KubeObject & { spec?: LeaseSpec };

export type LeaderElectorOptions = {
  client: { scoped: (scope: Scope) => LeaseClient };
  namespace: string;
  name: string;
  /** With what the lease is to go once nobody renews it; it is that of the last who took it. */
  owner?: OwnerReference | undefined;
  /** Who we are; another one per process. */
  identity: string;
  /** How long others wait for our next sign of life. */
  leaseMs?: number;
  /** We give up when no renewal succeeded for so long; shorter than `leaseMs`. */
  renewMs?: number;
  retryMs?: number;
  log: Log;
  /** A monotonic clock in milliseconds: by it alone a lease is judged, so that clocks may differ. */
  now?: () => number;
  random?: () => number;
  onChange?: (leading: boolean) => void;
};

export class LeaderElector {
  readonly #options: Required<Omit<LeaderElectorOptions, 'client' | 'onChange' | 'owner'>> & Pick<LeaderElectorOptions, 'owner'>;
  readonly #client: LeaseClient;
  readonly #onChange: (leading: boolean) => void;
  /** The record as it was last seen, and when we first saw it so. */
  #seen: { record: string; at: number } | undefined;
  /** When the renewal that succeeded last was begun. */
  #renewedAt = Number.NEGATIVE_INFINITY;
  #leads = false;
  /** What went wrong the last time. */
  #said = '';

  constructor(options: LeaderElectorOptions) {
    const { client, onChange = () => {}, ...rest } = options;
    const defaults = { leaseMs: 15_000, renewMs: 10_000, retryMs: 2000, now: () => performance.now(), random: Math.random };
    this.#options = { ...defaults, ...rest };
    this.#onChange = onChange;
    // A call that hangs must leave time for another one before the lease is lost.
    this.#client = client.scoped({ timeoutMs: this.#options.renewMs / 2, urgent: true });
  }

  /**
   * Whether the lease is ours at this very moment, by our own clock: false also right after the process was frozen,
   * before any timer could tell. For KubeClient.scoped's `mayWrite`.
   */
  get leading(): boolean {
    return this.#leads && this.#options.now() - this.#renewedAt < this.#options.renewMs;
  }

  /**
   * Waits for the lease, leads until `lead` ends, the signal aborts or the lease is lost, then gives the lease back.
   * `lost` aborts in both of the latter cases; what `lead` rejects with is passed on.
   * @returns why it ended
   */
  async run(signal: AbortSignal, lead: (lost: AbortSignal) => Promise<void>): Promise<'ended' | 'lost'> {
    const { identity, log, name, retryMs, random } = this.#options;
    while (!signal.aborted && !(await this.#try())) if (!(await sleep(retryMs * (1 + 0.2 * random()), signal))) break;
    if (signal.aborted) {
      if (this.#holds()) await this.#release();
      return 'ended';
    }
    log.info({ lease: name, identity }, 'this process leads');
    this.#setLeads(true);
    const over = new AbortController();
    const renewing = this.#renew(over, signal);
    try {
      await lead(over.signal);
    } finally {
      over.abort(new Error('leading has ended'));
      this.#setLeads(false);
      await renewing;
      if (this.#holds()) await this.#release();
    }
    return over.signal.reason instanceof LeaseLost ? 'lost' : 'ended';
  }

  /** Until `over` aborts; aborts it itself when the lease is lost or the signal says so. */
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
      if (!this.leading) lose('the lease could not be renewed in time: this process does not lead any more');
    };
    // Apart from the calls: one that hangs must not hide that the time is over.
    const watch = setInterval(check, Math.min(retryMs / 4, 500));
    while (await sleep(retryMs, over.signal)) {
      // After a time of being frozen others may have led meanwhile: what is over is not renewed.
      check();
      if (!over.signal.aborted && !(await this.#try()) && !this.#holds()) lose('another process took the lease');
    }
    clearInterval(watch);
    signal.removeEventListener('abort', end);
  }

  /** Whether, as far as was seen, the record names us. */
  #holds(): boolean {
    return this.#seen?.record.startsWith(`${this.#options.identity}|`) ?? false;
  }

  /** Takes or renews the lease where it is free, over or ours; says whether it is ours now. */
  async #try(): Promise<boolean> {
    const { namespace, name, identity, log, now } = this.#options;
    const begun = now();
    try {
      const lease = await this.#client.get<Lease>(resources.leases, { namespace, name });
      const spec = this.#claim(lease?.spec ?? {});
      if (lease) {
        this.#see(lease.spec ?? {}, now());
        if (!this.#isFree(lease.spec ?? {})) return false;
        await this.#write(lease, spec);
      } else {
        const { apiVersion, kind } = resources.leases;
        await this.#client.create<Lease>(resources.leases, { apiVersion, kind, metadata: { name, namespace, ...this.#owned() }, spec });
      }
      this.#see(spec, begun);
      // Others count from when they see it, which is later.
      this.#renewedAt = begun;
      this.#said = '';
      return true;
    } catch (error) {
      // Somebody was faster; or the API server is away: then the record stays what it was.
      const beaten = isConflict(error) || isAlreadyExists(error);
      const { message } = error as Error;
      // Each try of an outage says the same: once is enough.
      log[beaten || message === this.#said ? 'debug' : 'warn']({ lease: name, identity, error: message }, 'the lease could not be had');
      this.#said = message;
      return false;
    }
  }

  #isFree(spec: LeaseSpec): boolean {
    const { identity, leaseMs, now } = this.#options;
    if (spec.holderIdentity === identity) return true;
    // Who leads keeps what is its own, but takes nothing: in between somebody else had it.
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

  #see(spec: LeaseSpec, at: number): void {
    const record = `${spec.holderIdentity}|${spec.renewTime}|${spec.leaseTransitions}`;
    if (this.#seen?.record !== record) this.#seen = { record, at };
  }

  async #write(lease: Stored<Lease>, spec: LeaseSpec): Promise<void> {
    const { namespace, name } = this.#options;
    const { resourceVersion } = lease.metadata;
    const metadata = { resourceVersion, ...this.#owned() };
    const written = await this.#client.patch<Lease>(resources.leases, { namespace, name }, { metadata, spec });
    if (!written) throw new Error('the lease was deleted meanwhile');
  }

  /** So that the next one need not wait; without it the lease runs out by itself. */
  async #release(): Promise<void> {
    const { namespace, name, identity, log } = this.#options;
    this.#seen = undefined;
    this.#renewedAt = Number.NEGATIVE_INFINITY;
    try {
      const lease = await this.#client.get<Lease>(resources.leases, { namespace, name });
      if (lease?.spec?.holderIdentity !== identity) return;
      await this.#write(lease, { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime(Date.now()) });
      log.info({ lease: name, identity }, 'the lease is given back');
    } catch (error) {
      log.warn({ lease: name, identity, error: (error as Error).message }, 'the lease could not be given back');
    }
  }
}

class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}
