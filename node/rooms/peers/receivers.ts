// Receivers: which peers may receive the tracks of a peer, by their identity: the external id, else the id.

/** `all`: every peer. Otherwise the named ones: all tracks, or some by their ids. */
export type Receivers = 'all' | ReadonlyMap<string, 'all' | ReadonlySet<string>>;

export function mayReceive(receivers: Receivers, identity: string, trackId: string): boolean {
  if (receivers === 'all') return true;
  const tracks = receivers.get(identity);
  return tracks === 'all' || tracks?.has(trackId) === true;
}
