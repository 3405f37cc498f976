// Layout of a stream: positions of the participants in the frame.

import type { Layout } from '../../../api/component/hls.ts';
import type { Rectangle } from '../ffmpeg/video-frame.ts';

export type Size = { width: number; height: number };

/** Aspect ratio of cells; content keeps its aspect ratio. */
const aspect = 16 / 9;
/** Share of the height for participants that do not speak. */
const stripShare = 1 / 4;

/** Cells of equal and maximum size, in centered rows. */
export function grid(count: number, area: Rectangle): Rectangle[] {
  let best: { columns: number; cell: Size } | undefined;
  for (let columns = 1; columns <= count; columns += 1) {
    const cell = largest({ width: area.width / columns, height: area.height / Math.ceil(count / columns) });
    // If two arrangements are equally large, the wider one wins.
    if (!best || cell.width >= best.cell.width) best = { columns, cell };
  }
  if (!best) return [];
  const { columns, cell } = best;
  const rows = Math.ceil(count / columns);
  const top = area.y + (area.height - rows * cell.height) / 2;
  return Array.from({ length: count }, (_, index) => {
    const row = Math.floor(index / columns);
    const inRow = row === rows - 1 ? count - row * columns : columns;
    const left = area.x + (area.width - inRow * cell.width) / 2;
    return { x: even(left + (index - row * columns) * cell.width), y: even(top + row * cell.height), ...cell };
  });
}

/** The largest centered rectangle in the cell with the aspect ratio of the frame. */
export function letterbox(frame: Size, cell: Rectangle): Rectangle {
  const scale = Math.min(cell.width / frame.width, cell.height / frame.height);
  const width = atLeastOne(Math.min(cell.width, frame.width * scale));
  const height = atLeastOne(Math.min(cell.height, frame.height * scale));
  return centred({ width, height }, cell);
}

/** Centers content that is not larger than the cell. */
export function centred({ width, height }: Size, cell: Rectangle): Rectangle {
  return { x: even(cell.x + (cell.width - width) / 2), y: even(cell.y + (cell.height - height) / 2), width, height };
}

/** Cell of each visible source. `speaker`: source of the large cell; the first if undefined. */
export function layoutCells(layout: Layout, sources: readonly string[], speaker: string | undefined, size: Size): Map<string, Rectangle> {
  const area = { x: 0, y: 0, ...size };
  const first = speaker !== undefined && sources.includes(speaker) ? speaker : sources[0];
  if (first === undefined) return new Map();
  if (layout === 'single' || sources.length === 1) return new Map([[first, area]]);
  if (layout === 'grid') return pair(sources, grid(sources.length, area));
  const others = sources.filter((source) => source !== first);
  const height = even(size.height * stripShare);
  const strip = largest({ width: size.width / others.length, height });
  const left = (size.width - strip.width * others.length) / 2;
  const row = others.map((_, index) => ({
    x: even(left + index * strip.width),
    y: even(size.height - height + (height - strip.height) / 2),
    ...strip,
  }));
  return new Map([[first, { x: 0, y: 0, width: size.width, height: even(size.height - height) }], ...pair(others, row)]);
}

function pair(sources: readonly string[], cells: readonly Rectangle[]): Map<string, Rectangle> {
  return new Map(sources.flatMap((source, index) => (cells[index] ? [[source, cells[index]]] : [])));
}

function largest({ width, height }: Size): Size {
  const used = Math.min(width, height * aspect);
  return { width: atLeastOne(used), height: atLeastOne(used / aspect) };
}

/** Chroma planes have half of the resolution. */
function even(value: number): number {
  return Math.floor(value / 2) * 2;
}

function atLeastOne(value: number): number {
  return Math.max(2, even(value + 1e-6));
}
