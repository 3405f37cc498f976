// Kinds of components without files and processes: a test says what each does. They keep the rules of the port.
import { ServiceError } from '../../node/errors.ts';
import type { ComponentHost, ComponentKinds, ComponentRunner, PreparedComponent } from '../../node/rooms/ports.ts';
import type { ComponentOptions } from '../../node/rooms/room-config.ts';

export class FakeKinds implements ComponentKinds {
  readonly runners: FakeRunner[] = [];
  /** What the next component does at its start instead of publishing. */
  failStart: ServiceError | undefined;
  /** Whether prepare waits: to see what happens meanwhile. */
  gate: Promise<void> = Promise.resolve();

  async prepare({ type, options }: ComponentOptions): Promise<PreparedComponent> {
    await this.gate;
    if (type !== 'file') throw new ServiceError('bad_request', `Components of type ${type} are disabled on this node`);
    const { failStart } = this;
    return {
      type,
      properties: { ...options },
      open: (host) => {
        const runner = new FakeRunner(host, failStart);
        this.runners.push(runner);
        return runner;
      },
    };
  }

  /** The component that was made last. */
  get last(): FakeRunner {
    const runner = this.runners.at(-1);
    if (!runner) throw new Error('no component was made');
    return runner;
  }
}

export class FakeRunner implements ComponentRunner {
  readonly host: ComponentHost;
  closed = false;
  readonly #failure: ServiceError | undefined;

  constructor(host: ComponentHost, failure: ServiceError | undefined) {
    this.host = host;
    this.#failure = failure;
  }

  async start(): Promise<void> {
    if (this.#failure) throw this.#failure;
    await this.host.connect({ ip: '127.0.0.1', port: 9 });
    await this.host.publish({ kind: 'audio', rtpParameters: {}, metadata: { source: 'fake' } });
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}
