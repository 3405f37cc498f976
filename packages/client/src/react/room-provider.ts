// The provider of a room: it is entered when the provider appears and left when it goes, in strict mode too.
import { createContext, createElement, type ReactNode, useContext, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { Closing } from '../closing.ts';
import type { RoomClientOptions } from '../options.ts';
import type { Json } from '../protocol.ts';
import { type RoomSlices, RoomStore } from './room-store.ts';

export const RoomContext = createContext<RoomStore | undefined>(undefined);

export type RoomProviderProps = {
  /** The peer's `peer_websocket_url` and `token`: others mean another room. */
  url: string;
  token: string;
  /** What the others see of this peer; may change. */
  metadata?: Json;
  /** Everything else as it is when the room is entered. */
  options?: Omit<RoomClientOptions, 'url' | 'token' | 'metadata'>;
  onClosed?: (closing: Closing) => void;
  children?: ReactNode;
};

/** Where `url` or `options` are no good, that is thrown while it is rendered, for the error boundary around it. */
export function RoomProvider({ url, token, metadata, options, onClosed, children }: RoomProviderProps): ReactNode {
  const [store] = useState(() => new RoomStore());
  const [failure, setFailure] = useState<{ error: unknown }>();
  const latest = useRef({ metadata, options, onClosed });
  latest.current = { metadata, options, onClosed };
  useEffect(() => {
    let leave = () => {};
    // Strict mode mounts, unmounts and mounts again at once: only what stays connects, or the peer would meet itself.
    const timer = setTimeout(() => {
      const now = latest.current;
      try {
        leave = store.open({ ...now.options, url, token, ...(now.metadata !== undefined && { metadata: now.metadata }) });
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
    // Before the first entry the room is given it anyway.
    if (text !== undefined && room) room.setMetadata(JSON.parse(text)).catch(() => {});
  }, [store, text]);
  if (failure) throw failure.error;
  return createElement(RoomContext.Provider, { value: store }, children);
}

/** @throws Error outside of a RoomProvider */
export function useStore(): RoomStore {
  const store = useContext(RoomContext);
  if (!store) throw new Error('There is no RoomProvider around this component');
  return store;
}

export function useRoomState<Name extends keyof RoomSlices>(name: Name): RoomSlices[Name] {
  const store = useStore();
  const get = () => store.part(name);
  return useSyncExternalStore(store.subscribe, get, get);
}
