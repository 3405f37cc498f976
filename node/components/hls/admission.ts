// Whether this machine can carry one more composed stream: refused at the door, it does not make the others stutter.

/** Pixels per second of 1280x720 at 24. */
const referencePixels = 1280 * 720 * 24;
/** Cores for decoding, composing and encoding that many, with content that is hard to encode; and for a process whatever its size. */
const referenceCores = 0.85;
const baseCores = 0.1;
/** Share of all cores that stays free for forwarding media. */
const reserve = 0.1;

export type Picture = { width: number; height: number; framerate: number };

/** `running`: estimates of the streams that run. `budget`: cores that streams may use by estimate. `busy`: share of all cores in use now. */
export type Machine = { running: readonly number[]; budget: number; cores: number; busy: number };

/** Cores that a stream takes, by the size of its picture. */
export function estimateCores({ width, height, framerate }: Picture): number {
  return baseCores + (referenceCores * width * height * framerate) / referencePixels;
}

/** @returns why not, as a sentence; undefined where it may start. The first one always may. */
export function refusal(estimate: number, { running, budget, cores, busy }: Machine): string | undefined {
  if (running.length === 0) return undefined;
  const used = running.reduce((sum, each) => sum + each, 0);
  if (used + estimate > budget) {
    return `This node composes ${running.length} ${running.length === 1 ? 'stream' : 'streams'} and cannot carry one more: it may use ${round(budget)} cores, ${round(used)} are in use and ${round(estimate)} would be needed`;
  }
  const free = cores * (1 - reserve - busy);
  if (estimate > free) {
    return `This node is too busy for one more stream: ${round(Math.max(0, free))} of ${cores} cores are free and ${round(estimate)} would be needed`;
  }
  return undefined;
}

function round(cores: number): string {
  return cores.toFixed(1);
}
