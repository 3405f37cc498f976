// Statistics of benchmarks: quantiles, and medians with ranges of values that were measured several times.

/** One measurement, or several of the same thing. */
export type Values = number | readonly number[];

export function listOf(values: Values): readonly number[] {
  return typeof values === 'number' ? [values] : values;
}

/** A quantile of the values; `share` from 0 to 1. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The mean of the two middle values if their number is even. */
export function median(values: Values): number {
  const sorted = [...listOf(values)].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
}

/**
 * Measured values by those of the baseline: of each pair if both were measured in pairs, else of the medians.
 * @returns undefined if there is no ratio: one by zero
 */
export function ratios(values: Values, baseline: Values): readonly number[] | undefined {
  const [ours, theirs] = [listOf(values), listOf(baseline)];
  const all =
    ours.length === theirs.length ? ours.map((each, index) => each / (theirs[index] ?? Number.NaN)) : [median(ours) / median(theirs)];
  return all.every(Number.isFinite) ? all : undefined;
}

export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '-';
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));
}

/** `5`, `5 to 7` for two values, `6 (5 to 8)` for more; empty without values. */
export function formatValues(values: Values): string {
  const list = listOf(values);
  if (list.length === 0) return '';
  const texts = [Math.min(...list), Math.max(...list)].map(formatNumber);
  if (list.length === 1 || texts[0] === texts[1]) return formatNumber(median(list));
  return list.length === 2 ? texts.join(' to ') : `${formatNumber(median(list))} (${texts.join(' to ')})`;
}
