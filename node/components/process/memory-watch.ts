// Memory of av processes, watched from outside: what hangs or runs wild tells nothing of itself.
import { totalmem } from 'node:os';
import { residentBytes } from '../../common/resident-memory.ts';

export type Watched = {
  pid: number;
  /** Bytes that it may have, all in all. */
  limit: number;
  /** It holds so many now. */
  onLook: (bytes: number) => void;
  /** `alone`: it has more than its limit; else all together have too much, and it most. */
  onTooMuch: (alone: boolean) => void;
};

/** Milliseconds between two looks. */
const interval = 250;
/** Shares of the container's memory: of one process, and of all of them together. */
const shareOfOne = 1 / 2;
const shareOfAll = 3 / 4;

const watched = new Set<Watched>();
let looking: NodeJS.Timeout | undefined;

/** Bytes that the container may have; that of the machine where nothing bounds it. */
function containerMemory(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

/** The bytes that one process may have where `wanted` would be enough for it: a container that is full ends all of its processes. */
export function memoryLimit(wanted: number, container = containerMemory()): number {
  return Math.min(wanted, Math.floor(container * shareOfOne));
}

/** Who has too much; where all together do, the largest of them. `bytes`: resident, of each. */
export function findGreedy<Each extends { limit: number }>(bytes: ReadonlyMap<Each, number>, container = containerMemory()): Each[] {
  const greedy = [...bytes].filter(([{ limit }, size]) => size > limit).map(([each]) => each);
  const sum = [...bytes.values()].reduce((total, size) => total + size, 0);
  if (greedy.length > 0 || sum <= container * shareOfAll) return greedy;
  return [...bytes]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 1)
    .map(([each]) => each);
}

/** Calls back once at most. @returns ends it; idempotent */
export function watchMemory(each: Watched): () => void {
  watched.add(each);
  looking ??= setInterval(look, interval);
  return () => {
    watched.delete(each);
    if (watched.size > 0) return;
    clearInterval(looking);
    looking = undefined;
  };
}

function look(): void {
  const bytes = new Map<Watched, number>();
  for (const each of watched) {
    const size = residentBytes(each.pid);
    if (size === undefined) continue;
    bytes.set(each, size);
    each.onLook(size);
  }
  for (const each of findGreedy(bytes)) {
    watched.delete(each);
    each.onTooMuch((bytes.get(each) ?? 0) > each.limit);
  }
}
