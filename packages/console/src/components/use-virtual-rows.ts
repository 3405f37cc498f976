// useVirtualRows: renders only the rows of a long table that are near the viewport.
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type FocusEvent, type RefObject, useCallback, useLayoutEffect, useRef, useState } from 'react';
import { type DrawnRow, drawnIndices, drawnRows } from './virtual-rows.ts';

/** Tables up to this number of rows are rendered completely. */
const wholeUpTo = 60;
/** Extra rows beyond the edges of the viewport, in case a frame is late. */
const overscan = 5;

export type VirtualRows = {
  body: RefObject<HTMLTableSectionElement | null>;
  drawn: readonly DrawnRow[];
  /** Ref of each row, which has its index as `data-index`; undefined if all rows are rendered. */
  measure: ((row: HTMLTableRowElement | null) => void) | undefined;
  isScrolling: boolean;
  onFocus: (event: FocusEvent<HTMLTableSectionElement>) => void;
};

/** `top`: of the first row in the document. `usual`: height of a row that was never rendered, learned at this `width`. */
type Layout = { top: number; gap: number; width: number; usual: number };

/** @param keys of all rows, a stable reference */
export function useVirtualRows(keys: readonly string[], whole: boolean): VirtualRows {
  const body = useRef<HTMLTableSectionElement>(null);
  const [layout, setLayout] = useState<Layout>({ top: 0, gap: 0, width: 0, usual: 47 });
  const [focused, setFocused] = useState<string>();
  const all = whole || keys.length <= wholeUpTo;
  const rows = useWindowVirtualizer<HTMLTableRowElement>({
    count: keys.length,
    enabled: !all,
    overscan,
    estimateSize: () => layout.usual,
    // Another function for another layout, so that the estimates are computed again.
    getItemKey: useCallback((index: number) => (layout.usual > 0 ? (keys[index] ?? index) : index), [keys, layout.usual]),
    measureElement: (row) => row.getBoundingClientRect().height,
    rangeExtractor: (range) => drawnIndices(range, focused === undefined ? -1 : keys.indexOf(focused)),
    scrollMargin: layout.top,
    gap: layout.gap,
    // Below the top the rows in sight stay if others are added, removed or measured.
    anchorTo: window.scrollY > layout.top ? 'end' : 'start',
  });
  useLayoutEffect(() => {
    if (all || !body.current) return;
    const next = layoutOf(body.current, layout);
    if (next === layout) return;
    setLayout(next);
    // Text wraps differently at another width.
    if (next.width === layout.width) return;
    rows.measure();
    for (const row of rowsOf(body.current)) rows.measureElement(row);
  });
  return {
    body,
    drawn: all ? keys.map((_, index) => ({ index, left: 0 })) : drawnRows(rows.getVirtualItems(), layout.gap),
    measure: all ? undefined : rows.measureElement,
    isScrolling: !all && rows.isScrolling,
    onFocus: ({ target }) => setFocused(keys[Number(target.closest('tr')?.dataset.index ?? -1)]),
  };
}

/** @returns `before` if nothing changed */
function layoutOf(body: HTMLElement, before: Layout): Layout {
  const box = body.getBoundingClientRect();
  const top = box.top + window.scrollY;
  const gap = Number.parseFloat(getComputedStyle(body).rowGap) || 0;
  const heights = box.width === before.width ? [] : rowsOf(body).map((row) => row.getBoundingClientRect().height);
  const learned = heights.length > 0 && { width: box.width, usual: heights.reduce((sum, height) => sum + height, 0) / heights.length };
  return Math.abs(top - before.top) < 1 && gap === before.gap && !learned ? before : { ...before, top, gap, ...learned };
}

function rowsOf(body: HTMLElement): HTMLTableRowElement[] {
  return Array.from(body.querySelectorAll<HTMLTableRowElement>('tr[data-index]'));
}
