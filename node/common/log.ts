// Log: pino, as JSON lines or readable lines; passed to its users, never imported as a singleton.
import { type Logger, pino } from 'pino';
import { currentRequestId } from './request-context.ts';

export type Log = Logger;

/** Level names of SVC_LOG_LEVEL with those of pino. */
const pinoLevels = { error: 'error', warning: 'warn', info: 'info', debug: 'debug' } as const;
export type LogLevel = keyof typeof pinoLevels;

/** Field of every log line: the id of the current request. */
export function requestIdMixin(): { requestId?: string } {
  const requestId = currentRequestId();
  return requestId === undefined ? {} : { requestId };
}

/** Creates the root log. `structured`: JSON lines, else readable lines. `setLogLevel` changes the level at runtime. */
export async function createLog(options: { level: LogLevel; structured: boolean }): Promise<Log> {
  const base = { level: pinoLevels[options.level], base: null, mixin: requestIdMixin };
  if (options.structured)
    return pino(
      { ...base, timestamp: () => `,"time":"${new Date().toISOString()}"`, formatters: { level: (label) => ({ level: label }) } },
      // Synchronous: pino's default may reorder the last lines of a process that exits.
      pino.destination({ fd: 1, sync: true }),
    );
  // Loaded here, because nodes on Kubernetes never need it.
  const { default: pretty } = await import('pino-pretty');
  return pino(
    base,
    pretty({ colorize: process.stdout.isTTY, sync: true, ignore: 'pid,hostname', singleLine: true, translateTime: 'SYS:HH:MM:ss.l' }),
  );
}

export function setLogLevel(log: Log, level: LogLevel): void {
  log.level = pinoLevels[level];
}
