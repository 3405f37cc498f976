// Guarded HTTP agents: reject private addresses at connect time, so that a DNS name cannot change after a check (SSRF protection).
import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import type { AgentOptions, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { Agent } from './builtin-http.ts';
import { isPrivateAddress } from './private-addresses.ts';

/** The host has no public address; retries cannot succeed. */
export class ForbiddenAddressError extends Error {
  constructor(host: string) {
    super(`${host} is or resolves to a private address, which is forbidden`);
    this.name = 'ForbiddenAddressError';
  }
}

export type Guard = {
  allowPrivate: () => boolean;
  lookup?: LookupFunction | undefined;
};
export type GuardedAgents = { http: HttpAgent; https: HttpsAgent };

/** Requests to a private address fail with ForbiddenAddressError. */
export function guardedAgents(guard: Guard, options: AgentOptions): GuardedAgents {
  const guarded = { ...options, lookup: guardedLookup(guard) };
  return { http: new GuardedHttpAgent(guard, guarded), https: new GuardedHttpsAgent(guard, guarded) };
}

type Create = HttpAgent['createConnection'];

class GuardedHttpAgent extends Agent {
  readonly #guard: Guard;

  constructor(guard: Guard, options: AgentOptions) {
    super(options);
    this.#guard = guard;
  }

  override createConnection(...[options, callback]: Parameters<Create>): ReturnType<Create> {
    return refused(this.#guard, options, callback) ? undefined : super.createConnection(options, callback);
  }
}

class GuardedHttpsAgent extends HttpsAgent {
  readonly #guard: Guard;

  constructor(guard: Guard, options: AgentOptions) {
    super(options);
    this.#guard = guard;
  }

  override createConnection(...[options, callback]: Parameters<HttpsAgent['createConnection']>): ReturnType<Create> {
    return refused(this.#guard, options, callback) ? undefined : super.createConnection(options, callback);
  }
}

/** IP addresses are connected without a lookup. Throwing here would end the process if the request was queued. */
function refused({ allowPrivate }: Guard, { host }: { host?: string | null }, callback: Parameters<Create>[1]): boolean {
  const address = (host ?? '').replace(/^\[|\]$/g, '');
  if (isIP(address) === 0 || allowPrivate() || !isPrivateAddress(address)) return false;
  process.nextTick(() => (callback as ((error: Error) => void) | undefined)?.(new ForbiddenAddressError(address)));
  return true;
}

function guardedLookup({ allowPrivate, lookup = systemLookup as LookupFunction }: Guard): LookupFunction {
  return (host, options, callback) => {
    if (allowPrivate()) return lookup(host, options, callback);
    lookup(host, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, []);
      const addresses: LookupAddress[] = typeof found === 'string' ? [{ address: found, family: isIP(found) }] : found;
      const allowed = addresses.filter(({ address }) => !isPrivateAddress(address));
      const [first] = allowed;
      if (!first) return callback(new ForbiddenAddressError(host), []);
      return options.all ? callback(null, allowed) : callback(null, first.address, first.family);
    });
  };
}
