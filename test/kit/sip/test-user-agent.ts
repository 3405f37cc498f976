// SIP user agent in the process of the test; records its reports and waits for them.
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import { SipUserAgent, type SipUserAgentOptions } from '../../../node/components/sip/agent/agent.ts';
import type { UserAgentReport, UserAgentSettings } from '../../../node/components/sip/agent/agent-messages.ts';
import type { CallAudio } from '../../../node/components/sip/audio/session.ts';
import { FakeCallAudio } from './fake-call-audio.ts';
import { account } from './kamailio.ts';

const timeoutMs = 40_000;

export class TestUserAgent {
  readonly agent: SipUserAgent;
  readonly audio: FakeCallAudio;
  readonly reports: UserAgentReport[] = [];
  readonly faults: unknown[] = [];
  /** True if incoming calls may be answered; undefined leaves the admission pending. */
  admits: boolean | undefined = true;
  readonly #waiting = new Set<() => void>();

  constructor(
    t: Pick<TestContext, 'after'>,
    settings: Partial<UserAgentSettings> & Pick<UserAgentSettings, 'registrar' | 'ports'>,
    more: Pick<SipUserAgentOptions, 'requestRate' | 'find'> = {},
  ) {
    this.audio = new FakeCallAudio();
    const audio: CallAudio = this.audio;
    this.agent = new SipUserAgent({
      ...more,
      audio,
      report: (report) => {
        // Admission is answered here like by a node with capacity, and not recorded.
        if (report.type === 'asked' && this.admits !== undefined) this.agent.admit(report.callId, this.admits);
        else this.reports.push(report);
        for (const look of this.#waiting) look();
      },
      onFault: (error) => this.faults.push(error),
      settings: {
        ...account,
        announcedIp: '127.0.0.1',
        rtpPorts: { min: 10_000, max: 10_019 },
        allowPrivate: true,
        answerIncoming: false,
        ringTimeout: 20_000,
        instanceId: randomUUID(),
        userAgent: 'Mediarooms/test',
        orphanedDialogs: [],
        ...settings,
      },
    });
    t.after(() => this.agent.close());
  }

  start(): this {
    this.agent.start();
    return this;
  }

  /** The first report of this type after the first `after` reports, current or future. */
  async report<T extends UserAgentReport['type']>(
    type: T,
    { after = 0, when = () => true }: { after?: number; when?: (report: Extract<UserAgentReport, { type: T }>) => boolean } = {},
  ): Promise<Extract<UserAgentReport, { type: T }>> {
    const find = () =>
      this.reports
        .slice(after)
        .find(
          (report): report is Extract<UserAgentReport, { type: T }> =>
            report.type === type && when(report as Extract<UserAgentReport, { type: T }>),
        );
    const here = find();
    if (here) return here;
    const { promise, resolve, reject } = Promise.withResolvers<Extract<UserAgentReport, { type: T }>>();
    const look = () => {
      const found = find();
      if (found) resolve(found);
    };
    this.#waiting.add(look);
    const timer = setTimeout(() => reject(new Error(`${type} was not reported: ${JSON.stringify(this.reports)}`)), timeoutMs);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(look);
    }
  }
}
