// One worker process with its server port: started, asked with a deadline, ended for certain.
import { once } from 'node:events';
import { createWorker } from 'mediasoup';
import type {
  Router,
  RouterRtpCodecCapability,
  WebRtcServer,
  WebRtcTransport,
  WebRtcTransportOptions,
  Worker,
  WorkerLogTag,
} from 'mediasoup/types';
import { ServiceError } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import { withoutSettings } from '../../env.ts';
import { listenInfos } from '../addresses.ts';
import { WorkerTimeoutError, withTimeout } from '../timeout.ts';
import type { TrafficMeter } from '../traffic-meter.ts';
import { beatInterval, Heartbeat } from './heartbeat.ts';
import { lastWordsOf } from './last-words.ts';
import type { WorkerDeath } from './worker-death.ts';

/** Milliseconds that a worker may take to start, and to end before it is killed. */
const startTimeoutMs = 10_000;
const endTimeoutMs = 2000;
/** Milliseconds that a worker which hangs gets for its last words. */
const lastWordsTimeoutMs = 500;

/** Of which it warns; errors are always told. */
const logTags: WorkerLogTag[] = ['dtls', 'srtp', 'rtp', 'rtcp', 'sctp'];

/** `traffic` counts what goes over WebRTC transports. */
export type WorkerProcessOptions = { log: Log; workerBin: string | undefined; traffic: TrafficMeter };

/** A running worker process. It listens once listen() succeeded. */
export class WorkerProcess {
  readonly #worker: Worker;
  readonly #log: Log;
  readonly #traffic: TrafficMeter;
  readonly #heartbeat = new Heartbeat();
  readonly #beats: NodeJS.Timeout;
  /** Of transports that live, or lived when the worker died: the router of each. */
  readonly #transports = new Map<string, string>();
  #server: WebRtcServer | undefined;
  #hung = false;
  #ended: Promise<void> | undefined;

  private constructor(worker: Worker, { log, traffic }: WorkerProcessOptions) {
    this.#worker = worker;
    this.#log = log;
    this.#traffic = traffic;
    // What the worker said while this process was held up is read before it is looked at.
    this.#beats = setInterval(() => setImmediate(() => setImmediate(() => this.#beat())), beatInterval).unref();
    worker.observer.once('close', () => clearInterval(this.#beats));
  }

  /** @throws Error where the process cannot be started or does not answer within 10 s. */
  static async start(options: WorkerProcessOptions): Promise<WorkerProcess> {
    const { created, abandon } = spawnWorker(options.workerBin);
    try {
      const worker = await withTimeout(created, 'start', (late) => late.close(), startTimeoutMs);
      return new WorkerProcess(worker, options);
    } catch (error) {
      if (error instanceof WorkerTimeoutError) abandon();
      throw error;
    }
  }

  get pid(): number {
    return this.#worker.pid;
  }

  /** Calls back when the process died, not when it was ended by end(). The promise waits for its last words and never rejects. */
  onDied(listener: (death: Promise<WorkerDeath>) => void): void {
    this.#worker.on('died', (error) => listener(this.#howItDied(/\bcode:0\b/.test(error.message))));
  }

  /** Binds UDP and TCP of the port. @throws Error where it is taken. */
  async listen(ip: string, port: number): Promise<void> {
    this.#server = await this.call('listen', this.#worker.createWebRtcServer({ listenInfos: listenInfos(ip, port) }), (late) =>
      late.close(),
    );
  }

  /** Gives the port back. */
  unlisten(): void {
    this.#server?.close();
    this.#server = undefined;
  }

  async createRouter(mediaCodecs: RouterRtpCodecCapability[]): Promise<Router> {
    const router = await this.call('create router', this.#worker.createRouter({ mediaCodecs }), (late) => late.close());
    router.observer.on('newtransport', (transport) => {
      this.#transports.set(transport.id, router.id);
      transport.observer.once('close', () => {
        if (!this.#worker.died) this.#transports.delete(transport.id);
      });
    });
    return router;
  }

  async createTransport(
    router: Router,
    options: Omit<WebRtcTransportOptions, 'webRtcServer' | 'listenInfos' | 'listenIps'>,
  ): Promise<WebRtcTransport> {
    const webRtcServer = this.#server;
    if (!webRtcServer) throw new ServiceError('unavailable', 'The media worker does not listen');
    const request = router.createWebRtcTransport({ ...options, webRtcServer } as WebRtcTransportOptions);
    const transport = await this.call('create transport', request, (late) => late.close());
    if (!transport.closed) this.#traffic.add(transport, router);
    return transport;
  }

  /** Closes a transport of createTransport(), with its traffic counted to the end. Idempotent. */
  closeTransport(transport: WebRtcTransport): void {
    this.#traffic.leave(transport);
    transport.close();
  }

  /** Closes a router with all its transports, their traffic counted to the end. Idempotent. */
  closeRouter(router: Router): void {
    this.#traffic.leaveAll(router);
    router.close();
  }

  /** How many routers the worker itself counts. */
  async countRouters(): Promise<number> {
    const { routerIds } = await this.call('dump', this.#worker.dump());
    return routerIds.length;
  }

  /** Waits for an answer of the worker. @throws WorkerTimeoutError */
  async call<Value>(what: string, call: Promise<Value>, discard?: (value: Value) => void): Promise<Value> {
    const value = await withTimeout(call, what, discard);
    this.#heartbeat.heard();
    return value;
  }

  /** Ends the process; resolves when it is gone. Idempotent. */
  end(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  #beat(): void {
    if (this.#worker.closed || this.#hung) return;
    const beat = this.#heartbeat.look();
    if (beat === 'ask') {
      const answered = () => this.#heartbeat.answered();
      this.#worker.getResourceUsage().then(answered, answered);
    } else if (beat === 'late') this.#log.warn({ pid: this.pid }, 'media worker does not answer');
    else if (beat === 'dead') this.#kill();
  }

  /** First as a fault would end it: one that is busy with a packet for ever still says whose. */
  #kill(): void {
    this.#hung = true;
    this.#log.error({ pid: this.pid }, 'media worker hangs: killed');
    kill(this.pid, 'SIGABRT');
    const killer = setTimeout(() => kill(this.pid), lastWordsTimeoutMs);
    this.#worker.observer.once('close', () => clearTimeout(killer));
  }

  async #howItDied(orderly: boolean): Promise<WorkerDeath> {
    // Its last words are in the pipe by now: two turns of the event loop read them.
    for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    return { orderly, hung: this.#hung, lastPacket: lastWordsOf(this.#transports) };
  }

  async #end(): Promise<void> {
    if (this.#worker.subprocessClosed) return;
    const gone = once(this.#worker, 'subprocessclose');
    const killer = setTimeout(() => kill(this.pid), endTimeoutMs);
    this.#worker.close();
    await gone;
    clearTimeout(killer);
  }
}

/**
 * mediasoup closes a worker as soon as the process gets SIGINT or SIGTERM, but rooms may go on until they are drained: whoever owns
 * the worker closes it, so those listeners are taken off again. Called, such a listener is the one way to give up a worker that
 * has not answered yet.
 */
function spawnWorker(workerBin: string | undefined): { created: Promise<Worker>; abandon: () => void } {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  const before = signals.map((signal) => new Set(process.listeners(signal)));
  // mediasoup starts the process before it returns, and hands all of the environment on.
  const created = withoutSettings(() => createWorker({ logLevel: 'warn', logTags, ...(workerBin === undefined ? {} : { workerBin }) }));
  const added = signals.map((signal, index) => process.listeners(signal).filter((listener) => !before[index]?.has(listener)));
  signals.forEach((signal, index) => {
    for (const listener of added[index] ?? []) process.removeListener(signal, listener);
  });
  return { created, abandon: () => added[0]?.[0]?.('SIGINT') };
}

function kill(pid: number, signal: 'SIGABRT' | 'SIGKILL' = 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone already.
  }
}
