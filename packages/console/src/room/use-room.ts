// useRoom: live state of one room, refreshed by its events and by polling.
import { useEffect, useMemo, useState } from 'react';
import type { Room } from '../../../server-sdk/src/generated/schemas.ts';
import { type Api, ApiError } from '../api/rest.ts';
import { useSessionContext } from '../hooks/console-context.ts';
import { useResource } from '../hooks/use-resource.ts';
import { type RoomRequests, roomRequests } from './components/room-requests.ts';
import { EventLog } from './events/event-log.ts';

/** For changes without an event, e.g. the registration of a phone. */
const pollIntervalMs = 4_000;

export type LiveRoom = {
  roomId: string;
  requests: RoomRequests;
  /** Undefined until the first response; null if the room does not exist. */
  room: Room | null | undefined;
  /** Error message of the server. */
  problem: string | undefined;
  lost: boolean;
  refresh: () => void;
  /** Undefined before the first effect. */
  log: EventLog | undefined;
};

export function useRoom(roomId: string): LiveRoom {
  const { api } = useSessionContext();
  const requests = useMemo(() => roomRequests(roomId), [roomId]);
  const {
    data: room,
    problem,
    lost,
    refresh,
  } = useResource(['room', roomId], (api, signal) => loadRoom(api, roomId, signal), pollIntervalMs);
  const [log, setLog] = useState<EventLog>();
  useEffect(() => {
    const made = new EventLog(api, roomId);
    setLog(made);
    const stop = made.subscribe(refresh);
    return () => {
      stop();
      made.close();
    };
  }, [api, roomId, refresh]);
  return useMemo(() => ({ roomId, requests, room, problem, lost, refresh, log }), [roomId, requests, room, problem, lost, refresh, log]);
}

async function loadRoom(api: Api, roomId: string, signal: AbortSignal): Promise<Room | null> {
  try {
    return await api.getRoom(roomId, signal);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}
