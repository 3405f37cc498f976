// Whether this machine can carry more decoding and encoding: refused at the door, it does not make what runs stutter.
import { ServiceError } from '../../common/errors.ts';

/** Share of all cores that stays free for forwarding media. */
const reserve = 0.1;
/** Seconds, told to who is refused. */
const retryAfter = 10;

/** `budget`: cores that may be used by estimate. `busy`: share of all cores in use now. */
export type CpuBudget = { budget: number; cores: number; busy: number };

/** Idempotent. */
export type ReleaseBudget = () => void;

/** What all components of a node take together. `what` in sentences: e.g. `one more stream`. */
export class Admission {
  readonly #machine: () => CpuBudget;
  readonly #shares = new Set<{ cores: number }>();

  constructor(machine: () => CpuBudget) {
    this.#machine = machine;
  }

  /** Cores that are taken, by estimate. */
  get taken(): number {
    return [...this.#shares].reduce((sum, each) => sum + each.cores, 0);
  }

  /** @throws ServiceError `unavailable` where so many more cores would be too many by estimate */
  requireBudget(what: string, cores: number): void {
    const { taken } = this;
    const { budget } = this.#machine();
    // Sums of estimates are not exact.
    if (taken + cores <= budget + 1e-9) return;
    refuse(
      `This node cannot carry ${what}: components may use ${round(budget)} cores, ${round(taken)} are in use and ${round(cores)} would be needed`,
    );
  }

  /** @throws ServiceError `unavailable` where so many cores are not idle now, whoever uses them */
  requireIdleCpu(what: string, cores: number): void {
    const cpuBudget = this.#machine();
    const idle = Math.max(0, cpuBudget.cores * (1 - reserve - cpuBudget.busy));
    if (cores > idle)
      refuse(`This node is too busy for ${what}: ${round(idle)} of ${cpuBudget.cores} cores are free and ${round(cores)} would be needed`);
  }

  /** Counts them from here, whatever the machine can carry. */
  take(cores: number): ReleaseBudget {
    const share = { cores };
    this.#shares.add(share);
    return () => void this.#shares.delete(share);
  }
}

function refuse(reason: string): never {
  throw new ServiceError('unavailable', reason, { retryAfter });
}

function round(cores: number): string {
  return cores.toFixed(2).replace(/0$/, '');
}
