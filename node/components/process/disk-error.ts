// Disk error messages: state why a file could not be written, without its path.
import { constants } from 'node:os';

const { ENOSPC, EDQUOT } = constants.errno;
const full = new Set<unknown>(['ENOSPC', 'EDQUOT', -ENOSPC, -EDQUOT]);

/** Accepts errors of Node.js, whose codes are names, and of FFmpeg, whose codes are negative error numbers. */
export function diskErrorMessage(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  if (full.has(code)) return 'The disk is full';
  if (typeof code === 'string') return `Could not write to disk (${code})`;
  return error instanceof Error ? error.message.slice(0, 200) : 'Could not write to disk';
}
