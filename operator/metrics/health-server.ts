// HTTP server of the operator: /metrics, /healthz and /readyz, without authentication.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { messageOf } from '../error-message.ts';
import type { Log } from '../log.ts';

/** A named check: `undefined` if it passes, otherwise a message. */
export type Check = { name: string; check: () => string | undefined | Promise<string | undefined> };

export type HealthServerOptions = {
  ip: string;
  port: number;
  metrics: { contentType: string; text: () => Promise<string> };
  /** Whether the process must be restarted. */
  healthy: readonly Check[];
  /** Whether the process works; a process that waits for the lease is ready too. */
  ready: readonly Check[];
  /** Default 3 s, because probes do not wait much longer. */
  checkMs?: number;
  log: Log;
};

const bounds = {
  requestTimeout: 10_000,
  headersTimeout: 5000,
  connectionsCheckingInterval: 5000,
  maxHeaderSize: 8192,
  keepAliveTimeout: 30_000,
} as const;

export class HealthServer {
  readonly #options: HealthServerOptions;
  readonly #server: Server;

  private constructor(options: HealthServerOptions) {
    this.#options = options;
    this.#server = createServer(bounds, (request, response) => {
      // Request bodies are discarded.
      request.resume();
      this.#answer(request, response).catch((error: unknown) => {
        options.log.error({ err: error, path: request.url }, 'could not serve request');
        if (!response.headersSent) plain(response, 500, 'Internal error\n');
      });
    });
    this.#server.maxConnections = 100;
  }

  /** @throws Error with a message if the port is not available */
  static async start(options: HealthServerOptions): Promise<HealthServer> {
    const { ip, port } = options;
    const health = new HealthServer(options);
    await new Promise<void>((resolve, reject) => {
      health.#server.once('error', (error: NodeJS.ErrnoException) =>
        reject(new Error(`Could not listen at ${ip} port ${port} for metrics and health: ${error.code}`)),
      );
      // Without an address Node.js listens on `::`, and on 0.0.0.0 if IPv6 is not available.
      health.#server.listen({ port, ...(ip !== '::' && { host: ip }) }, resolve);
    });
    return health;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { healthy, ready, metrics } = this.#options;
    // The request target may be an invalid URL.
    const [, part, name, ...rest] = (request.url ?? '').split('?', 1)[0]?.split('/') ?? [];
    const checks = part === 'healthz' ? healthy : part === 'readyz' ? ready : undefined;
    const chosen = name === undefined || name === '' ? checks : checks?.filter((check) => check.name === name);
    const isMetrics = part === 'metrics' && name === undefined;
    const found = isMetrics || (chosen !== undefined && (chosen.length > 0 || !name));
    if (!found || rest.length > 0) return plain(response, 404, 'Not found; available paths: /metrics, /healthz and /readyz\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') return plain(response, 405, 'Only GET is allowed\n');
    if (!isMetrics) return this.#report(part ?? '', chosen ?? [], response);
    const text = await metrics.text();
    response.writeHead(200, { 'content-type': metrics.contentType }).end(text);
  }

  /** Format of Kubernetes: `[+]name ok`, `[-]name failed: why`. */
  async #report(what: string, checks: readonly Check[], response: ServerResponse): Promise<void> {
    const results = await Promise.all(checks.map(async (check) => [check.name, await this.#run(check)] as const));
    const lines = results.map(([name, failure]) => (failure === undefined ? `[+]${name} ok` : `[-]${name} failed: ${failure}`));
    const passed = results.every(([, failure]) => failure === undefined);
    plain(response, passed ? 200 : 503, `${[...lines, `${what} check ${passed ? 'passed' : 'failed'}`].join('\n')}\n`);
  }

  async #run({ check }: Check): Promise<string | undefined> {
    const { checkMs = 3000 } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<string>((resolve) => {
      timer = setTimeout(() => resolve(`no result within ${checkMs} ms`), checkMs);
    });
    try {
      return await Promise.race([check(), late]);
    } catch (error) {
      return messageOf(error);
    } finally {
      clearTimeout(timer);
    }
  }
}

function plain(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }).end(text);
}
