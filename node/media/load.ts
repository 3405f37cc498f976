// Decisions about workers: which one takes a room, and whether a port was somebody else's.

export type Loaded = { forwardedTracks: number; rooms: number };

/** The worker that forwards the fewest tracks, among those with as many the one with the fewest rooms, else the first. */
export function leastLoaded<Worker extends Loaded>(workers: readonly Worker[]): Worker | undefined {
  return workers.reduce<Worker | undefined>((best, worker) => (best === undefined || isLess(worker, best) ? worker : best), undefined);
}

function isLess(one: Loaded, other: Loaded): boolean {
  return one.forwardedTracks === other.forwardedTracks ? one.rooms < other.rooms : one.forwardedTracks < other.forwardedTracks;
}

/** Whether a worker could not listen because the port is in use or not ours to use. The worker tells it in libuv's words only. */
export function isTaken(error: unknown): boolean {
  return error instanceof Error && /address already in use|permission denied/i.test(error.message);
}
