// Worker selection: the media worker for a room, and port conflict detection.

export type WorkerLoad = { forwardedTracks: number; rooms: number };

/** `extra`: a quarantine worker. `quarantined`: it has suspects. */
export type WorkerChoice = WorkerLoad & { isRunning: boolean; extra: boolean; quarantined: boolean };

/** `more`: another quarantine worker is starting or can be started. `elsewhere`: other nodes accept rooms. */
export type PlacementContext = { more: boolean; elsewhere: boolean };

/**
 * The worker for a room; undefined if the room should be created on another node or wait. A suspect gets a separate worker, else it shares
 * one with other suspects. At least one of two or more regular workers is reserved for other rooms. A single regular worker accepts
 * suspects only if it is empty and no more workers can be started. Other rooms share a worker with suspects only as the last resort.
 */
export function workerFor<Worker extends WorkerChoice>(
  suspect: boolean,
  workers: readonly Worker[],
  { more, elsewhere }: PlacementContext,
): Worker | undefined {
  const running = workers.filter(({ isRunning }) => isRunning);
  const own = workers.filter(({ extra }) => !extra);
  if (!suspect) {
    const clean = leastLoaded(running.filter(({ extra, quarantined }) => !extra && !quarantined));
    if (clean || elsewhere || own.some(({ quarantined }) => !quarantined)) return clean;
    return leastLoaded(running.filter(({ extra }) => !extra));
  }
  const empty = running.filter(({ rooms }) => rooms === 0);
  const alone = empty.find(({ extra }) => extra) ?? empty.find((worker) => own.some((other) => other !== worker && !other.quarantined));
  if (alone || more) return alone;
  return leastLoaded(running.filter(({ quarantined }) => quarantined)) ?? empty[0];
}

/** The worker that forwards the fewest tracks, then the one with the fewest rooms, then the first. */
export function leastLoaded<Worker extends WorkerLoad>(workers: readonly Worker[]): Worker | undefined {
  return workers.reduce<Worker | undefined>((best, worker) => (best === undefined || isLess(worker, best) ? worker : best), undefined);
}

function isLess(one: WorkerLoad, other: WorkerLoad): boolean {
  return one.forwardedTracks === other.forwardedTracks ? one.rooms < other.rooms : one.forwardedTracks < other.forwardedTracks;
}

/** True if a worker could not listen because the port is in use or privileged. The worker reports it as a libuv message only. */
export function isPortInUse(error: unknown): boolean {
  return error instanceof Error && /address already in use|permission denied/i.test(error.message);
}
