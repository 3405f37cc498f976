// Shutdown of a node: signal handling, its deadline, and the handling of uncaught errors.

import { Timer } from './common/timer.ts';
import type { MediaNode } from './media-node.ts';

/** Signals within this time of the first are duplicates, in milliseconds. */
const sameSignal = 250;
/**
 * Maximum duration of the shutdown beyond its waits for rooms and load balancers, in milliseconds; then the process exits. Larger than the
 * sum of all timeouts of the steps, those of SIP included.
 */
const closeTimeoutMs = 25_000;

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
      node.close().then(
        () => process.exit(0),
        (error: unknown) => fatal(node, error),
      );
      // The maximum configurable time plus this exceeds the range of setTimeout.
      new Timer(node.maxWait + closeTimeoutMs, () => fatal(node, new Error('Shutdown timed out')));
    });
  }
  process.on('uncaughtException', (error) => fatal(node, error));
  process.on('unhandledRejection', (error) => fatal(node, error));
}

function fatal(node: MediaNode, error: unknown): never {
  node.parts.log.fatal({ err: error }, 'exiting after uncaught error');
  process.exit(1);
}
