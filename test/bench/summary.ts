// Summary of a run of benchmarks: every result of the documentation, next to that of this run.
import { type BenchResult, type Results, type Row, withUnit } from './report.ts';
import { formatNumber, formatValues, median, ratios } from './statistics.ts';

/** One line for each committed result of these benchmarks, and for each new one. */
export function summaryLines(committed: Results, measured: Results): string[] {
  const names = [...new Set([...Object.keys(committed), ...Object.keys(measured)])];
  return names.flatMap((name) => {
    const [before, now] = [rowsOf(committed[name]), rowsOf(measured[name])];
    if (!measured[name]) return [`${name}: not measured in this run (${before.length} results)`];
    const missing = before.filter(({ what }) => !now.some((row) => row.what === what));
    return [
      name,
      ...now.map(
        (row) =>
          `  ${row.what}: ${changeText(
            row,
            before.find(({ what }) => what === row.what),
          )}`,
      ),
      ...missing.map(({ what }) => `  ${what}: not measured in this run`),
    ];
  });
}

function rowsOf(result: BenchResult | undefined): readonly Row[] {
  return result?.sections.flatMap(({ rows }) => rows) ?? [];
}

/** The ratio to the baseline changes less with the speed of the machine than the value. */
function changeText(now: Row, before: Row | undefined): string {
  const value = withUnit(formatValues(now.value), now.unit);
  if (!before) return `${value}, new`;
  const change = `${value}, was ${withUnit(formatValues(before.value), before.unit)}${timesText(median(now.value), median(before.value))}`;
  if (!now.baseline || !before.baseline) return change;
  const [ratio, oldRatio] = [ratios(now.value, now.baseline.value), ratios(before.value, before.baseline.value)];
  if (!ratio || !oldRatio) return change;
  return `${change}; of ${now.baseline.what}: ${formatValues(ratio)}x, was ${formatValues(oldRatio)}x`;
}

function timesText(now: number, before: number): string {
  return before === 0 ? '' : ` (${formatNumber(now / before)}x)`;
}
