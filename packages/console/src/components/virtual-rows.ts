// Virtual rows: which rows of a long table are rendered, and the height of the omitted rows between them.
import type { Range, VirtualItem } from '@tanstack/react-virtual';

/** A rendered row, with the height in pixels of the omitted rows before it. */
export type DrawnRow = { index: number; left: number };

/**
 * The rendered rows in order: those near the viewport, the first and the last row, through which the keyboard enters the table, and the last
 * focused row with its neighbors.
 */
export function drawnIndices({ startIndex, endIndex, overscan, count }: Range, focused: number): number[] {
  const neighbors = focused === -1 ? [] : [focused - 1, focused, focused + 1];
  const near = Array.from({ length: endIndex - startIndex + 1 + 2 * overscan }, (_, index) => startIndex - overscan + index);
  const indices = new Set([0, ...neighbors, ...near, count - 1].filter((index) => index >= 0 && index < count));
  return Array.from(indices).sort((one, other) => one - other);
}

/** @param gap between two rows, which remains at both ends of a spacer */
export function drawnRows(items: readonly Pick<VirtualItem, 'index' | 'start' | 'end'>[], gap: number): DrawnRow[] {
  return items.map(({ index, start }, at) => {
    const before = items[at - 1];
    return { index, left: before === undefined || before.index === index - 1 ? 0 : start - before.end - 2 * gap };
  });
}
