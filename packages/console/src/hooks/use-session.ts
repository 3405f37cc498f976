// useSession: the session of this tab as React state.
import { useEffect, useState } from 'react';
import { type SessionState, TokenSession } from './session.ts';
import { useStore } from './store.ts';

export function useSession(base: string): [SessionState, Pick<TokenSession, 'logIn' | 'logOut'>] {
  const [session] = useState(() => new TokenSession(base));
  useEffect(() => {
    void session.start();
    return () => session.close();
  }, [session]);
  return [useStore(session).now, session];
}
