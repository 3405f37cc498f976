// A row of docs/reference/attacks.md and the test that shows it. `npm run attacks` writes the page.
import { readdirSync } from 'node:fs';
import { type TestContext, test } from 'node:test';

export type Attack = {
  /** What the attacker does, e.g. `One RTP packet whose header extension has length 0`. */
  attack: string;
  /** What limits it, with its figure or variable. */
  bound: string;
  /** What happens to the attacker and to everybody else. */
  outcome: string;
};

/** The test of a row. Rows of an area live in `<area>.attacks.ts`, their tests in `<area>.test.ts`. */
export function attack({ attack: name }: Attack, run: (t: TestContext) => Promise<void>): void {
  test(name, run);
}

/** The areas, by the files with their rows. */
export function areas(): string[] {
  return readdirSync(import.meta.dirname)
    .flatMap((name) => /^(.*)\.attacks\.ts$/.exec(name)?.[1] ?? [])
    .sort();
}

/** The rows of one area by the names that its tests use. */
export async function rowsOf(area: string): Promise<Record<string, Attack>> {
  const { attacks } = (await import(`./${area}.attacks.ts`)) as { attacks: Record<string, Attack> };
  return attacks;
}
