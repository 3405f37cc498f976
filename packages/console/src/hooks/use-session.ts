// Who is logged in: the API token of this tab, kept in sessionStorage only, or the one that a node in development mode gives.
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
/** Time between two attempts with a token that was taken back: files of tokens are changed by mistake, and mended. */
const loginRetryIntervalMs = 15_000;

type Accepted = { value: string; scope: Scope };
type Token = Accepted & { development: boolean };

export function useSession(base: string): [SessionState, SessionActions] {
  const [token, setToken] = useState<Token>();
  const [message, setMessage] = useState<string>();
  const [starting, setStarting] = useState(true);
  const [unreachable, setUnreachable] = useState(false);
  /** Was good once, and is not any more. */
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
      // An answer to the session before, e.g. to the goodbye of whoever was in a room, says nothing of this one.
      if (newest.current !== token) return;
      // A node that was started again may have another token: ask it, else log in again.
      setMessage('The server no longer accepts this API token. Log in with another one; this one is tried again now and then.');
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
        return error instanceof ApiError && error.status === 401 ? 'This token is wrong. Check it and try again.' : errorMessage(error);
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

/** What the token allows. Rejects where it is not accepted. */
async function accepted(base: string, token: string): Promise<Scope> {
  const api = new Api(base, token);
  await api.check();
  return fetchScope(api);
}

/** The first token that the node takes. Rejects where the node does not answer. */
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
