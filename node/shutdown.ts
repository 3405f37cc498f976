// The end of a node: signals, the numbered shutdown list, and what happens when something was overlooked.

import { Timer, waitWhile } from './common/timer.ts';
import type { MediaNode } from './node.ts';

/** Longest that requests in flight are waited for at the end, in milliseconds. */
const httpTimeoutMs = 2_000;
/** How long uploads that get on are waited for at the end, in milliseconds, beyond what is left of the time that rooms had. */
const uploadTimeoutMs = 1_000;
/** How long webhooks are still tried at the end, in milliseconds. */
const webhookTimeoutMs = 3_000;
/** Signals this close to the first, in milliseconds, are the first. */
const sameSignal = 250;
/** Longest that the list may take beyond its waits for rooms and balancers: then the process goes as it is. More than all deadlines on the way, telephones' included. */
const closeTimeoutMs = 25_000;

/**
 * Ends a node. Idempotent: all callers share one end. The order:
 *  1. No new rooms; /health says terminating; peers are told until when; rooms without connected peers end.
 *  2. Wait for the last room, at most until the deadline (`drainTimeout`).
 *  3. Rooms that are left end: peers get `Room stopped`, or 1001 in a cluster, where they may be made again.
 *  4. Telephones hang up, other components finish what they made. What they made goes up to S3, as long as there is time; the rest at the next start.
 *  5. Where there are other nodes that do not end as well: until Ingress and load balancers send nobody here any more; who still comes is taken to rooms elsewhere.
 *  6. Websockets of peers close. Who listens to events, here and on other nodes, has heard of all that; HTTP finishes what is in flight and closes.
 *  7. Webhooks that wait are tried once more, for a short time; the rest goes to another node, or stays in the spool.
 *  8. The node leaves the cluster.
 *  9. TURN and media workers end.
 * 10. Metrics, watchers of files.
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
 * Until a node is there to be ended in order: the first signal waits for it, a second one ends the process at once.
 * @returns ends the waiting, and sends itself what came meanwhile
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
 * Binds a node to its process: SIGTERM and SIGINT end it in order, a second one at once (exit code 130 or 143); an error
 * that nobody caught ends the process with code 1. Children end with the process, since they watch their pipes.
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
      // Supervisors send the same signal to a process and to its group: that is one wish, not two.
      if (firstAt !== undefined && performance.now() - firstAt < sameSignal) return;
      if (firstAt !== undefined) {
        log.warn({ signal }, 'second signal: ending at once');
        process.exit(code);
      }
      firstAt = performance.now();
      log.info({ signal }, 'ending');
      shutdown.run().then(
        () => process.exit(0),
        (error: unknown) => fatal(node, error),
      );
      // The longest that may be configured is beyond what setTimeout can wait, with this added.
      new Timer(Math.max(node.drainTimeout, node.shutdownDelay) + closeTimeoutMs, () =>
        fatal(node, new Error('the shutdown took too long')),
      );
    });
  }
  process.on('uncaughtException', (error) => fatal(node, error));
  process.on('unhandledRejection', (error) => fatal(node, error));
}

function fatal(node: MediaNode, error: unknown): never {
  node.parts.log.fatal({ err: error }, 'ending because of an error that nobody caught');
  process.exit(1);
}
