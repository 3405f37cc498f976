// Tile grid: makes tiles as large as the area allows; if they would become too small, it scrolls.
import { Children, type CSSProperties, type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { bestGrid } from './grid.ts';

const gap = 12;
const smallestTile = 150;

export function TileGrid({ children }: { children: ReactNode }) {
  const ref = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  // Not Children.count, which includes empty children.
  const count = Children.toArray(children).length;
  const best = bestGrid(size.width, size.height, count, gap);
  const tight = best.width < Math.min(smallestTile, size.width);
  const columns = tight ? Math.max(1, Math.floor((size.width + gap) / (smallestTile + gap))) : best.columns;
  const width = tight ? Math.floor((size.width - gap * (columns - 1)) / columns) : best.width;
  const style = { '--tile-width': `${Math.max(0, width)}px`, '--row-width': `${columns * width + (columns - 1) * gap}px` } as CSSProperties;
  return (
    <div ref={ref} className={tight ? 'tile-area tight' : 'tile-area'}>
      <ul className="tiles" style={style} aria-label="Participants in this room">
        {children}
      </ul>
    </div>
  );
}
