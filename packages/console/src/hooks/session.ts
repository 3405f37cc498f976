// Session: log-in state with the API token, stored in sessionStorage only or issued by a node in development mode.
import { fetchScope } from '../api/access.ts';
import { Api, ApiError, errorMessage, fetchSession } from '../api/rest.ts';
import type { Scope } from './console-context.ts';
import { Store } from './store.ts';
import { tabStorage } from './tab-storage.ts';

const key = 'mediarooms.token';
const retryDelay = 1_500;
/** Time between two attempts with a revoked token: an error in a token file may be fixed. */
const loginRetryIntervalMs = 15_000;

export type SessionState =
  | { phase: 'starting'; unreachable: boolean }
  | { phase: 'out'; message: string | undefined }
  | { phase: 'in'; api: Api; scope: Scope; development: boolean };

type Accepted = { value: string; scope: Scope };

export class TokenSession extends Store<{ now: SessionState }> {
  readonly #base: string;
  #closed = false;
  #starting = false;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #refusedRetry: ReturnType<typeof setInterval> | undefined;

  constructor(base: string) {
    super({ now: { phase: 'starting', unreachable: false } });
    this.#base = base;
  }

  /** Asks the node for a token of development mode, else checks the stored one. Retries until the node is reachable. */
  async start(message?: string): Promise<void> {
    this.#starting = true;
    try {
      const session = await fetchSession(this.#base);
      const stored = tabStorage.get(key);
      const found = await firstAccepted(
        this.#base,
        [session.token, stored].filter((each) => each !== undefined),
      );
      if (this.#closed) return;
      this.#starting = false;
      if (found) return this.#enter(found, session.development && found.value === session.token);
      tabStorage.remove(key);
      this.#leave(message);
      if (stored !== undefined) this.#retryRefused(stored);
    } catch {
      if (this.#closed) return;
      if (this.state.now.phase !== 'in') this.update({ now: { phase: 'starting', unreachable: true } });
      this.#retry = setTimeout(() => void this.start(message), retryDelay);
    }
  }

  /** @returns why the token was not accepted; undefined if it was */
  readonly logIn = async (value: string): Promise<string | undefined> => {
    try {
      await this.#take(value);
      return undefined;
    } catch (error) {
      return error instanceof ApiError && error.status === 401 ? 'Invalid token.' : errorMessage(error);
    }
  };

  readonly logOut = (): void => {
    tabStorage.remove(key);
    this.#leave(undefined);
  };

  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    clearInterval(this.#refusedRetry);
  }

  async #take(value: string): Promise<void> {
    const scope = await accepted(this.#base, value);
    if (this.#closed) return;
    tabStorage.set(key, value);
    this.#enter({ value, scope }, false);
  }

  #enter({ value, scope }: Accepted, development: boolean): void {
    clearInterval(this.#refusedRetry);
    const { now } = this.state;
    if (now.phase === 'in' && now.api.token === value && now.scope === scope) return;
    const api = new Api(this.#base, value, () => this.#rejected(api));
    this.update({ now: { phase: 'in', api, scope, development } });
  }

  #leave(message: string | undefined): void {
    clearInterval(this.#refusedRetry);
    this.update({ now: { phase: 'out', message } });
  }

  #rejected(api: Api): void {
    const { now } = this.state;
    // A response to a previous session, e.g. to a late request to delete its peer, does not concern this one.
    if (now.phase !== 'in' || now.api !== api || this.#starting) return;
    // A restarted node in development mode may have another token: request it, else log in again.
    void this.start('The server no longer accepts this API token. Log in with another token. This one is retried automatically.');
  }

  /** A token that was valid and is rejected now. */
  #retryRefused(value: string): void {
    this.#refusedRetry = setInterval(() => document.hidden || this.#take(value).catch(() => undefined), loginRetryIntervalMs);
  }
}

/** Scope of the token. Rejects if the node does not accept it. */
async function accepted(base: string, token: string): Promise<Scope> {
  const api = new Api(base, token);
  await api.check();
  return fetchScope(api);
}

/** The first token that the node accepts. Rejects if the node is unreachable. */
async function firstAccepted(base: string, tokens: readonly string[]): Promise<Accepted | undefined> {
  for (const value of tokens) {
    try {
      return { value, scope: await accepted(base, value) };
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 401 && error.status !== 403)) throw error;
    }
  }
  return undefined;
}
