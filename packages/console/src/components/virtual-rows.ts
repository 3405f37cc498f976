// Which rows of a long table are drawn: those near the window, and those that the keyboard goes to next, with the height of what is left out between them.

/** A row that is drawn, and how many pixels of rows that are not drawn stand before it. */
export type DrawnRow = { index: number; left: number };

/** From the first row to the one before `to`. `key` is the first one's: rows that come and go above move the range along. */
export type RowRange = { from: number; to: number; key: string | undefined };

/** Rows that are drawn beyond the window's edges, so that nothing is missing while a picture is late. */
const margin = 5;
/** Ranges begin and end at multiples of this: less is drawn anew while scrolling. */
const step = 2;

/** Heights of rows as they were drawn, in pixels: of rows that never were, the usual one. */
export class RowHeights {
  #known = new Map<string, number>();
  #usual = 47;
  /** Room between two rows. */
  #gap = 0;

  /** What was seen. True where rows that were never drawn are thought of otherwise from now on. */
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

  /** The table has another width, so that texts break elsewhere. */
  forget(): void {
    this.#known.clear();
  }

  /** Of rows that are gone nothing is kept. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#known.keys()) if (!keys.has(key)) this.#known.delete(key);
  }

  /** From the top of a row to the top of the next one. */
  pitch(key: string): number {
    return (this.#known.get(key) ?? this.#usual) + this.#gap;
  }

  /** What stands in the place of these rows, whose gaps at both ends are still there. */
  total(keys: readonly string[]): number {
    return keys.length === 0 ? 0 : keys.reduce((sum, key) => sum + this.pitch(key), -this.#gap);
  }
}

/** The rows between two heights below the first row's top, in pixels, and some around them. */
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

/** The same rows where others came or went above them; of a table that became shorter its end. */
export function follow({ from, to, key }: RowRange, keys: readonly string[]): RowRange {
  if (from === 0) return { from, to: Math.min(to, keys.length), key: keys[0] };
  const found = keys[from] === key || key === undefined ? from : keys.indexOf(key);
  const start = Math.max(0, Math.min(found === -1 ? from : found, keys.length - (to - from)));
  return { from: start, to: Math.min(keys.length, start + to - from), key: keys[start] };
}

/**
 * The rows that are drawn, in their order. Beside the range: the first and the last one, where the keyboard comes into the table, and the row that has
 * the focus, or had it last, with its neighbours.
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
