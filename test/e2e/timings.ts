// Timings and sizes for the table at the end of `npm run e2e`.
import { appendFileSync } from 'node:fs';
import { basename } from 'node:path';
import { testFileVariable, timingsVariable } from '../../tools/paths.mjs';

/** Adds a row to the table; the unit is milliseconds by default. */
export function tell(what: string, value: number, unit: 'ms' | 'MB' | 'mcores' = 'ms'): void {
  const path = process.env[timingsVariable];
  const file = basename(process.env[testFileVariable] ?? '', '.test.ts');
  if (path === undefined) console.log(`${what}: ${Math.round(value)} ${unit}`);
  else appendFileSync(path, `${JSON.stringify({ file, what, value, unit })}\n`);
}

export async function timing<T>(what: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const result = await work();
  tell(what, performance.now() - started);
  return result;
}
