// Fake component types without files and processes, controlled by the test. They pass the contract test.

import assert from 'node:assert/strict';
import type { ComponentOptions } from '../../../api/component/component.ts';
import { ServiceError } from '../../../api/errors.ts';
import type {
  Caption,
  ComponentFactory,
  ComponentHost,
  ComponentRunner,
  ComponentSpec,
  SubscribableTrack,
} from '../../../node/rooms/interfaces.ts';

const unexpected = () => Promise.reject(new Error('unexpected request'));

/** Fields for hosts that tests create; requests are rejected. */
export const hostFacts = {
  componentId: 'c',
  room: { roomId: 'r', incarnation: '01J0000000000000000000TEST', webhookUrl: () => null },
  nameOf: () => null,
  showProperties: () => {},
  playable: () => {},
  callEvent: () => {},
  trackDropped: () => {},
  unpublish: () => {},
  openProgramme: () => assert.fail('unexpected programme'),
  programmeChanged: () => {},
  connect: unexpected,
  publish: unexpected,
  finished: () => {},
} satisfies Partial<ComponentHost>;

export class FakeComponentRegistry implements ComponentFactory {
  readonly runners: FakeRunner[] = [];
  /** Error of the next start instead of publishing. */
  failStart: ServiceError | undefined;
  /** Delays prepare, to test concurrent changes. */
  gate: Promise<void> = Promise.resolve();

  async createSpec({ type, options }: ComponentOptions): Promise<ComponentSpec> {
    await this.gate;
    if (type !== 'file' && type !== 'recording' && type !== 'hls')
      throw new ServiceError('bad_request', `Components of type ${type} are disabled on this node`);
    const { failStart } = this;
    return {
      type,
      properties: { ...options },
      ...(type === 'recording' && { subscribeMode: options?.subscribeMode === 'manual' ? ('manual' as const) : ('auto' as const) }),
      ...(Array.isArray(options?.origins) && { origins: options.origins.map(String) }),
      open: (host) => {
        const runner = new FakeRunner(host, failStart, type === 'file');
        this.runners.push(runner);
        return runner;
      },
    };
  }

  /** The last created component. */
  get last(): FakeRunner {
    const runner = this.runners.at(-1);
    if (!runner) throw new Error('no component was created');
    return runner;
  }
}

class FakeRunner implements ComponentRunner {
  readonly host: ComponentHost;
  closed = false;
  busy = 0;
  /** All received lists of tracks. */
  readonly received: (readonly SubscribableTrack[])[] = [];
  readonly captions: Caption[] = [];
  /** True if its programme is to be sent. */
  sendsProgramme = false;
  readonly #failure: ServiceError | undefined;
  readonly #publishes: boolean;

  constructor(host: ComponentHost, failure: ServiceError | undefined, publishes: boolean) {
    this.host = host;
    this.#failure = failure;
    this.#publishes = publishes;
  }

  async start(): Promise<void> {
    if (this.#failure) throw this.#failure;
    if (!this.#publishes) return;
    await this.host.connect({ ip: '127.0.0.1', port: 9 });
    await this.host.publish({ kind: 'audio', rtpParameters: {}, metadata: { source: 'fake' } });
  }

  receive(tracks: readonly SubscribableTrack[]): void {
    this.received.push(tracks);
  }

  addCaption(caption: Caption): void {
    this.captions.push(caption);
  }

  sendProgramme(wanted: boolean): void {
    this.sendsProgramme = wanted;
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}
