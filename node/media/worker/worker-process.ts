// Media worker process with its server port: starts it, sends requests with a timeout, and always terminates it.
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
import { ServiceError } from '../../../api/errors.ts';
import type { Log } from '../../common/log.ts';
import { withoutSettings } from '../../env.ts';
import { listenInfos } from '../addresses.ts';
import type { PipeMeter } from '../legs/pipe-meter.ts';
import type { PeerTraffic } from '../stat-totals.ts';
import { WorkerTimeoutError, withTimeout } from '../timeout.ts';
import { beatInterval, Heartbeat } from './heartbeat.ts';
import { takeLastPacket } from './last-words.ts';
import type { WorkerDeath } from './worker-death.ts';

/** Timeouts in milliseconds: for the start of a worker, and for its exit before it is killed. */
const startTimeoutMs = 10_000;
const endTimeoutMs = 2000;
/** Time for an unresponsive worker to report its last packet, in milliseconds. */
const lastPacketTimeoutMs = 500;

/** Tags of warnings; errors are always logged. */
const logTags: WorkerLogTag[] = ['dtls', 'srtp', 'rtp', 'rtcp', 'sctp'];

/** As `sending` of WebrtcConfig. */
export type WorkerSending = { batch: boolean; gso: boolean };

export type WorkerProcessOptions = {
  log: Log;
  workerBin: string | undefined;
  sending: WorkerSending | undefined;
  traffic: PeerTraffic;
  /** Of all workers of the node. */
  pipes: PipeMeter;
};

/** A running worker process. It listens after listen(). */
export class WorkerProcess {
  readonly #worker: Worker;
  readonly #log: Log;
  readonly #traffic: PeerTraffic;
  /** Counts what this worker receives from others. */
  readonly pipes: PipeMeter;
  readonly #heartbeat = new Heartbeat();
  readonly #beats: NodeJS.Timeout;
  /** Router id by transport id, of open transports and of those open when the worker died. */
  readonly #transports = new Map<string, string>();
  #server: WebRtcServer | undefined;
  #hung = false;
  #ended: Promise<void> | undefined;

  private constructor(worker: Worker, { log, traffic, pipes }: WorkerProcessOptions) {
    this.#worker = worker;
    this.#log = log;
    this.#traffic = traffic;
    this.pipes = pipes;
    // Pending output of the worker is read before the check.
    this.#beats = setInterval(() => setImmediate(() => setImmediate(() => this.#beat())), beatInterval).unref();
    worker.observer.once('close', () => clearInterval(this.#beats));
  }

  /** @throws Error if the process cannot be started or does not respond within 10 s. */
  static async start(options: WorkerProcessOptions): Promise<WorkerProcess> {
    const { created, abandon } = spawnWorker(options);
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

  /** Calls back when the process died, not after end(). The promise waits for its last output and never rejects. */
  onDied(listener: (death: Promise<WorkerDeath>) => void): void {
    this.#worker.on('died', (error) => listener(this.#howItDied(/\bcode:0\b/.test(error.message))));
  }

  /** Binds UDP and TCP of the port. @throws Error if it is in use. */
  async listen(ip: string, port: number): Promise<void> {
    this.#server = await this.call('listen', this.#worker.createWebRtcServer({ listenInfos: listenInfos(ip, port) }), (late) =>
      late.close(),
    );
  }

  /** Releases the port. */
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

  /** Closes a transport of createTransport() after counting its traffic. Idempotent. */
  closeTransport(transport: WebRtcTransport): void {
    this.#traffic.leave(transport);
    transport.close();
  }

  /** Closes a router with all its transports after counting their traffic. Idempotent. */
  closeRouter(router: Router): void {
    this.#traffic.leaveAll(router);
    router.close();
  }

  /** Number of routers as counted by the worker. */
  async countRouters(): Promise<number> {
    const { routerIds } = await this.call('dump', this.#worker.dump());
    return routerIds.length;
  }

  /** Waits for a response of the worker. @throws WorkerTimeoutError */
  async call<Value>(what: string, call: Promise<Value>, discard?: (value: Value) => void): Promise<Value> {
    const value = await withTimeout(call, what, discard);
    this.#heartbeat.heard();
    return value;
  }

  /** Ends the process; resolves when it has exited. Idempotent. */
  end(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  #beat(): void {
    if (this.#worker.closed || this.#hung) return;
    const beat = this.#heartbeat.check();
    if (beat === 'ask') {
      const answered = () => this.#heartbeat.answered();
      this.#worker.getResourceUsage().then(answered, answered);
    } else if (beat === 'late') this.#log.warn({ pid: this.pid }, 'media worker not responding');
    else if (beat === 'dead') this.#kill();
  }

  /** SIGABRT first: a worker stuck on a packet then still reports its transport. */
  #kill(): void {
    this.#hung = true;
    this.#log.error({ pid: this.pid }, 'killed unresponsive media worker');
    kill(this.pid, 'SIGABRT');
    const killer = setTimeout(() => kill(this.pid), lastPacketTimeoutMs);
    this.#worker.observer.once('close', () => clearTimeout(killer));
  }

  async #howItDied(orderly: boolean): Promise<WorkerDeath> {
    // Its last output is in the pipe: two turns of the event loop read it.
    for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    return { orderly, hung: this.#hung, lastPacket: takeLastPacket(this.#transports) };
  }

  async #end(): Promise<void> {
    if (this.#worker.subprocessClosed) return;
    const exited = once(this.#worker, 'subprocessclose');
    const killer = setTimeout(() => kill(this.pid), endTimeoutMs);
    this.#worker.close();
    await exited;
    clearTimeout(killer);
  }
}

/**
 * mediasoup closes a worker when this process gets SIGINT or SIGTERM, but rooms must continue until they are drained. The owner closes the
 * worker, so these listeners are removed. Calling such a listener is the only way to abort a worker that has not started yet.
 */
function spawnWorker({ workerBin, sending }: WorkerProcessOptions): { created: Promise<Worker>; abandon: () => void } {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  const before = signals.map((signal) => new Set(process.listeners(signal)));
  // mediasoup spawns the process before it returns, and passes the whole environment.
  const options = { logLevel: 'warn', logTags, ...(workerBin === undefined ? {} : { workerBin }) } as const;
  const { batch, gso } = sending ?? { batch: true, gso: true };
  const created = withoutSettings(() => createWorker(options), { MEDIASOUP_UDP_BATCH: String(batch), MEDIASOUP_UDP_GSO: String(gso) });
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
    // Already exited.
  }
}
