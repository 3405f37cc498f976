// Benchmark report: one line per result, with the ratio to the baseline of the same run if there is one.
import { formatValues, ratios, type Values } from './statistics.ts';

export type Row = {
  /** Unique within a benchmark, and the same in each run. */
  what: string;
  value: Values;
  unit: string;
  /** The same measurement of a minimal implementation or of another server, in this run. */
  baseline?: { what: string; value: Values };
  /** The goal, as text. */
  goal?: string;
};

export type Section = { title: string; rows: readonly Row[] };

export type BenchResult = {
  /** E.g. `2026-11-24`. */
  date: string;
  machine: string;
  software: string;
  /** What a reader must know about this run. */
  note?: string;
  sections: readonly Section[];
};

/** By name of the benchmark, in the order of the page. */
export type Results = Readonly<Record<string, BenchResult>>;

/** Options of a run; those of measurements apply to the comparison with LiveKit. */
export type BenchOptions = {
  /** Measures although other programs use the cores. */
  force: boolean;
  /** Few receivers for a short time: shows that everything works. */
  quick: boolean;
  pairs: number;
  /** Names of cases; none: all. */
  cases: readonly string[];
};

/** Collects the results of one benchmark. */
export class Report {
  readonly #sections: Section[] = [];
  /** Software in addition to the node, with its version. */
  readonly software: string[] = [];

  get sections(): readonly Section[] {
    return this.#sections;
  }

  print(title: string, rows: readonly Row[]): void {
    this.#sections.push({ title, rows });
    process.stdout.write(`\n${title}\n${rows.map((row) => `  ${rowText(row)}\n`).join('')}`);
  }
}

function rowText({ what, value, unit, baseline, goal }: Row): string {
  const compared = baseline ? `  (${ratioText({ value, baseline })}${baseline.what}: ${withUnit(formatValues(baseline.value), unit)})` : '';
  return `${what}: ${withUnit(formatValues(value), unit)}${compared}${goal ? `  [goal ${goal}]` : ''}`;
}

function ratioText({ value, baseline }: Pick<Row, 'value' | 'baseline'>): string {
  const ratio = baseline && ratios(value, baseline.value);
  return ratio ? `${formatValues(ratio)}x of ` : '';
}

export function withUnit(text: string, unit: string): string {
  return unit === '' ? text : `${text} ${unit}`;
}
