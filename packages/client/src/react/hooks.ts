// Hooks of a room: what is in it, tracks in elements, messages.
import { useCallback, useEffect, useMemo, useRef } from 'react';
import type { LocalTrack } from '../media/local-track.ts';
import type { Json, Kind } from '../protocol.ts';
import type { RoomClient } from '../room-client.ts';
import type { RemoteComponent, RemotePeer } from '../roster.ts';
import { useRoomState } from './room-provider.ts';
import type { ConnectionState, RoomTrack } from './room-store.ts';

/** The room client itself, for all that has no hook; undefined until the provider has mounted. */
export function useRoom(): RoomClient | undefined {
  return useRoomState('room');
}

/** `new`, `connecting`, `joined`, `reconnecting` or `closed`; `closing` says why it is closed. */
export function useConnectionState(): ConnectionState {
  return useRoomState('connection');
}

/** The other peers. */
export function usePeers(): readonly RemotePeer[] {
  return useRoomState('peers');
}

export function useComponents(): readonly RemoteComponent[] {
  return useRoomState('components');
}

/** What this peer publishes. */
export function useLocalTracks(): readonly LocalTrack[] {
  return useRoomState('localTracks');
}

/** Id of the peer who speaks; null: nobody. */
export function useActiveSpeaker(): string | null {
  return useRoomState('activeSpeaker');
}

/** Tracks of the others: all, or those of a kind, a peer, a component. */
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

/** The `ref` of a video or audio element that plays the track, in the layer that fits its size: `<video ref={useTrack(id)} autoPlay playsInline />`. */
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

/** Messages with this label: `onMessage` gets each, what is returned sends one to all others or to those named. */
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
      if (!room) throw new Error('The room is not entered yet');
      await room.sendData(label, payload, to);
    },
    [room, label],
  );
}
