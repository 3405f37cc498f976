// CPU starvation monitor for real-time media tests: an idle thread measures how long it waits for a core.
import { cpus } from 'node:os';
import type { TestContext } from 'node:test';
import { isMainThread, Worker, workerData } from 'node:worker_threads';

/** Milliseconds since begin(): the longest wait of the thread for a core, and the time in which all cores were busy. */
export type CpuStarvation = { waited: number; full: number };

export type CpuStarvationWatch = { begin: () => void; seen: () => CpuStarvation };

/** Milliseconds. */
const turn = 10;
const sampleMs = 100;

/** Indexes of the memory shared with the thread. */
const [stop, waited, full] = [0, 1, 2];

/** Stopped with the test. */
export function watchCpuStarvation(t: TestContext): CpuStarvationWatch {
  const shared = new Int32Array(new SharedArrayBuffer(12));
  const worker = new Worker(new URL(import.meta.url), { workerData: { machine: shared } });
  t.after(async () => {
    Atomics.store(shared, stop, 1);
    Atomics.notify(shared, stop);
    await worker.terminate();
  });
  return {
    begin: () => {
      for (const place of [waited, full]) Atomics.store(shared, place, 0);
    },
    seen: () => ({ waited: Atomics.load(shared, waited), full: Atomics.load(shared, full) }),
  };
}

function idleTime(): number {
  return cpus().reduce((sum, { times }) => sum + times.idle, 0);
}

function watch(shared: Int32Array): void {
  const most = (place: number, value: number) => Atomics.store(shared, place, Math.max(Atomics.load(shared, place), Math.round(value)));
  let last = performance.now();
  let [lookedAt, idleAt, idle] = [last, last, idleTime()];
  while (Atomics.wait(shared, stop, 0, turn) === 'timed-out') {
    const now = performance.now();
    most(waited, now - last - turn);
    last = now;
    if (now - lookedAt < sampleMs) continue;
    lookedAt = now;
    const before = idle;
    idle = idleTime();
    if (idle > before) idleAt = now;
    most(full, now - idleAt);
  }
}

const given = isMainThread ? undefined : (workerData as { machine?: Int32Array } | null)?.machine;
if (given) watch(given);
