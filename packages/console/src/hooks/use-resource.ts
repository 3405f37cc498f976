// One thing of the server, kept up to date while the page is looked at.
import { useCallback, useEffect, useRef, useState } from 'react';
import { ApiError, errorMessage } from '../api/rest.ts';
import { Poller } from './poller.ts';

export type Resource<T> = {
  /** Undefined until the first answer; kept while later ones fail. */
  data: T | undefined;
  /** The server's sentence where it refused; undefined while it answers, and while it does not answer at all. */
  problem: string | undefined;
  /** The server does not answer; it is asked again by itself. */
  lost: boolean;
  /** Asks now, e.g. after something was changed. */
  refresh: () => void;
};

type State<T> = Omit<Resource<T>, 'refresh'>;

/** @param load made with useCallback: another one starts anew, and forgets what the one before found */
export function useResource<T>(load: (signal: AbortSignal) => Promise<T>, every: number): Resource<T> {
  const [state, setState] = useState<State<T>>({ data: undefined, problem: undefined, lost: false });
  const poller = useRef<Poller<T>>(undefined);
  useEffect(() => {
    const made = new Poller<T>({
      load,
      every,
      onChange: ({ data, error }) => setState({ data, ...explain(error) }),
      isHidden: () => document.hidden,
      onVisibility: (listener) => {
        document.addEventListener('visibilitychange', listener);
        return () => document.removeEventListener('visibilitychange', listener);
      },
    });
    poller.current = made;
    return () => {
      made.close();
      setState({ data: undefined, problem: undefined, lost: false });
    };
  }, [load, every]);
  return { ...state, refresh: useCallback(() => void poller.current?.refresh(), []) };
}

function explain(error: unknown): Pick<State<unknown>, 'problem' | 'lost'> {
  if (error === undefined) return { problem: undefined, lost: false };
  const lost = error instanceof ApiError && error.unreachable;
  return { problem: lost ? undefined : errorMessage(error), lost };
}
