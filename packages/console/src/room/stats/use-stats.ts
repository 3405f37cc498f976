// useStats: media stats of a room while they are shown.
import { useRef, useState } from 'react';
import type { RoomStats } from '../../../../server-sdk/src/generated/schemas.ts';
import { type Api, ApiError } from '../../api/rest.ts';
import { type Resource, useResource } from '../../hooks/use-resource.ts';
import type { RoomRequests } from '../components/room-requests.ts';
import { StatsHistory } from './stats-history.ts';

/** Milliseconds. The server measures at most once per second. */
const every = 2_000;

export function useStats(requests: RoomRequests): Resource<RoomStats | null> & { history: StatsHistory } {
  const [history] = useState(() => new StatsHistory());
  const absent = useRef(false);
  const request = requests.stats();
  const load = async (api: Api, signal: AbortSignal): Promise<RoomStats | null> => {
    if (absent.current) return null;
    try {
      const stats = (await api.send(request, signal)).data;
      history.add(stats);
      return stats;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
      // An older node has no stats endpoint. A missing room is reported by useRoom().
      absent.current = error.code === 'not_found';
      return null;
    }
  };
  return { ...useResource([request.path], load, every), history };
}
