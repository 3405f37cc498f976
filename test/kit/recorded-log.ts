// A log that tests read; searched for the secrets of the nodes that run meanwhile.
import { pino } from 'pino';
import { type Log, requestIdMixin } from '../../node/common/log.ts';
import { searchLine } from './secret-search.ts';

export type Line = { level: 'debug' | 'info' | 'warn' | 'error'; msg: string; [field: string]: unknown };

export function recordedLog(): { log: Log; lines: Line[]; of: (...levels: Line['level'][]) => Line[] } {
  const lines: Line[] = [];
  const log = pino(
    { level: 'debug', base: null, mixin: requestIdMixin, timestamp: false, formatters: { level: (level) => ({ level }) } },
    {
      write: (line) => {
        searchLine(line);
        lines.push(JSON.parse(line) as Line);
      },
    },
  );
  return { log, lines, of: (...levels) => lines.filter(({ level }) => levels.includes(level)) };
}
