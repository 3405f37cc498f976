// Room provider: joins the room when it mounts and leaves it when it unmounts, also in strict mode.
import { createContext, createElement, type ReactNode, useContext, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { Closing } from '../closing.ts';
import type { Json } from '../generated/protocol.ts';
import type { RoomClientOptions } from '../options.ts';
import { type RoomSlices, RoomStore } from './room-store.ts';

export const RoomContext = createContext<RoomStore | undefined>(undefined);

export type RoomProviderProps = {
  /** The peer's `peer_websocket_url` and `token`; changing them joins another room. Without `token`, set `accessToken` in `options`. */
  url: string;
  token?: string;
  /** Metadata of this peer for the others; may change. */
  metadata?: Json;
  /** All other options; read when the room is joined. */
  options?: Omit<RoomClientOptions, 'url' | 'token' | 'metadata'>;
  /** Called once when the room is closed. */
  onClosed?: (closing: Closing) => void;
  children?: ReactNode;
};

/** Joins a room and provides it to its hooks. Invalid `url` or `options` throw during rendering, for the error boundary around it. */
export function RoomProvider({ url, token, metadata, options, onClosed, children }: RoomProviderProps): ReactNode {
  const [store] = useState(() => new RoomStore());
  const [failure, setFailure] = useState<{ error: unknown }>();
  const latest = useRef({ metadata, options, onClosed });
  latest.current = { metadata, options, onClosed };
  useEffect(() => {
    let leave = () => {};
    // Strict mode mounts, unmounts and remounts at once: only the last mount connects, otherwise the peer would conflict with itself.
    const timer = setTimeout(() => {
      const now = latest.current;
      try {
        leave = store.open({
          ...now.options,
          url,
          ...(token !== undefined && { token }),
          ...(now.metadata !== undefined && { metadata: now.metadata }),
        });
      } catch (error) {
        setFailure({ error });
        return;
      }
      store.part('room')?.on('closed', (closing) => latest.current.onClosed?.(closing));
    }, 0);
    return () => {
      clearTimeout(timer);
      leave();
    };
  }, [store, url, token]);
  const text = metadata === undefined ? undefined : JSON.stringify(metadata);
  useEffect(() => {
    const room = store.part('room');
    // Before the first join the options contain it.
    if (text !== undefined && room) room.setMetadata(JSON.parse(text)).catch(() => {});
  }, [store, text]);
  if (failure) throw failure.error;
  return createElement(RoomContext.Provider, { value: store }, children);
}

/** @throws Error outside of a RoomProvider */
export function useStore(): RoomStore {
  const store = useContext(RoomContext);
  if (!store) throw new Error('This hook requires a RoomProvider');
  return store;
}

export function useRoomState<Name extends keyof RoomSlices>(name: Name): RoomSlices[Name] {
  const store = useStore();
  const get = () => store.part(name);
  return useSyncExternalStore(store.subscribe, get, get);
}
