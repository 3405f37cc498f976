// useIsWideScreen: true if the panel fits next to the room.
import { useSyncExternalStore } from 'react';

const query = window.matchMedia('(min-width: 1080px)');

function subscribe(listener: () => void): () => void {
  query.addEventListener('change', listener);
  return () => query.removeEventListener('change', listener);
}

export function useIsWideScreen(): boolean {
  return useSyncExternalStore(subscribe, () => query.matches);
}
