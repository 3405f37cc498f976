// How long things took, for the table at the end of `npm run e2e`.
import { appendFileSync } from 'node:fs';
import { timingsVariable } from '../../node/setup/paths.mjs';

/** Milliseconds, of what is told in the table. */
export function tell(what: string, milliseconds: number): void {
  const file = process.env[timingsVariable];
  if (file === undefined) console.log(`${what}: ${Math.round(milliseconds)} ms`);
  else appendFileSync(file, `${JSON.stringify({ what, milliseconds })}\n`);
}

export async function timing<T>(what: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const result = await work();
  tell(what, performance.now() - started);
  return result;
}
