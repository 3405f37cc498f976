// SIP user agents of a node: creates them, and waits for them at shutdown because they end with its process.
import { settleWithin } from '../../common/timer.ts';
import type { Admission } from '../process/admission.ts';
import type { UserAgentSettings } from './agent/agent-messages.ts';
import { SipRunner, type SipRunnerOptions, userAgentCores } from './sip-runner.ts';

/** Settings that all user agents of a node share. */
export type SipNetworkConfig = Pick<UserAgentSettings, 'ports' | 'rtpPorts' | 'userAgent' | 'allowPrivate'> & {
  /** Undefined if it is not known yet. */
  announcedIp: string | undefined;
};

export type SipUserAgentsOptions = {
  /** Current network settings. */
  place: () => SipNetworkConfig;
  admission: Admission;
};

/** Milliseconds for user agents to hang up and unregister at shutdown. */
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

  /** @throws ServiceError `unavailable` if this node has no capacity for another user agent */
  assertCapacity(): void {
    this.#options.admission.requireBudget('one more SIP user agent', userAgentCores);
  }

  open(setup: Pick<SipRunnerOptions, 'host' | 'settings'>): SipRunner {
    const { admission } = this.#options;
    const runner = new SipRunner({ ...setup, admission, onClosed: () => this.#open.delete(runner) });
    this.#open.add(runner);
    return runner;
  }

  /** Resolves when all user agents are unregistered, or at a deadline. */
  close(): Promise<void> {
    return settleWithin(
      closeTimeoutMs,
      [...this.#open].map((runner) => runner.close()),
    );
  }
}
