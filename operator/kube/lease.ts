// Leader election over a Lease, by the rules of client-go.
import type { Log } from '../log.ts';
import type { KubeClient } from './client.ts';

type LeaseClient = Pick<KubeClient, 'get' | 'create' | 'patch'>;

export type LeaderElectorOptions = {
  client: { scoped: (scope: Parameters<KubeClient['scoped']>[0]) => LeaseClient };
  namespace: string;
  name: string;
  /** Who we are; another one per process. */
  identity: string;
  /** How long others wait for our next sign of life. */
  leaseMs?: number;
  /** We give up when no renewal succeeded for so long. */
  renewMs?: number;
  retryMs?: number;
  log: Log;
  /** A monotonic clock in milliseconds. */
  now?: () => number;
  random?: () => number;
  onChange?: (leading: boolean) => void;
};

export class LeaderElector {
  constructor(options: LeaderElectorOptions) {
    void options;
  }

  /** Whether the lease is ours at this very moment, by our own clock; for KubeClient.scoped's `mayWrite`. */
  get leading(): boolean {
    return false;
  }

  /**
   * Waits for the lease, leads until `lead` ends, the signal aborts or the lease is lost, then gives the lease back.
   * @returns why it ended
   */
  run(_signal: AbortSignal, _lead: (lost: AbortSignal) => Promise<void>): Promise<'ended' | 'lost'> {
    return Promise.reject(new Error('not built yet'));
  }
}
