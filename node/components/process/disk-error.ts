// Why a file cannot be written, as a sentence without a path in it.
import { constants } from 'node:os';

const { ENOSPC, EDQUOT } = constants.errno;
const full = new Set<unknown>(['ENOSPC', 'EDQUOT', -ENOSPC, -EDQUOT]);

/** Of what Node.js throws, whose codes are names, and of what FFmpeg says, whose codes are negative error numbers. */
export function diskErrorMessage(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  if (full.has(code)) return 'The disk is full';
  if (typeof code === 'string') return `The disk cannot be written (${code})`;
  return error instanceof Error ? error.message.slice(0, 200) : 'The disk cannot be written';
}
