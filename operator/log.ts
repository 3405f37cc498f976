// Log of the operator: pino, structured or pretty. It is passed to its users, never imported as a singleton.
import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

export type Log = Logger;

/** Log levels of the operator, mapped to those of pino. */
export const logLevels = { error: 'error', warning: 'warn', info: 'info', debug: 'debug' } as const;
export type LogLevel = keyof typeof logLevels;

/** Creates the root log. `structured`: JSON lines, otherwise text. Synchronous, so that the last lines of a process are not lost. */
export function createLog(options: { level: LogLevel; structured: boolean; to?: 'stdout' | 'stderr' }): Log {
  const destination = options.to === 'stderr' ? 2 : 1;
  const base = { level: logLevels[options.level], base: null };
  if (!options.structured)
    return pino(
      base,
      pretty({ colorize: process.stdout.isTTY, sync: true, destination, singleLine: true, translateTime: 'SYS:HH:MM:ss.l' }),
    );
  return pino(
    { ...base, timestamp: () => `,"time":"${new Date().toISOString()}"`, formatters: { level: (label) => ({ level: label }) } },
    pino.destination({ fd: destination, sync: true }),
  );
}
