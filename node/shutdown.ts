// Shutdown of a node: signal handling, the ordered shutdown steps, and the handling of uncaught errors.

import { Timer, waitWhile } from './common/timer.ts';
import type { MediaNode } from './node.ts';

/** Timeout for requests in flight, in milliseconds. */
const httpTimeoutMs = 2_000;
/** Time for progressing uploads after the drain timeout, in milliseconds. */
const uploadTimeoutMs = 1_000;
/** Time for final webhook attempts, in milliseconds. */
const webhookTimeoutMs = 3_000;
/** Signals within this time of the first are duplicates, in milliseconds. */
const sameSignal = 250;
/**
 * Maximum duration of the shutdown beyond its waits for rooms and load balancers, in milliseconds; then the process exits. Larger than the
 * sum of all timeouts of the steps, those of SIP included.
 */
const closeTimeoutMs = 25_000;

/**
 * Shuts a node down. Idempotent: all callers share one shutdown. The order:
 *  1. Reject new rooms; /health reports terminating; peers get the deadline; rooms without connected peers end.
 *  2. Wait for the last room, at most until the deadline (`drainTimeout`).
 *  3. End the remaining rooms: peers get `Room stopped`, or 1001 in a cluster, where the rooms may be recreated.
 *  4. SIP components hang up, other components finish their output. Uploads to S3 continue within the time left; the rest follows at the
 *     next start.
 *  5. If other nodes are active: wait until Ingress and load balancers stop routing to this node; new requests are proxied to other nodes.
 *  6. Close WebSockets of peers. Event subscribers, here and on other nodes, have received all events by now. HTTP finishes requests in
 *     flight and closes.
 *  7. Retry pending webhooks for a short time; the rest is handed over to another node, or stays in the spool.
 *  8. Leave the cluster.
 *  9. Stop TURN and media workers.
 * 10. Close metrics and file watchers.
 */
export class Shutdown {
  readonly #node: MediaNode;
  #ending: Promise<void> | undefined;

  constructor(node: MediaNode) {
    this.#node = node;
  }

  run(drainTimeout: number = this.#node.drainTimeout): Promise<void> {
    this.#ending ??= this.#run(drainTimeout);
    return this.#ending;
  }

  async #run(drainTimeout: number): Promise<void> {
    const { parts, shutdownDelay } = this.#node;
    const { cluster } = parts;
    const began = performance.now();
    const leftOf = (time: number) => Math.max(0, began + time - performance.now());
    await parts.drain.terminate(drainTimeout);
    parts.rooms.close('shutdown');
    await parts.components.close();
    await parts.uploads.close(leftOf(drainTimeout) + uploadTimeoutMs);
    await waitWhile(leftOf(shutdownDelay), () => cluster.hasActiveNodes);
    await Promise.all([parts.traffic.closeForwarding(), parts.peerSockets.close()]);
    parts.traffic.events.close();
    await Promise.all([parts.serverSockets.close(), parts.http.close(httpTimeoutMs)]);
    await parts.webhooks.close(
      webhookTimeoutMs,
      cluster.links.nodes().length > 0 ? (batch) => parts.traffic.webhooks.handOver(batch) : undefined,
    );
    await parts.distribution.close();
    await Promise.all([parts.turn?.close(), parts.media.close()]);
    await Promise.all([parts.metrics.close(), parts.announced.close(), parts.hot.close()]);
    parts.log.info('node ended');
  }
}

/**
 * Defers signals until the node has started: the first signal is kept, a second one exits the process immediately.
 * @returns a function that stops deferring and resends the kept signal
 */
export function deferSignals(): () => void {
  let held: NodeJS.Signals | undefined;
  const hold = (signal: NodeJS.Signals) => {
    if (held) process.exit(1);
    held = signal;
  };
  const signals = ['SIGTERM', 'SIGINT'] as const;
  for (const signal of signals) process.on(signal, hold);
  return () => {
    for (const signal of signals) process.off(signal, hold);
    if (held) process.kill(process.pid, held);
  };
}

/**
 * Installs signal handlers: SIGTERM and SIGINT shut the node down, a second signal exits immediately (exit code 130 or 143); an uncaught
 * error exits with code 1. Child processes exit with this process because they watch their pipes.
 */
export function installSignalHandlers(node: MediaNode): void {
  const shutdown = new Shutdown(node);
  const { log } = node.parts;
  let firstAt: number | undefined;
  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    process.on(signal, () => {
      // Supervisors send one signal to the process and again to its group: that counts once.
      if (firstAt !== undefined && performance.now() - firstAt < sameSignal) return;
      if (firstAt !== undefined) {
        log.warn({ signal }, 'second signal received, exiting immediately');
        process.exit(code);
      }
      firstAt = performance.now();
      log.info({ signal }, 'shutting down');
      shutdown.run().then(
        () => process.exit(0),
        (error: unknown) => fatal(node, error),
      );
      // The maximum configurable time plus this exceeds the range of setTimeout.
      new Timer(Math.max(node.drainTimeout, node.shutdownDelay) + closeTimeoutMs, () => fatal(node, new Error('Shutdown timed out')));
    });
  }
  process.on('uncaughtException', (error) => fatal(node, error));
  process.on('unhandledRejection', (error) => fatal(node, error));
}

function fatal(node: MediaNode, error: unknown): never {
  node.parts.log.fatal({ err: error }, 'exiting after uncaught error');
  process.exit(1);
}
