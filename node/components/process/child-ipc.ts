// The end of the pipe in an av process: commands come in checked, reports go out, and life is shown; without its parent it ends.
import type { z } from 'zod';
import { heartbeatInterval, maxMessageBytes, maxWaitingMessages } from './limits.ts';

export type ParentChannel<Report> = { send: (report: Report) => void };

/** To be called once, when everything is set to work. An error in `onCommand` ends the process, which the parent sees. */
export function connectToParent<Schema extends z.ZodType, Report>(
  schema: Schema,
  onCommand: (command: z.output<Schema>) => void,
): ParentChannel<Report> {
  // Signals of a terminal go to all its processes: the parent ends this one in order.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  process.on('disconnect', () => process.exit(0));
  let waiting = 0;
  const send = (message: unknown) => {
    if (Buffer.byteLength(JSON.stringify(message)) > maxMessageBytes) throw new RangeError('A report is too large');
    // The parent does not read any more.
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
