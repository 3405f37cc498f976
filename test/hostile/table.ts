// `npm run attacks`: writes the table of attacks in SECURITY.md out of the rows beside the tests.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { areas, rowsOf } from './attack.ts';

const file = join(resolve(import.meta.dirname, '../..'), 'SECURITY.md');
const [begin, end] = ['<!-- attacks: written by `npm run attacks` -->\n', '<!-- end of attacks -->'];

/** SECURITY.md with the table as the rows are now. Throws where the file has no place for it. */
export async function securityPage(): Promise<string> {
  const page = readFileSync(file, 'utf8');
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error('SECURITY.md has no place for the table of attacks');
  return `${before}${begin}${await table()}${end}${after}`;
}

async function table(): Promise<string> {
  const rows = (await Promise.all(areas().map(rowsOf))).flatMap((attacks) => Object.values(attacks));
  const lines = rows.map(({ attack, bound, outcome }) => `| ${[attack, bound, outcome].join(' | ')} |\n`);
  return `| attack | bound | what happens |\n|---|---|---|\n${lines.join('')}`;
}

if (import.meta.main) writeFileSync(file, await securityPage());
