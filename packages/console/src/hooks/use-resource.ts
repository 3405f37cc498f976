// useResource: one resource of the server, refreshed while the page is visible.
import { type QueryClient, type QueryKey, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useRef } from 'react';
import { type Api, ApiError, errorMessage } from '../api/rest.ts';
import { useSessionContext } from './console-context.ts';

export type Resource<T> = {
  /** Undefined until the first response; kept while later requests fail. */
  data: T | undefined;
  /** Error message of the server; undefined after success, and while the server is unreachable. */
  problem: string | undefined;
  /** The server is unreachable; requests are retried automatically. */
  lost: boolean;
  /** Requests now, or once more after the pending request, e.g. after a change. */
  refresh: () => void;
};

const maxDelay = 30_000;
/** Jitter of retries, so that recovered nodes do not get requests from all pages at once. */
const spread = 0.25;

/** A query that repeats `every` milliseconds after a response, less often after failures, and not while the page is hidden. */
export function pollingOptions<T>(queryKey: QueryKey, load: (signal: AbortSignal) => Promise<T>, every: number) {
  return queryOptions({
    queryKey,
    queryFn: ({ signal }) => load(signal),
    refetchInterval: every,
    staleTime: every,
    // A page that opens again shows no old data.
    gcTime: 0,
    // Browsers may count as offline although they reach a server on their own network.
    networkMode: 'always',
    retry: true,
    retryDelay: (failures) =>
      Math.min(maxDelay, Math.max(every, 1_000) * 2 ** Math.min(failures, 10)) * (1 + spread * (Math.random() - 0.5)),
  });
}

const refreshing = new WeakSet<object>();

/** Requests an observed query now, or once more after its pending request. */
export async function refreshQuery(client: QueryClient, queryKey: QueryKey): Promise<void> {
  const query = client.getQueryCache().find({ queryKey, exact: true });
  if (!query || refreshing.has(query)) return;
  if (query.state.fetchStatus === 'fetching' && query.state.fetchFailureCount === 0) {
    refreshing.add(query);
    await query.promise?.catch(() => undefined);
    refreshing.delete(query);
  }
  const observed = { queryKey, exact: true, type: 'active' } as const;
  // A retry without data is not brought forward by a refetch.
  await (query.state.data === undefined ? client.resetQueries(observed) : client.refetchQueries(observed));
}

/** @param key of the resource; another key clears the data and starts again */
export function useResource<T>(key: QueryKey, load: (api: Api, signal: AbortSignal) => Promise<T>, every: number): Resource<T> {
  const { api } = useSessionContext();
  const client = useQueryClient();
  const { data, failureReason, isFetching } = useQuery(pollingOptions(key, (signal) => load(api, signal), every));
  const failure = useRef<Error | null>(null);
  // The last failure remains until the pending request is answered.
  if (failureReason !== null || !isFetching) failure.current = failureReason;
  const latest = useRef(key);
  latest.current = key;
  return { data, ...explain(failure.current), refresh: useCallback(() => void refreshQuery(client, latest.current), [client]) };
}

function explain(error: Error | null): Pick<Resource<unknown>, 'problem' | 'lost'> {
  if (error === null) return { problem: undefined, lost: false };
  const lost = error instanceof ApiError && error.unreachable;
  return { problem: lost ? undefined : errorMessage(error), lost };
}
