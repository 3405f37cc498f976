// Claims of namespaces: a Lease in each namespace names the installation that manages it, so that two never change the same objects.
import { eachOf } from '../each-of.ts';
import type { Log } from '../log.ts';
import type { KubeClient, Scope } from './client.ts';
import type { Reconciled } from './controller.ts';
import { sleep } from './http/deadline.ts';
import { conflict, isAlreadyExists, isConflict, isForbidden, isNotFound } from './http/kube-error.ts';
import type { Lease, LeaseSpec } from './lease.ts';
import { type OwnerReference, resources, type Stored } from './objects.ts';
import { microTime } from './times.ts';

export const claimName = 'mediarooms-claim';

type LeaseClient = Pick<KubeClient, 'get' | 'create' | 'patch'>;

export type NamespaceClaimsOptions = {
  client: { scoped: (scope: Scope) => LeaseClient };
  /** Name of the installation; all its replicas have the same. */
  installation: string;
  /** Validity of the Lease of the leader, in milliseconds; a claim is valid four times as long, or once after the operator ended. */
  leaseMs: number;
  /** Owner of the claim of its namespace, with which the claim is deleted. */
  owner?: { namespace: string; reference: OwnerReference } | undefined;
  log: Log;
  /** Monotonic clock in milliseconds. Only the local clock judges a claim, so clocks may differ. */
  now?: () => number;
};

/** `open`: the operator may not write Leases there, so it manages the namespace without a claim. */
type State = 'unknown' | 'ours' | 'foreign' | 'open';

type Claim = {
  state: State;
  /** The installation that holds it. */
  holder: string;
  renewedAt: number;
  /** Of the Lease as last written. */
  resourceVersion: string | undefined;
  /** The record as last seen, and when it was first seen like that. */
  seen: { record: string; at: number } | undefined;
  attempt: Promise<void> | undefined;
};

export class NamespaceClaims {
  readonly #options: NamespaceClaimsOptions;
  readonly #client: LeaseClient;
  readonly #now: () => number;
  readonly #claims = new Map<string, Claim>();
  readonly #claimMs: number;
  /** Interval of attempts for claims that are not ours; ours are renewed at every second one. */
  readonly retryMs: number;

  constructor(options: NamespaceClaimsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#claimMs = options.leaseMs * 4;
    this.retryMs = (options.leaseMs * 2) / 3;
    this.#client = options.client.scoped({ timeoutMs: this.retryMs, urgent: true });
  }

  /** The other installation that manages the namespace; undefined if this one may. @throws KubeError if that is not known */
  async conflict(namespace: string): Promise<{ holder: string } | undefined> {
    const claim = this.#of(namespace);
    const { state } = claim;
    if (state === 'unknown' || this.#isStale(claim)) await this.#tryOnce(namespace, claim);
    if (claim.state === 'foreign') return { holder: claim.holder };
    if (this.#isStale(claim)) throw new Error(`The claim of namespace "${namespace}" was not renewed in time`);
    return undefined;
  }

  /** Renews claims and watches those of others, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (await sleep(this.retryMs, signal)) await this.renew();
  }

  /** One attempt for each claim that is due. */
  async renew(): Promise<void> {
    const due = [...this.#claims].filter(([, { state, renewedAt }]) => state !== 'ours' || this.#now() - renewedAt >= this.retryMs * 1.5);
    // Failed attempts are logged, and repeated.
    await eachOf(due, 8, ([namespace, claim]) => this.#tryOnce(namespace, claim).catch(() => {}));
  }

  /** After the last write: shortens our claims, so that a replica has time to continue, and another installation need not wait long. */
  async end(): Promise<void> {
    const ours = [...this.#claims].filter(([, { state }]) => state === 'ours');
    const spec = { leaseDurationSeconds: this.#seconds(this.#options.leaseMs), renewTime: microTime(Date.now()) };
    await eachOf(ours, 8, ([namespace, { resourceVersion }]) =>
      this.#client.patch(resources.leases, { namespace, name: claimName }, { metadata: { resourceVersion }, spec }).catch(() => {}),
    );
    this.#claims.clear();
  }

  #of(namespace: string): Claim {
    const known = this.#claims.get(namespace);
    if (known) return known;
    const never = Number.NEGATIVE_INFINITY;
    const claim: Claim = {
      state: 'unknown',
      holder: '',
      renewedAt: never,
      resourceVersion: undefined,
      seen: undefined,
      attempt: undefined,
    };
    this.#claims.set(namespace, claim);
    return claim;
  }

  /** True if another installation may soon count our claim as expired. */
  #isStale({ state, renewedAt }: Claim): boolean {
    return state === 'ours' && this.#now() - renewedAt >= this.#claimMs / 2;
  }

  /** Concurrent callers share an attempt. */
  async #tryOnce(namespace: string, claim: Claim): Promise<void> {
    claim.attempt ??= this.#try(namespace, claim).finally(() => {
      claim.attempt = undefined;
    });
    await claim.attempt;
  }

  /** @throws KubeError if the claim could neither be written nor be read */
  async #try(namespace: string, claim: Claim, mayRepeat = true): Promise<void> {
    const { installation, log } = this.#options;
    const begun = this.#now();
    try {
      const lease = await this.#client.get<Lease>(resources.leases, { namespace, name: claimName });
      if (lease && !this.#isFree(claim, lease.spec ?? {})) return this.#become(namespace, claim, 'foreign', lease.spec?.holderIdentity);
      claim.resourceVersion = (await this.#write(namespace, lease)).metadata.resourceVersion;
      claim.renewedAt = begun;
      this.#become(namespace, claim, 'ours', installation);
    } catch (error) {
      // Another process was faster: the next attempt sees which.
      if (mayRepeat && (isConflict(error) || isAlreadyExists(error))) return await this.#try(namespace, claim, false);
      // The namespace was deleted.
      if (isNotFound(error)) this.#claims.delete(namespace);
      // A namespace that is being deleted rejects new Leases too, and its objects still need the operator.
      if (isForbidden(error)) return this.#become(namespace, claim, 'open', '', error as Error);
      log.debug({ namespace, err: error }, 'could not claim namespace');
      throw error;
    }
  }

  /** Whether the claim is ours, released or expired by the local clock. */
  #isFree(claim: Claim, { holderIdentity, renewTime, leaseDurationSeconds = 0 }: LeaseSpec): boolean {
    const record = `${holderIdentity}|${renewTime}|${leaseDurationSeconds}`;
    if (claim.seen?.record !== record) claim.seen = { record, at: this.#now() };
    if (!holderIdentity || holderIdentity === this.#options.installation) return true;
    return this.#now() - claim.seen.at >= leaseDurationSeconds * 1000;
  }

  async #write(namespace: string, lease: Stored<Lease> | undefined): Promise<Stored<Lease>> {
    const { installation, owner } = this.#options;
    const time = microTime(Date.now());
    const isOurs = lease?.spec?.holderIdentity === installation;
    const { leaseTransitions = 0, acquireTime } = lease?.spec ?? {};
    const spec: LeaseSpec = {
      holderIdentity: installation,
      leaseDurationSeconds: this.#seconds(this.#claimMs),
      renewTime: time,
      acquireTime: isOurs && acquireTime !== undefined ? acquireTime : time,
      leaseTransitions: leaseTransitions + (isOurs || !lease ? 0 : 1),
    };
    const ref = { namespace, name: claimName };
    const { apiVersion, kind } = resources.leases;
    const owned = owner?.namespace === namespace ? { ownerReferences: [owner.reference] } : {};
    const metadata = { resourceVersion: lease?.metadata.resourceVersion, ...owned };
    const written = lease
      ? await this.#client.patch<Lease>(resources.leases, ref, { metadata, spec })
      : await this.#client.create<Lease>(resources.leases, { apiVersion, kind, metadata: { ...ref, ...owned }, spec });
    if (!written) throw conflict(`The Lease "${claimName}" was deleted concurrently`);
    return written;
  }

  #become(namespace: string, claim: Claim, state: State, holder = '', error?: Error): void {
    const changed = claim.state !== state || claim.holder !== holder;
    Object.assign(claim, { state, holder });
    if (!changed) return;
    const { log } = this.#options;
    if (state === 'ours') log.info({ namespace, claim: claimName }, 'claimed namespace');
    else if (state === 'foreign') log.warn({ namespace, holder }, 'another operator manages namespace, changing nothing there');
    else log.warn({ namespace, error: error?.message }, 'could not write claim, managing namespace without it');
  }

  #seconds(ms: number): number {
    return Math.max(1, Math.ceil(ms / 1000));
  }
}

type Reconcile = (key: string, signal: AbortSignal) => Promise<Reconciled>;

/** A reconcile that does nothing in a namespace that another installation manages. Without claims (dry run, tests) it does everything. */
export function whereClaimed(
  claims: Pick<NamespaceClaims, 'conflict' | 'retryMs'> | undefined,
  reconcile: Reconcile,
  report: (key: string, holder: string) => void = () => {},
): Reconcile {
  if (!claims) return reconcile;
  return async (key, signal) => {
    const other = await claims.conflict(key.slice(0, key.indexOf('/')));
    if (other === undefined) return await reconcile(key, signal);
    report(key, other.holder);
    return { requeueAfterMs: claims.retryMs };
  };
}
