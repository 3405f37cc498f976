// useVirtualRows: renders only the rows of a long table that are near the viewport.
import { type FocusEvent, type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { type DrawnRow, drawnRows, follow, RowHeights, type RowRange, rangeBetween } from './virtual-rows.ts';

/** Tables up to this number of rows are rendered completely. */
const wholeUpTo = 60;
/** Milliseconds after the last scroll event in which a table counts as being scrolled. */
const scrollsFor = 150;

export type VirtualRows = {
  body: RefObject<HTMLTableSectionElement | null>;
  drawn: readonly DrawnRow[];
  onFocus: (event: FocusEvent<HTMLTableSectionElement>) => void;
};

/** @param keys of all rows, a stable reference. Rendered rows have their position as `aria-rowindex`, starting at 2 */
export function useVirtualRows(keys: readonly string[], whole: boolean): VirtualRows {
  const body = useRef<HTMLTableSectionElement>(null);
  const latest = useRef(keys);
  const [heights] = useState(() => new RowHeights());
  const [wanted, setWanted] = useState<RowRange>({ from: 0, to: wholeUpTo, key: undefined });
  const [focused, setFocused] = useState<string>();
  const all = whole || keys.length <= wholeUpTo;
  const range = useMemo(() => (all ? { from: 0, to: keys.length, key: keys[0] } : follow(wanted, keys)), [all, wanted, keys]);

  useLayoutEffect(() => {
    latest.current = keys;
    if (!all && body.current) learn(body.current, heights, keys, setWanted, (key) => !heights.has(key));
  });

  useEffect(() => {
    const element = body.current;
    if (all || !element) return;
    const look = () => lookAround(element, heights, latest.current, setWanted);
    let resting: ReturnType<typeof setTimeout> | undefined;
    const rest = () => {
      clearTimeout(resting);
      resting = undefined;
      delete element.dataset.scrolling;
    };
    const scrolled = () => {
      // No hover style for rows that pass below the mouse. A single event is not scrolling: scroll anchoring of the browser causes it.
      if (resting !== undefined) element.dataset.scrolling = '';
      clearTimeout(resting);
      resting = setTimeout(rest, scrollsFor);
      const ended = isAtEnd();
      // Synchronously, so that the rows are part of the scrolled frame.
      flushSync(look);
      // Rows may be higher than estimated: stay at the end.
      if (ended && !isAtEnd()) window.scrollTo(0, document.documentElement.scrollHeight);
    };
    let width = element.clientWidth;
    const observer = new ResizeObserver(() => {
      if (width !== element.clientWidth) heights.forget();
      width = element.clientWidth;
      learn(element, heights, latest.current, setWanted);
    });
    observer.observe(element);
    window.addEventListener('scroll', scrolled, { passive: true });
    window.addEventListener('resize', look);
    return () => {
      observer.disconnect();
      rest();
      window.removeEventListener('scroll', scrolled);
      window.removeEventListener('resize', look);
    };
  }, [all, heights]);

  useEffect(() => {
    if (all) return;
    heights.keep(new Set(keys));
    // After the next frame, because scroll anchoring of the browser runs first if rows were added or removed above.
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(() => lookAround(body.current, heights, keys, setWanted));
    });
    return () => cancelAnimationFrame(frame);
  }, [all, heights, keys]);

  return {
    body,
    drawn: drawnRows(keys, heights, range, focused),
    onFocus: ({ target }) => setFocused(keys[indexOf(target.closest('tr'))]),
  };
}

type SetRange = (change: (before: RowRange) => RowRange) => void;

function lookAround(body: HTMLElement | null, heights: RowHeights, keys: readonly string[], setRange: SetRange): void {
  if (!body) return;
  const { top } = body.getBoundingClientRect();
  const next = rangeBetween(keys, heights, -top, window.innerHeight - top);
  setRange((before) => (before.from === next.from && before.to === next.to && before.key === next.key ? before : next));
}

/** Measures the heights of the rendered rows that `wanted` selects. */
function learn(
  body: HTMLElement,
  heights: RowHeights,
  keys: readonly string[],
  setRange: SetRange,
  wanted: (key: string) => boolean = () => true,
): void {
  const seen = new Map<string, number>();
  for (const row of body.children) {
    const key = keys[indexOf(row)];
    if (key !== undefined && wanted(key)) seen.set(key, row.getBoundingClientRect().height);
  }
  if (seen.size === 0) return;
  const gap = Number.parseFloat(getComputedStyle(body).rowGap) || 0;
  if (heights.learn(seen, gap)) setRange((before) => ({ ...before }));
}

const isAtEnd = (): boolean => window.scrollY + window.innerHeight >= document.documentElement.scrollHeight - 1;

const indexOf = (row: Element | null): number => Number(row?.getAttribute('aria-rowindex') ?? 0) - 2;
