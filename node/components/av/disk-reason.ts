// Why a file cannot be written, as a sentence without a path in it.

export function diskReason(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'The disk is full';
  return code === undefined && error instanceof Error ? error.message.slice(0, 200) : `The disk cannot be written (${code ?? 'unknown'})`;
}
