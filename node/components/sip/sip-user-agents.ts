// The telephones of a node: opened here, and waited for when it ends, since they go with its process.
import { settleWithin } from '../../common/timer.ts';
import type { Admission } from '../process/admission.ts';
import type { UserAgentSettings } from './sip-messages.ts';
import { SipRunner, type SipRunnerOptions, userAgentCores } from './sip-runner.ts';

/** What a node gives all its telephones. */
export type SipNetworkConfig = Pick<UserAgentSettings, 'ports' | 'rtpPorts' | 'userAgent' | 'allowPrivate'> & {
  /** Undefined where it is not known yet. */
  announcedIp: string | undefined;
};

export type SipUserAgentsOptions = {
  /** As it is now. */
  place: () => SipNetworkConfig;
  admission: Admission;
};

/** Milliseconds that telephones get to hang up and to take their registrations back when the node ends. */
const closeTimeoutMs = 12_000;

export class SipUserAgents {
  readonly #options: SipUserAgentsOptions;
  readonly #open = new Set<SipRunner>();

  constructor(options: SipUserAgentsOptions) {
    this.#options = options;
  }

  get place(): SipNetworkConfig {
    return this.#options.place();
  }

  /** @throws ServiceError `unavailable` where this node cannot carry one more */
  assertCapacity(): void {
    this.#options.admission.requireBudget('one more telephone', userAgentCores);
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
      closeTimeoutMs,
      [...this.#open].map((runner) => runner.close()),
    );
  }
}
