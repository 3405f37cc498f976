// Attack: a row of docs/reference/attacks.md and its test. `npm run attacks` writes the page.
import { readdirSync } from 'node:fs';
import { type TestContext, test } from 'node:test';

export type Attack = {
  /** Action of the attacker, for example `One RTP packet whose header extension has length 0`. */
  attack: string;
  /** Limit of the effect, with its value or variable. */
  bound: string;
  /** Result for the attacker and for everybody else. */
  outcome: string;
};

/** Declares the test of a row. Rows of an area are in `<area>.attacks.ts`, their tests in `<area>.test.ts`. */
export function attack({ attack: name }: Attack, run: (t: TestContext) => Promise<void>): void {
  test(name, run);
}

/** Names of the areas, from the files with rows. */
export function areas(): string[] {
  return readdirSync(import.meta.dirname)
    .flatMap((name) => /^(.*)\.attacks\.ts$/.exec(name)?.[1] ?? [])
    .sort();
}

/** Rows of one area, by the names that its tests use. */
export async function rowsOf(area: string): Promise<Record<string, Attack>> {
  const { attacks } = (await import(`./${area}.attacks.ts`)) as { attacks: Record<string, Attack> };
  return attacks;
}
