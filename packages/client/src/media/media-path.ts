// How the transports of a session fare, as one word for the application.
import type { types } from 'mediasoup-client';

/** `idle`: nothing is sent or received yet. `broken`: what was connected is not now; it is being mended. */
export type MediaPath = 'idle' | 'connecting' | 'connected' | 'broken';

/** The worst of what is in use. */
export function mediaPathOf(states: readonly types.ConnectionState[]): MediaPath {
  if (states.some((state) => state === 'disconnected' || state === 'failed')) return 'broken';
  if (states.includes('connecting')) return 'connecting';
  return states.includes('connected') ? 'connected' : 'idle';
}
