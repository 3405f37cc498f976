// Metrics server: GET /metrics for Prometheus, without authentication.
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from '../common/builtin-http.ts';
import type { Log } from '../common/log.ts';
import type { Metrics } from './metrics.ts';

export class MetricsServer {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @throws Error with a message if the port is not available. */
  static async start(options: { ip: string; port: number; metrics: Metrics; log: Log }): Promise<MetricsServer> {
    const { ip, port, metrics, log } = options;
    const server = createServer(
      { requestTimeout: 10_000, headersTimeout: 5_000, connectionsCheckingInterval: 5_000 },
      (request, response) => {
        // The URL of other requests may be invalid, so it is not parsed.
        if (request.url?.split('?', 1)[0] !== '/metrics') return plain(response, 404, 'Metrics are at /metrics\n');
        if (request.method !== 'GET' && request.method !== 'HEAD') return plain(response, 405, 'Only GET is allowed here\n');
        metrics.text().then(
          (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(request.method === 'HEAD' ? undefined : text),
          (error: unknown) => {
            log.error({ err: error }, 'could not collect metrics');
            plain(response, 500, 'Could not collect metrics\n');
          },
        );
      },
    );
    server.maxConnections = 100;
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) =>
        reject(new Error(`Metrics cannot listen at ${ip} port ${port} (SVC_METRICS_IP, SVC_METRICS_PORT): ${error.code}`)),
      );
      server.listen(port, ip, resolve);
    });
    return new MetricsServer(server);
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
}

function plain(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(text);
}
