// Memory watch: monitors component processes from outside, because a hanging process cannot report its memory.
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { residentBytes } from '../../common/resident-memory.ts';

export type Watched = {
  pid: number;
  /** Memory limit in bytes. */
  limit: number;
  /** Called with the current memory. */
  onMeasure: (bytes: number) => void;
  /** `alone`: true if it exceeds its limit; false if all processes together exceed theirs and it uses the most. */
  onTooMuch: (alone: boolean) => void;
};

/** Milliseconds between two measurements. */
const interval = 250;
/** Share of the container's memory for one process, and for all of them together. */
const shareOfOne = 1 / 2;
const shareOfAll = 3 / 4;

const watched = new Set<Watched>();
let timer: NodeJS.Timeout | undefined;

/** Memory limit of the container, or memory of the host if there is none. */
function containerMemory(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

/** Memory limit of a process that requests `wanted` bytes: lower in a small container, which would kill all its processes when full. */
export function memoryLimit(wanted: number, container = containerMemory()): number {
  return Math.min(wanted, Math.floor(container * shareOfOne));
}

/** Processes above their limit, or the largest one if all together exceed theirs. `bytes`: resident memory of each. */
export function findGreedy<Each extends { limit: number }>(bytes: ReadonlyMap<Each, number>, container = containerMemory()): Each[] {
  const greedy = [...bytes].filter(([{ limit }, size]) => size > limit).map(([each]) => each);
  const sum = [...bytes.values()].reduce((total, size) => total + size, 0);
  if (greedy.length > 0 || sum <= container * shareOfAll) return greedy;
  return [...bytes]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 1)
    .map(([each]) => each);
}

/** Processes that the kernel has killed for lack of memory since it started (proc(5)); NaN if unknown. */
export function oomKills(): number {
  try {
    return Number(/^oom_kill (\d+)$/m.exec(readFileSync('/proc/vmstat', 'utf8'))?.[1]);
  } catch {
    return Number.NaN;
  }
}

/** Calls back at most once. @returns a function that ends the watch; idempotent */
export function watchMemory(each: Watched): () => void {
  watched.add(each);
  timer ??= setInterval(check, interval);
  return () => {
    watched.delete(each);
    if (watched.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function check(): void {
  const bytes = new Map<Watched, number>();
  for (const each of watched) {
    const size = residentBytes(each.pid);
    if (size === undefined) continue;
    bytes.set(each, size);
    each.onMeasure(size);
  }
  for (const each of findGreedy(bytes)) {
    watched.delete(each);
    each.onTooMuch((bytes.get(each) ?? 0) > each.limit);
  }
}
