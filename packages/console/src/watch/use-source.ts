// useSource: URL of the stream of a room with a viewer token, or with the API token in a header if it is read-only.
import { useCallback } from 'react';
import { useSessionContext } from '../hooks/console-context.ts';
import type { RoomRequests } from '../room/components/room-requests.ts';
import type { Source } from './stream-player.ts';

/** Seconds. */
export const viewersFor = 24 * 3600;

export function useSource(roomId: string, requests: RoomRequests): () => Promise<Source> {
  const { api, scope } = useSessionContext();
  return useCallback(async () => {
    const url = new URL(`hls/${encodeURIComponent(roomId)}/index.m3u8`, api.base);
    if (scope === 'read') return { url: url.href, authorization: `Bearer ${api.token}` };
    const { token } = (await api.send(requests.viewerToken(viewersFor))).data;
    url.searchParams.set('token', token);
    return { url: url.href };
  }, [api, scope, roomId, requests]);
}
