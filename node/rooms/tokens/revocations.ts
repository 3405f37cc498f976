// Revocations: names of rooms or peers that were deleted, so that access tokens issued before that are not valid any more.

/** `at`: milliseconds since 1970. */
type Revocation = { name: string; at: number };

export type RevocationsOptions = {
  /** Longest validity of an access token in milliseconds: older revocations have no effect. */
  maxTtl: () => number;
  /** Maximum number of names; beyond it the oldest are forgotten. */
  max: number;
  /** Milliseconds since 1970. */
  now?: () => number;
};

export class Revocations {
  readonly #options: RevocationsOptions;
  readonly #now: () => number;
  /** Oldest first. */
  readonly #times = new Map<string, number>();

  constructor(options: RevocationsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  get size(): number {
    return this.#times.size;
  }

  /** `at`: when it was deleted, if another node did it; its clock may be ahead. */
  add(name: string, at = Number.POSITIVE_INFINITY): void {
    const known = this.#times.get(name) ?? 0;
    this.#times.delete(name);
    this.#times.set(name, Math.max(Math.min(at, this.#now()), known));
    this.#prune();
  }

  /** True if a token was issued before the deletion, or in the same second, which is the resolution of tokens. */
  includes(name: string, issuedAt: number): boolean {
    const at = this.#times.get(name);
    return at !== undefined && issuedAt <= at;
  }

  /** For other nodes. */
  all(): Revocation[] {
    this.#prune();
    return [...this.#times].map(([name, at]) => ({ name, at }));
  }

  #prune(): void {
    const { maxTtl, max } = this.#options;
    const expired = this.#now() - maxTtl();
    for (const [name, at] of this.#times) {
      if (this.#times.size <= max && at > expired) break;
      this.#times.delete(name);
    }
  }
}
