// The log: pino, structured or pretty; handed to whoever logs, never imported as a singleton.
import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';
import { currentRequestId } from './request-id.ts';

export type Log = Logger;

/** The names of levels that SVC_LOG_LEVEL takes, with pino's. */
const pinoLevels = { error: 'error', warning: 'warn', info: 'info', debug: 'debug' } as const;
export type LogLevel = keyof typeof pinoLevels;

/** What every line says beside its own: on behalf of which request. */
export function requestIdMixin(): { requestId?: string } {
  const requestId = currentRequestId();
  return requestId === undefined ? {} : { requestId };
}

/** Makes the root log. `structured`: JSON lines; else readable lines. Levels can be changed while it runs with `setLogLevel`. */
export function createLog(options: { level: LogLevel; structured: boolean }): Log {
  const base = { level: pinoLevels[options.level], base: null, mixin: requestIdMixin };
  if (options.structured)
    return pino(
      { ...base, timestamp: () => `,"time":"${new Date().toISOString()}"`, formatters: { level: (label) => ({ level: label }) } },
      // Written at once: pino's own default reorders the last lines of a process that ends.
      pino.destination({ fd: 1, sync: true }),
    );
  return pino(
    base,
    pretty({ colorize: process.stdout.isTTY, sync: true, ignore: 'pid,hostname', singleLine: true, translateTime: 'SYS:HH:MM:ss.l' }),
  );
}

export function setLogLevel(log: Log, level: LogLevel): void {
  log.level = pinoLevels[level];
}

/** A log that says nothing, for tests. */
export function silentLog(): Log {
  return pino({ level: 'silent' });
}
