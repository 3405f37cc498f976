// Benchmark report: one line per result, with the ratio to the baseline of the same run if there is one.

export type Row = {
  what: string;
  value: number;
  unit: string;
  /** The same measurement of a minimal implementation, in this run. */
  baseline?: { what: string; value: number };
  /** The goal, as text. */
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

/** A quantile of the values; `share` from 0 to 1. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
