// How long things took and how large they are, for the table at the end of `npm run e2e`.
import { appendFileSync } from 'node:fs';
import { timingsVariable } from '../../node/setup/paths.mjs';

/** Puts it into the table: milliseconds, if nothing else is said. */
export function tell(what: string, value: number, unit: 'ms' | 'MB' | 'mcores' = 'ms'): void {
  const file = process.env[timingsVariable];
  if (file === undefined) console.log(`${what}: ${Math.round(value)} ${unit}`);
  else appendFileSync(file, `${JSON.stringify({ what, value, unit })}\n`);
}

export async function timing<T>(what: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const result = await work();
  tell(what, performance.now() - started);
  return result;
}
