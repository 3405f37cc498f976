// Hooks of a room: its participants, tracks in elements, and messages.
import { useCallback, useEffect, useMemo, useRef } from 'react';
import type { Json, Kind } from '../generated/protocol.ts';
import type { LocalTrack } from '../media/local-track.ts';
import type { RoomClient } from '../room-client.ts';
import type { RemoteComponent, RemotePeer } from '../roster.ts';
import { useRoomState } from './room-provider.ts';
import type { ConnectionState, RoomTrack } from './room-store.ts';

/** The RoomClient, for everything without a hook; undefined until the provider has mounted. */
export function useRoom(): RoomClient | undefined {
  return useRoomState('room');
}

/** Connection state: `new`, `connecting`, `joined`, `reconnecting` or `closed`; `closing` contains the reason once closed. */
export function useConnectionState(): ConnectionState {
  return useRoomState('connection');
}

/** The other peers. */
export function usePeers(): readonly RemotePeer[] {
  return useRoomState('peers');
}

/** The components of the room. */
export function useComponents(): readonly RemoteComponent[] {
  return useRoomState('components');
}

/** Tracks that this client publishes. */
export function useLocalTracks(): readonly LocalTrack[] {
  return useRoomState('localTracks');
}

/** Id of the active speaker; null: none. */
export function useActiveSpeaker(): string | null {
  return useRoomState('activeSpeaker');
}

/** Tracks of other peers and components: all, or filtered by media kind, peer or component. */
export function useTracks({
  kind,
  peerId,
  componentId,
}: {
  kind?: Kind;
  peerId?: string;
  componentId?: string;
} = {}): readonly RoomTrack[] {
  const tracks = useRoomState('tracks');
  return useMemo(
    () =>
      tracks.filter(
        (track) =>
          (kind === undefined || track.kind === kind) &&
          (peerId === undefined || track.peerId === peerId) &&
          (componentId === undefined || track.componentId === componentId),
      ),
    [tracks, kind, peerId, componentId],
  );
}

/**
 * A `ref` for the video or audio element that plays the track in the layer that fits its size: `<video ref={useTrack(id)} autoPlay
 * playsInline />`.
 */
export function useTrack(trackId: string | undefined): (element: HTMLMediaElement | null) => void {
  const room = useRoom();
  const stop = useRef<() => void>(undefined);
  return useCallback(
    (element: HTMLMediaElement | null) => {
      stop.current?.();
      stop.current = element && room && trackId !== undefined ? room.attach(trackId, element) : undefined;
    },
    [room, trackId],
  );
}

export type DataMessage = { from: string | null; payload: Json };

/** Data messages with this label. `onMessage` receives each; the returned function sends one to all other peers, or to those in `to`. */
export function useData(label: string, onMessage?: (message: DataMessage) => void): (payload: Json, to?: string[]) => Promise<void> {
  const room = useRoom();
  const latest = useRef(onMessage);
  useEffect(() => {
    latest.current = onMessage;
  });
  useEffect(
    () =>
      room?.on('data', ({ from, label: other, payload }) => {
        if (other === label) latest.current?.({ from, payload });
      }),
    [room, label],
  );
  return useCallback(
    async (payload: Json, to?: string[]) => {
      if (!room) throw new Error('The room is not joined yet');
      await room.sendData(label, payload, to);
    },
    [room, label],
  );
}
