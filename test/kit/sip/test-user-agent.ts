// SIP user agent in the process of the test; records its reports and waits for them.
import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { TestContext } from 'node:test';
import { SipUserAgent, type SipUserAgentOptions } from '../../../node/components/sip/agent/agent.ts';
import type { UserAgentReport, UserAgentSettings } from '../../../node/components/sip/agent/agent-messages.ts';
import type { CallAudio } from '../../../node/components/sip/audio/session.ts';
import { emits, eventually } from '../eventually.ts';
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
  readonly #events = new EventEmitter();

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
        if (report.type === 'admissionRequested' && this.admits !== undefined) this.agent.admit(report.callId, this.admits);
        else this.reports.push(report);
        this.#events.emit('report');
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
    type Report = Extract<UserAgentReport, { type: T }>;
    const isWanted = (report: UserAgentReport): report is Report => report.type === type && when(report as Report);
    const what = () => `${type} is reported: ${JSON.stringify(this.reports)}`;
    const wakes = emits(this.#events, 'report');
    return eventually<Report | undefined>(what, () => this.reports.slice(after).find(isWanted), { within: timeoutMs, wakes });
  }
}
