// useResource: one resource of the server, refreshed while the page is visible.
import { useCallback, useEffect, useRef, useState } from 'react';
import { ApiError, errorMessage } from '../api/rest.ts';
import { Poller } from './poller.ts';

export type Resource<T> = {
  /** Undefined until the first response; kept while later requests fail. */
  data: T | undefined;
  /** Error message of the server; undefined after success, and while the server is unreachable. */
  problem: string | undefined;
  /** The server is unreachable; requests are retried automatically. */
  lost: boolean;
  /** Requests now, e.g. after a change. */
  refresh: () => void;
};

type State<T> = Omit<Resource<T>, 'refresh'>;

/** @param load a stable reference: another one clears the data and starts again */
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
