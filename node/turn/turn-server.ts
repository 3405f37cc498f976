// TURN server (RFC 8656): supervises a coturn process next to the node.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../common/log.ts';
import { parentDeathSignalCommand } from '../common/parent-death-signal.ts';
import { Timer } from '../common/timer.ts';
import { watchTlsPair } from '../common/tls-files.ts';
import { type CoturnCli, cancelRelays } from './coturn-cli.ts';
import { coturnConfig } from './coturn-config.ts';
import { turnCredential } from './credentials.ts';
import { frontLimits, TurnFront } from './front/turn-front.ts';

export type TurnServerOptions = {
  log: Log;
  listenIp: string;
  port: number;
  /** `publicPort`: the port for clients, if something forwards it to `port`. `proxyProtocol`: it sends a PROXY protocol header first. */
  tls: { port: number; publicPort?: number; keyPath: string; certPath: string; proxyProtocol?: boolean } | undefined;
  /** Media address of the node, the only relay destination. */
  mediaIp: string;
  /** Public address of the node: an IP address, or the host name of the certificate for TLS. */
  address: () => string | undefined;
  tlsHost: (address: string) => string;
};

/** W3C RTCIceServer. */
export type TurnIceServer = { urls: string[]; username: string; credential: string };

/** What the server needs of the features that use it. `isPresent`: whether the user still exists. */
export type TurnUsers = { renew: () => void; isPresent: (user: string) => boolean };

/** Credentials are renewed in this interval, and are valid for two to three intervals: they expire at multiples of it. */
const renewalInterval = 5 * 60_000;
/** coturn checks the time of credentials only if a relay is opened, so relays of users that left are cancelled. */
const cancelInterval = 60_000;

const startTimeoutMs = 30_000;
const endTimeoutMs = 2_000;
const restartDelay = 1_000;

export class TurnServer {
  readonly #options: TurnServerOptions;
  readonly #log: Log;
  readonly #folder: string;
  readonly #secret = randomBytes(32).toString('hex');
  #child: ChildProcess | undefined;
  #front: TurnFront | undefined;
  #cli: CoturnCli = { port: 0, password: '' };
  #restart: Timer | undefined;
  #renewal: Timer | undefined;
  #cancellation: Timer | undefined;
  #unwatch = () => {};
  #closed = false;
  #users: TurnUsers = { renew: () => {}, isPresent: () => true };

  private constructor(options: TurnServerOptions, folder: string) {
    this.#options = options;
    this.#log = options.log.child({ part: 'turn' });
    this.#folder = folder;
  }

  /** Resolves when coturn is listening. @throws Error with a message; coturn is stopped then. */
  static async start(options: TurnServerOptions): Promise<TurnServer> {
    const server = new TurnServer(options, await mkdtemp(join(tmpdir(), 'mediarooms-turn-')));
    try {
      await mustBeFree(options.listenIp, options.port);
      if (options.tls) await mustBeFree(options.listenIp, options.tls.port);
      await server.#run();
      await server.#startFront();
    } catch (error) {
      await server.close();
      throw error;
    }
    server.#keepRenewing();
    server.#keepCancelling();
    server.#watchCertificate();
    return server;
  }

  /** Process id of coturn; undefined if it is not running. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** For one user, who has one quota whatever the time in the credentials; empty while the public address of the node is unknown. */
  iceServers(user: string): TurnIceServer[] {
    const { address, port, tls, tlsHost } = this.#options;
    const host = address();
    if (host === undefined) return [];
    const at = bracketed(host);
    const urls = [`turn:${at}:${port}?transport=udp`, `turn:${at}:${port}?transport=tcp`];
    if (tls) urls.push(`turns:${bracketed(tlsHost(host))}:${tls.publicPort ?? tls.port}?transport=tcp`);
    return [{ urls, ...turnCredential(this.#secret, user, nextExpiry(Date.now())) }];
  }

  serve(users: TurnUsers): void {
    this.#users = users;
  }

  /** Cancels the relays of users that left. @returns their number @throws Error if coturn does not respond */
  cancelRelays(): Promise<number> {
    return cancelRelays(this.#cli, this.#users.isPresent);
  }

  /** Stops coturn. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of [this.#restart, this.#renewal, this.#cancellation]) timer?.stop();
    this.#unwatch();
    await this.#front?.close();
    const child = this.#child;
    if (child && child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), endTimeoutMs);
      await ended;
      clearTimeout(timer);
    }
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #writeConfig(): Promise<void> {
    const { listenIp, port, mediaIp } = this.#options;
    const tls = this.#coturnTls;
    this.#cli = { port: await mustBeFree('127.0.0.1', 0), password: randomBytes(32).toString('hex') };
    const text = coturnConfig({ listenIp, port, tls, mediaIp, secret: this.#secret, cli: this.#cli, folder: this.#folder });
    await writeFile(this.#configFile, text, { mode: 0o600 });
  }

  /** A front owns the TLS port; coturn accepts TLS at its TCP port too. */
  get #coturnTls(): TurnServerOptions['tls'] {
    const { port, tls } = this.#options;
    return tls?.proxyProtocol === true ? { ...tls, port } : tls;
  }

  async #startFront(): Promise<void> {
    const { listenIp, port, tls } = this.#options;
    if (tls?.proxyProtocol !== true) return;
    const [listen, target] = [
      { host: listenIp, port: tls.port },
      { host: reachable(listenIp), port },
    ];
    this.#front = await TurnFront.start({ listen, target, ...frontLimits }, this.#log);
  }

  get #configFile(): string {
    return join(this.#folder, 'turnserver.conf');
  }

  async #run(): Promise<void> {
    await this.#writeConfig();
    if (this.#closed) return;
    const [program = '', ...args] = [...parentDeathSignalCommand, 'turnserver', '-c', this.#configFile];
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    let lastLine = '';
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        lastLine = line.slice(0, 500);
        this.#log.debug(lastLine);
      });
    }
    const ended = new Promise<string>((done) => {
      child.once('error', (error) => done(error.message));
      child.once('exit', (code, signal) => done(`code ${code ?? signal}; its last line: ${lastLine}`));
    });
    let running = true;
    const failed = ended.then((why) => {
      running = false;
      return why;
    });
    const { listenIp, port } = this.#options;
    const why = await Promise.race([failed, this.#untilListening(() => running)]);
    if (why !== undefined) {
      const missing = why.includes('ENOENT') || why.includes('code 127') || why.includes('turnserver: No such file');
      throw new Error(
        missing
          ? 'SVC_WEBRTC_TURN_ENABLED needs the program turnserver (Debian package coturn), which is not installed'
          : `coturn could not listen on ${listenIp} port ${port}: ${why}`,
      );
    }
    this.#log.info({ pid: child.pid, ip: listenIp, port }, 'TURN server listening');
    void failed.then((reason) => this.#ended(reason));
  }

  async #untilListening(running: () => boolean): Promise<string | undefined> {
    const started = performance.now();
    const { listenIp, port } = this.#options;
    const [host, tls] = [reachable(listenIp), this.#coturnTls];
    const listeners = [{ host, port }, ...(tls ? [{ host, port: tls.port }] : []), { host: '127.0.0.1', port: this.#cli.port }];
    while (running() && performance.now() - started < startTimeoutMs) {
      if ((await Promise.all(listeners.map(accepts))).every(Boolean)) return undefined;
      await sleep(20);
    }
    return `no response within ${startTimeoutMs} ms`;
  }

  #ended(reason: string): void {
    if (this.#closed) return;
    this.#log.error({ reason }, 'coturn exited, restarting');
    this.#restart = new Timer(restartDelay, () => {
      if (this.#closed) return;
      this.#run().catch((error: unknown) => this.#ended(error instanceof Error ? error.message : String(error)));
    });
  }

  #keepRenewing(): void {
    this.#renewal = new Timer(renewalInterval, () => {
      this.#users.renew();
      this.#keepRenewing();
    });
  }

  #keepCancelling(): void {
    this.#cancellation = new Timer(cancelInterval, async () => {
      try {
        const cancelled = await this.cancelRelays();
        if (cancelled > 0) this.#log.info({ relays: cancelled }, 'cancelled relays of peers that left');
      } catch (error) {
        if (!this.#closed) this.#log.warn({ err: error }, 'could not cancel relays of peers that left');
      }
      if (!this.#closed) this.#keepCancelling();
    });
  }

  /** coturn reads its files again on SIGUSR2. Existing connections continue with the certificate with which they began. */
  #watchCertificate(): void {
    const { tls } = this.#options;
    if (!tls || this.#closed) return;
    this.#unwatch = watchTlsPair(tls, this.#log, () => void this.#child?.kill('SIGUSR2'));
  }
}

function nextExpiry(now: number): number {
  return (Math.ceil(now / renewalInterval) + 2) * renewalInterval;
}

/** coturn continues without a port that is in use, so ports are checked first. @returns the port, for 0 a free one @throws Error with a message */
async function mustBeFree(host: string, port: number): Promise<number> {
  const server = createServer();
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new Error(`TURN cannot listen on ${host} port ${port}: ${error instanceof Error ? error.message : String(error)}`);
  }
  const { port: free } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return free;
}

/** Address at which this host reaches a listener. */
function reachable(listenIp: string): string {
  return listenIp === '0.0.0.0' ? '127.0.0.1' : listenIp === '::' ? '::1' : listenIp;
}

function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

function accepts(listener: { host: string; port: number }): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(listener);
    socket.once('connect', () => {
      socket.destroy();
      done(true);
    });
    socket.once('error', () => done(false));
  });
}
