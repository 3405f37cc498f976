// The telephones of a node: opened here, and waited for when it ends, since they go with its process.
import { settleWithin } from '../../timer.ts';
import type { Admission } from '../process/admission.ts';
import type { AgentSettings } from './sip-messages.ts';
import { SipRunner, type SipRunnerOptions, telephoneCores } from './sip-runner.ts';

/** What a node gives all its telephones. */
export type SipPlace = Pick<AgentSettings, 'ports' | 'rtpPorts' | 'userAgent' | 'allowPrivate'> & {
  /** Undefined where it is not known yet. */
  announcedIp: string | undefined;
};

export type TelephonesOptions = {
  /** As it is now. */
  place: () => SipPlace;
  admission: Admission;
};

/** Milliseconds that telephones get to hang up and to take their registrations back when the node ends. */
const closeDeadline = 12_000;

export class Telephones {
  readonly #options: TelephonesOptions;
  readonly #open = new Set<SipRunner>();

  constructor(options: TelephonesOptions) {
    this.#options = options;
  }

  get place(): SipPlace {
    return this.#options.place();
  }

  /** @throws ServiceError `unavailable` where this node cannot carry one more */
  assertCapacity(): void {
    this.#options.admission.requireBudget('one more telephone', telephoneCores);
  }

  open(setup: Pick<SipRunnerOptions, 'host' | 'settings'>): SipRunner {
    const { admission } = this.#options;
    const runner = new SipRunner({ ...setup, admission, onGone: () => this.#open.delete(runner) });
    this.#open.add(runner);
    return runner;
  }

  /** Resolves when all have said goodbye, or at a deadline. */
  close(): Promise<void> {
    return settleWithin(
      closeDeadline,
      [...this.#open].map((runner) => runner.close()),
    );
  }
}
