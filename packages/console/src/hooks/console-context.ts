// What every part of the console may ask for: the calls to the server, what the token allows, and the way out.
import { createContext, useContext } from 'react';
import type { Api } from '../api/rest.ts';

/** What a token allows: `read` sees everything and changes nothing. */
export type Scope = 'full' | 'read';

export type Session = {
  api: Api;
  scope: Scope;
  /** The node told the token by itself: there is nobody to log out. */
  development: boolean;
  logOut: () => void;
};

export const SessionContext = createContext<Session | undefined>(undefined);

/** @throws Error outside of a page that is shown to somebody logged in */
export function useSessionContext(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error('Nobody is logged in here');
  return session;
}

/** Why whoever is logged in may change nothing; undefined where everything is allowed. */
export function useReadOnlyReason(): string | undefined {
  return useContext(SessionContext)?.scope === 'read' ? 'Your token may only read.' : undefined;
}
