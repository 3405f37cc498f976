// Decisions about workers: which one takes a room, and whether a port was somebody else's.

export type WorkerLoad = { forwardedTracks: number; rooms: number };

/** `extra`: it was started for suspects alone. `quarantined`: suspects are on it. */
export type WorkerChoice = WorkerLoad & { isRunning: boolean; extra: boolean; quarantined: boolean };

/** `more`: one more worker for suspects starts or can be started. `elsewhere`: other nodes take rooms. */
export type PlacementContext = { more: boolean; elsewhere: boolean };

/**
 * The worker that takes a room; undefined where it had better go elsewhere or wait. A suspect gets a worker of its own, else it is with
 * other suspects. One of the node's own workers is left to the others where there are two, and where there is one only and no more can
 * be started, suspects get it while nobody else is on it. The others go to suspects only where there is nothing else at all.
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

/** The worker that forwards the fewest tracks, among those with as many the one with the fewest rooms, else the first. */
export function leastLoaded<Worker extends WorkerLoad>(workers: readonly Worker[]): Worker | undefined {
  return workers.reduce<Worker | undefined>((best, worker) => (best === undefined || isLess(worker, best) ? worker : best), undefined);
}

function isLess(one: WorkerLoad, other: WorkerLoad): boolean {
  return one.forwardedTracks === other.forwardedTracks ? one.rooms < other.rooms : one.forwardedTracks < other.forwardedTracks;
}

/** Whether a worker could not listen because the port is in use or not ours to use. The worker tells it in libuv's words only. */
export function isPortInUse(error: unknown): boolean {
  return error instanceof Error && /address already in use|permission denied/i.test(error.message);
}
