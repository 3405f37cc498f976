// useSession: log-in state with the API token, stored in sessionStorage only or issued by a node in development mode.
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { fetchScope } from '../api/access.ts';
import { Api, ApiError, errorMessage, fetchSession } from '../api/rest.ts';
import type { Scope } from './console-context.ts';
import { tabStorage } from './tab-storage.ts';

const key = 'mediarooms.token';

export type SessionState =
  | { phase: 'starting'; unreachable: boolean }
  | { phase: 'out'; message: string | undefined }
  | { phase: 'in'; api: Api; scope: Scope; development: boolean };

export type SessionActions = { logIn: (token: string) => Promise<string | undefined>; logOut: () => void };

const retryDelay = 1_500;
/** Time between two attempts with a revoked token: a mistake in a token file may be fixed. */
const loginRetryIntervalMs = 15_000;

type Accepted = { value: string; scope: Scope };
type Token = Accepted & { development: boolean };

export function useSession(base: string): [SessionState, SessionActions] {
  const [token, setToken] = useState<Token>();
  const [message, setMessage] = useState<string>();
  const [starting, setStarting] = useState(true);
  const [unreachable, setUnreachable] = useState(false);
  /** A token that was valid and is rejected now. */
  const [refused, setRefused] = useState<string>();

  useEffect(() => {
    if (!starting) return undefined;
    let stopped = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const start = async () => {
      try {
        const session = await fetchSession(base);
        const candidates = [session.token, tabStorage.get(key)].filter((each) => each !== undefined);
        const found = await firstAccepted(base, candidates);
        if (stopped) return;
        if (found === undefined) {
          setRefused(tabStorage.get(key));
          tabStorage.remove(key);
        }
        const development = session.development && found?.value === session.token;
        setToken((before) => found && (before && isSame(before, found) ? before : { ...found, development }));
        setUnreachable(false);
        setStarting(false);
      } catch {
        if (stopped) return;
        setUnreachable(true);
        timer = setTimeout(start, retryDelay);
      }
    };
    void start();
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }, [base, starting]);

  const newest = useRef(token);
  newest.current = token;
  const api = useMemo(() => {
    if (!token) return undefined;
    return new Api(base, token.value, () => {
      // A response to a previous session, e.g. to a late request to delete its peer, does not concern this one.
      if (newest.current !== token) return;
      // A restarted node in development mode may have another token: request it, else log in again.
      setMessage('The server no longer accepts this API token. Log in with another token. This one is retried automatically.');
      setStarting(true);
    });
  }, [base, token]);

  const take = useCallback(
    async (value: string): Promise<void> => {
      const scope = await accepted(base, value);
      tabStorage.set(key, value);
      setMessage(undefined);
      setRefused(undefined);
      setToken({ value, scope, development: false });
    },
    [base],
  );
  useEffect(() => {
    if (refused === undefined) return undefined;
    const timer = setInterval(() => document.hidden || take(refused).catch(() => undefined), loginRetryIntervalMs);
    return () => clearInterval(timer);
  }, [refused, take]);

  const logIn = useCallback(
    async (value: string): Promise<string | undefined> => {
      try {
        await take(value);
        return undefined;
      } catch (error) {
        return error instanceof ApiError && error.status === 401 ? 'Invalid token.' : errorMessage(error);
      }
    },
    [take],
  );
  const logOut = useCallback(() => {
    tabStorage.remove(key);
    setMessage(undefined);
    setRefused(undefined);
    setToken(undefined);
  }, []);

  const actions = useMemo(() => ({ logIn, logOut }), [logIn, logOut]);
  const inside = useMemo(
    () => (api && token ? { phase: 'in' as const, api, scope: token.scope, development: token.development } : undefined),
    [api, token],
  );
  if (inside) return [inside, actions];
  return [starting ? { phase: 'starting', unreachable } : { phase: 'out', message }, actions];
}

const isSame = (a: Accepted, b: Accepted): boolean => a.value === b.value && a.scope === b.scope;

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
