// The operator's log: pino, structured or pretty; handed to whoever logs, never imported as a singleton.
import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

export type Log = Logger;

/** The names of levels that the operator takes, with pino's. */
export const logLevels = { error: 'error', warning: 'warn', info: 'info', debug: 'debug' } as const;
export type LogLevel = keyof typeof logLevels;

/** Makes the root log. `structured`: JSON lines; else readable lines. Written at once, so that the last lines of a process come in order. */
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

/** A log that says nothing, for tests. */
export function silentLog(): Log {
  return pino({ level: 'silent' });
}
