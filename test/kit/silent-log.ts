// A log of the node or the operator without output.
import { type Logger, pino } from 'pino';

export function silentLog(): Logger {
  return pino({ level: 'silent' });
}
