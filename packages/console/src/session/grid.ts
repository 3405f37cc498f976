// Tile grid layout: finds the number of columns that gives the largest 16:9 tiles.

export type Grid = { columns: number; width: number; height: number };

export function bestGrid(width: number, height: number, tiles: number, gap: number, ratio = 16 / 9): Grid {
  let best: Grid = { columns: 1, width: 0, height: 0 };
  for (let columns = 1; columns <= Math.max(1, tiles); columns += 1) {
    const rows = Math.ceil(tiles / columns);
    const tileWidth = Math.min((width - gap * (columns - 1)) / columns, ((height - gap * (rows - 1)) / rows) * ratio);
    if (tileWidth > best.width) best = { columns, width: Math.floor(tileWidth), height: Math.floor(tileWidth / ratio) };
  }
  return best;
}
