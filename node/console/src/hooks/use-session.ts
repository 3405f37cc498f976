// Who is logged in: the API token of this tab, kept in sessionStorage only, or the one that a node in development mode gives.
import { useCallback, useEffect, useMemo, useState } from 'react';
import { Api, ApiError, fetchSession, sentenceOf } from '../api/rest.ts';
import { tabStorage } from './tab-storage.ts';

const key = 'mediarooms.token';

export type SessionState =
  | { phase: 'starting'; unreachable: boolean }
  | { phase: 'out'; message: string | undefined }
  | { phase: 'in'; api: Api; development: boolean };

export type SessionActions = { logIn: (token: string) => Promise<string | undefined>; logOut: () => void };

const retryDelay = 1_500;

export function useSession(base: string): [SessionState, SessionActions] {
  const [token, setToken] = useState<{ value: string; development: boolean } | undefined>();
  const [message, setMessage] = useState<string>();
  const [starting, setStarting] = useState(true);
  const [unreachable, setUnreachable] = useState(false);

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
        if (found === undefined) tabStorage.remove(key);
        const development = session.development && found === session.token;
        setToken((before) => (found === undefined ? undefined : before?.value === found ? before : { value: found, development }));
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

  const api = useMemo(() => {
    if (!token) return undefined;
    return new Api(base, token.value, () => {
      // A node that was started again may have another token: ask it, else log in again.
      setMessage('The server no longer accepts this API token. Log in again.');
      setStarting(true);
    });
  }, [base, token]);

  const logIn = useCallback(
    async (value: string): Promise<string | undefined> => {
      try {
        await new Api(base, value).check();
        tabStorage.set(key, value);
        setMessage(undefined);
        setToken({ value, development: false });
        return undefined;
      } catch (error) {
        return error instanceof ApiError && error.status === 401 ? 'This token is wrong. Check it and try again.' : sentenceOf(error);
      }
    },
    [base],
  );
  const logOut = useCallback(() => {
    tabStorage.remove(key);
    setMessage(undefined);
    setToken(undefined);
  }, []);

  const actions = useMemo(() => ({ logIn, logOut }), [logIn, logOut]);
  if (starting && !api) return [{ phase: 'starting', unreachable }, actions];
  return [api && token ? { phase: 'in', api, development: token.development } : { phase: 'out', message }, actions];
}

/** The first token that the node takes. Rejects where the node does not answer. */
async function firstAccepted(base: string, tokens: readonly string[]): Promise<string | undefined> {
  for (const token of tokens) {
    try {
      await new Api(base, token).check();
      return token;
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 401 && error.status !== 403)) throw error;
    }
  }
  return undefined;
}
