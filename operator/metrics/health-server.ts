// The operator's own small HTTP server: /metrics, /healthz, /readyz, without authentication.
import type { Log } from '../log.ts';

/** A named check: `undefined` where all is well, else a sentence that says what is not. */
export type Check = { name: string; check: () => string | undefined | Promise<string | undefined> };

export type HealthServerOptions = {
  ip: string;
  port: number;
  metrics: { contentType: string; text: () => Promise<string> };
  /** Whether the process should be started anew. */
  healthy: readonly Check[];
  /** Whether the process does its work; one that only waits for the lease is ready too. */
  ready: readonly Check[];
  log: Log;
};

export class HealthServer {
  private constructor() {}

  /** @throws Error with one sentence where the port cannot be had. */
  static start(_options: HealthServerOptions): Promise<HealthServer> {
    return Promise.reject(new Error('not built yet'));
  }

  get port(): number {
    return 0;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
