// Virtual rows: computes which rows of a long table are rendered, and the height of the omitted rows between them.

/** A rendered row, with the height in pixels of the omitted rows before it. */
export type DrawnRow = { index: number; left: number };

/** Rows from `from` to `to` (exclusive). `key` belongs to the first row: the range follows it if rows are added or removed above. */
export type RowRange = { from: number; to: number; key: string | undefined };

/** Extra rows beyond the edges of the viewport, in case a frame is late. */
const margin = 5;
/** Ranges start and end at multiples of this, for fewer renders while scrolling. */
const step = 2;

/** Measured heights of rows in pixels, and an estimate for rows that were never rendered. */
export class RowHeights {
  #known = new Map<string, number>();
  #usual = 47;
  /** Gap between two rows. */
  #gap = 0;

  /** Stores measured heights. @returns true if the estimate changed */
  learn(seen: ReadonlyMap<string, number>, gap: number): boolean {
    const first = this.#known.size === 0 && seen.size > 0;
    for (const [key, height] of seen) this.#known.set(key, height);
    this.#gap = gap;
    if (first) this.#usual = [...seen.values()].reduce((sum, height) => sum + height, 0) / seen.size;
    return first;
  }

  has(key: string): boolean {
    return this.#known.has(key);
  }

  /** Forgets all heights, because the width of the table changed and text wraps differently. */
  forget(): void {
    this.#known.clear();
  }

  /** Forgets rows that no longer exist. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#known.keys()) if (!keys.has(key)) this.#known.delete(key);
  }

  /** Distance from the top of a row to the top of the next one. */
  pitch(key: string): number {
    return (this.#known.get(key) ?? this.#usual) + this.#gap;
  }

  /** Height of a spacer that replaces these rows; the gaps at both ends remain. */
  total(keys: readonly string[]): number {
    return keys.length === 0 ? 0 : keys.reduce((sum, key) => sum + this.pitch(key), -this.#gap);
  }
}

/** The rows between two offsets in pixels from the top of the first row, with the margin. */
export function rangeBetween(keys: readonly string[], heights: RowHeights, top: number, bottom: number): RowRange {
  let [first, end, at] = [0, 0, 0];
  for (const [index, key] of keys.entries()) {
    if (at <= top) first = index;
    if (at < bottom) end = index + 1;
    at += heights.pitch(key);
  }
  const from = Math.max(0, Math.floor((first - margin) / step) * step);
  const to = Math.min(keys.length, Math.ceil((Math.max(end, first + 1) + margin) / step) * step);
  return { from, to, key: keys[from] };
}

/** The same rows after others were added or removed above; the end of the table if it became shorter. */
export function follow({ from, to, key }: RowRange, keys: readonly string[]): RowRange {
  if (from === 0) return { from, to: Math.min(to, keys.length), key: keys[0] };
  const found = keys[from] === key || key === undefined ? from : keys.indexOf(key);
  const start = Math.max(0, Math.min(found === -1 ? from : found, keys.length - (to - from)));
  return { from: start, to: Math.min(keys.length, start + to - from), key: keys[start] };
}

/**
 * The rendered rows in order: the range, the first and the last row, through which the keyboard enters the table, and the last focused row
 * with its neighbors.
 */
export function drawnRows(keys: readonly string[], heights: RowHeights, { from, to }: RowRange, focused: string | undefined): DrawnRow[] {
  const at = focused === undefined ? -1 : keys.indexOf(focused);
  const beside = at === -1 ? [] : [at - 1, at, at + 1];
  const range = Array.from({ length: to - from }, (_, index) => from + index);
  const indices = new Set([0, ...beside, ...range, keys.length - 1].filter((index) => index >= 0 && index < keys.length));
  let next = 0;
  return Array.from(indices)
    .sort((a, b) => a - b)
    .map((index) => {
      const left = heights.total(keys.slice(next, index));
      next = index + 1;
      return { index, left };
    });
}
