// Admission control: rejects components for which the node has no CPU capacity, so that running ones are not disturbed.
import { ServiceError } from '../../../api/errors.ts';

/** Share of all cores that is reserved for forwarding media. */
const reserve = 0.1;
/** Seconds in Retry-After of a rejection. */
const retryAfter = 10;

/** `budget`: cores that may be reserved by estimates. `busy`: share of all cores in use now. */
export type CpuBudget = { budget: number; cores: number; busy: number };

/** Idempotent. */
export type ReleaseBudget = () => void;

/** CPU budget of all components of a node. `what` completes messages, for example `one more stream`. */
export class Admission {
  readonly #machine: () => CpuBudget;
  readonly #shares = new Set<{ cores: number }>();

  constructor(machine: () => CpuBudget) {
    this.#machine = machine;
  }

  /** Reserved cores, by estimate. */
  get taken(): number {
    return [...this.#shares].reduce((sum, each) => sum + each.cores, 0);
  }

  /** @throws ServiceError `unavailable` if the estimate exceeds the budget */
  requireBudget(what: string, cores: number): void {
    const { taken } = this;
    const { budget } = this.#machine();
    // Tolerance for floating-point sums.
    if (taken + cores <= budget + 1e-9) return;
    refuse(
      `This node has no capacity for ${what}: ${round(cores)} cores are required, and ${round(taken)} of ${round(budget)} are reserved`,
    );
  }

  /** @throws ServiceError `unavailable` if fewer cores are idle now, whatever uses them */
  requireIdleCpu(what: string, cores: number): void {
    const cpuBudget = this.#machine();
    const idle = Math.max(0, cpuBudget.cores * (1 - reserve - cpuBudget.busy));
    if (cores > idle)
      refuse(`This node is too busy for ${what}: ${round(idle)} of ${cpuBudget.cores} cores are idle and ${round(cores)} are required`);
  }

  /** Reserves cores unconditionally. */
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
