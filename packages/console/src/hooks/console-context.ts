// Session context: REST client, scope of the token and log-out for all pages of the console.
import { createContext, useContext } from 'react';
import type { Api } from '../api/rest.ts';

/** Scope of a token: `read` permits reading only. */
export type Scope = 'full' | 'read';

export type Session = {
  api: Api;
  scope: Scope;
  /** The node issued the token in development mode: there is no log-out. */
  development: boolean;
  logOut: () => void;
};

export const SessionContext = createContext<Session | undefined>(undefined);

/** @throws Error if no user is logged in */
export function useSessionContext(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error('useSessionContext() requires a logged-in session');
  return session;
}

/** Why changes are not permitted; undefined if they are. */
export function useReadOnlyReason(): string | undefined {
  return useContext(SessionContext)?.scope === 'read' ? 'Your token is read-only.' : undefined;
}
