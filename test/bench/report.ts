// How results of benchmarks are shown: one line each, with the ratio to the baseline of the same run where there is one.

export type Row = {
  what: string;
  value: number;
  unit: string;
  /** The same measurement of the simplest thing that could do it, in this run. */
  baseline?: { what: string; value: number };
  /** What was aimed at, as text. */
  goal?: string;
};

export function printRows(title: string, rows: readonly Row[]): void {
  process.stdout.write(`\n${title}\n`);
  for (const { what, value, unit, baseline, goal } of rows) {
    const ratio = baseline ? `  (${format(value / baseline.value)}x of ${baseline.what}: ${format(baseline.value)} ${unit})` : '';
    process.stdout.write(`  ${what}: ${format(value)} ${unit}${ratio}${goal ? `  [goal ${goal}]` : ''}\n`);
  }
}

function format(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3);
}

/** The value below which a share of them lies; `share` from 0 to 1. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
