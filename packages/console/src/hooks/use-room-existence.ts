// useRoomExistence: checks once whether a room exists, and retries until the server responds.
import { useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import { type Api, ApiError } from '../api/rest.ts';

type Existence = 'loading' | 'exists' | 'ended' | 'unreachable';

const retryDelay = 1_500;

/** Each caller has its own check. @returns the result, and a function that checks again */
export function useRoomExistence(api: Api, roomId: string): [Existence, () => void] {
  const { data, failureCount, refetch } = useQuery({
    queryKey: ['room existence', roomId, useId()],
    queryFn: async ({ signal }): Promise<Existence> => {
      try {
        await api.getRoom(roomId, signal);
        return 'exists';
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return 'ended';
        throw error;
      }
    },
    gcTime: 0,
    networkMode: 'always',
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    retry: true,
    retryDelay,
  });
  return [failureCount > 0 ? 'unreachable' : (data ?? 'loading'), refetch];
}
