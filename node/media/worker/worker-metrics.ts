// Worker metrics: load, restarts and processes of the media workers.
import type { nodeMetrics, Readings } from '../../../api/metrics.ts';
import type { LegView } from '../../../api/room.ts';
import { processUsage } from '../../common/process-usage.ts';
import type { SlotView } from './worker-slot.ts';

/** `workers`: in a stable order, because the index is the label. */
export function workerReadings(workers: readonly SlotView[]): Readings<typeof nodeMetrics.workers> {
  const byWorker = (value: (worker: SlotView) => number) =>
    workers.map((worker, index) => [{ worker: String(index) }, value(worker)] as const);
  return {
    forwardedTracks: workers.reduce((sum, { forwardedTracks }) => sum + forwardedTracks, 0),
    running: workers.filter(({ pid }) => pid !== undefined).length,
    workerRooms: byWorker(({ rooms }) => rooms),
    workerForwardedTracks: byWorker(({ forwardedTracks }) => forwardedTracks),
    restarts: byWorker(({ restarts }) => restarts),
    hangs: byWorker(({ hangs }) => hangs),
  };
}

/** `legs`: of all rooms, a list for each. */
export function legReadings(legs: readonly (readonly LegView[])[]): Readings<typeof nodeMetrics.legs> {
  const all = legs.flat();
  return {
    legs: all.length,
    roomsWithLegs: legs.filter(({ length }) => length > 1).length,
    tracks: all.reduce((sum, { pipedTracks }) => sum + pipedTracks, 0),
  };
}

/** Skips workers that are not running. */
export async function workerProcessReadings(workers: readonly SlotView[]): Promise<Readings<typeof nodeMetrics.workerProcesses>> {
  const usages = await Promise.all(workers.map(({ pid }) => (pid === undefined ? undefined : processUsage(pid))));
  const byWorker = (name: 'cpu' | 'memory') =>
    usages.flatMap((usage, index) => (usage ? [[{ worker: String(index) }, usage[name]] as const] : []));
  return { cpu: byWorker('cpu'), memory: byWorker('memory') };
}
