// useStats: media stats of a room while they are shown.
import { useCallback, useRef, useState } from 'react';
import type { RoomStats } from '../../../../server-sdk/src/generated/schemas.ts';
import { ApiError } from '../../api/rest.ts';
import { useSessionContext } from '../../hooks/console-context.ts';
import { type Resource, useResource } from '../../hooks/use-resource.ts';
import type { RoomCalls } from '../components/calls.ts';
import { StatsHistory } from './stats-history.ts';

/** Milliseconds. The server measures at most once per second. */
const every = 2_000;

export function useStats(calls: RoomCalls): Resource<RoomStats | undefined> & { history: StatsHistory } {
  const { api } = useSessionContext();
  const [history] = useState(() => new StatsHistory());
  const absent = useRef(false);
  const load = useCallback(
    async (signal: AbortSignal): Promise<RoomStats | undefined> => {
      if (absent.current) return undefined;
      try {
        const stats = (await api.call('GET', calls.stats().path, undefined, signal)).data as RoomStats;
        history.add(stats);
        return stats;
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 404) throw error;
        // An older node has no stats endpoint. A missing room is reported by useRoom().
        absent.current = error.code === 'not_found';
        return undefined;
      }
    },
    [api, calls, history],
  );
  return { ...useResource(load, every), history };
}
