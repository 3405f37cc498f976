// IPC in a component process: validates commands, sends reports and heartbeats, and exits with its parent.
import type { z } from 'zod';
import { heartbeatInterval, maxMessageBytes, maxWaitingMessages } from './limits.ts';

export type ParentChannel<Report> = { send: (report: Report) => void };

/** Call once, after initialization. An error in `onCommand` ends the process, which the parent detects. */
export function connectToParent<Schema extends z.ZodType, Report>(
  schema: Schema,
  onCommand: (command: z.output<Schema>) => void,
): ParentChannel<Report> {
  // A terminal sends signals to all its processes; the parent ends this one in order.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  process.on('disconnect', () => process.exit(0));
  let waiting = 0;
  const send = (message: unknown) => {
    if (Buffer.byteLength(JSON.stringify(message)) > maxMessageBytes) throw new RangeError('The report exceeds the maximum message size');
    // The parent has stopped reading.
    if (waiting >= maxWaitingMessages) process.exit(1);
    waiting += 1;
    process.send?.(message, undefined, undefined, () => {
      waiting -= 1;
    });
  };
  process.on('message', (message) => onCommand(schema.parse(message)));
  setInterval(() => send({ alive: true }), heartbeatInterval);
  return { send: (report) => send({ report }) };
}
