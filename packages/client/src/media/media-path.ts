// Media path: the state of the transports of a session as one value.
import type { types } from 'mediasoup-client';

/** State of the media path. `idle`: nothing is sent or received yet. `broken`: the path was lost and is being restored. */
export type MediaPath = 'idle' | 'connecting' | 'connected' | 'broken';

/** The worst state of all transports. */
export function mediaPathOf(states: readonly types.ConnectionState[]): MediaPath {
  if (states.some((state) => state === 'disconnected' || state === 'failed')) return 'broken';
  if (states.includes('connecting')) return 'connecting';
  return states.includes('connected') ? 'connected' : 'idle';
}
