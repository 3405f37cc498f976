// Video compositor: draws each source into its cell of the frame, and redraws only changes.
import { AvError } from '../ffmpeg/ffmpeg.ts';
import { Scaler } from '../ffmpeg/scaler.ts';
import { drawText } from '../ffmpeg/text.ts';
import { black, type Rectangle, VideoFrame, type YuvColor } from '../ffmpeg/video-frame.ts';
import { centred, grid, letterbox, type Size } from './layout.ts';

/** Content of a cell; `key` identifies it. */
export type CellSource = { key: object; frame: () => VideoFrame | undefined };
/** Layout cell: its content, and its name if it is drawn. */
export type Cell = { place: Rectangle; shown: readonly CellSource[]; name: string | undefined };

export type VideoCompositorOptions = Size & {
  /** Font of names; undefined if names are not drawn. */
  font: string | undefined;
  /** The frame of the source with this key cannot be drawn. */
  onBroken?: (key: object, error: AvError) => void;
};

/** Color of an empty cell. */
const empty: YuvColor = { y: 40, u: 128, v: 128 };
/** Height of a name relative to its cell, and its bounds in pixels. */
const nameShare = 1 / 10;
const minName = 16;
const maxName = 48;

type Tile = {
  place: Rectangle;
  shown: CellSource;
  scaler: Scaler;
  /** Frame scaled to its cell. */
  scaled: VideoFrame | undefined;
  /** Position of the frame; undefined while the tile is empty. */
  drawnAt: Rectangle | undefined;
  name: Label | undefined;
};
type Label = { frame: VideoFrame; place: Rectangle };

export class VideoCompositor {
  readonly #options: VideoCompositorOptions;
  readonly #canvas: VideoFrame;
  readonly #scalers = new Map<object, Scaler>();
  #tiles: Tile[] = [];
  #labels = new Map<string, VideoFrame>();

  constructor(options: VideoCompositorOptions) {
    this.#options = options;
    this.#canvas = VideoFrame.filled(options.width, options.height);
  }

  /** The frame to encode. */
  get canvas(): VideoFrame {
    return this.#canvas;
  }

  /** Changes the layout; cells stay empty until update(). Not during update(). */
  arrange(cells: readonly Cell[]): void {
    for (const { scaled } of this.#tiles) scaled?.close();
    const { width, height } = this.#options;
    this.#canvas.makeWritable();
    this.#canvas.fill({ x: 0, y: 0, width, height }, black);
    const labels = this.#labels;
    this.#labels = new Map();
    this.#tiles = cells.flatMap((cell) => this.#seat(cell, labels));
    for (const videoFrame of labels.values()) videoFrame.close();
    const keys = new Set(this.#tiles.map(({ shown }) => shown.key));
    for (const [key, scaler] of this.#scalers) {
      if (keys.has(key)) continue;
      scaler.close();
      this.#scalers.delete(key);
    }
    for (const tile of this.#tiles) this.#clear(tile);
  }

  /** Redraws changes. Not reentrant. */
  async update(changed: (key: object) => boolean): Promise<void> {
    const due = this.#tiles.filter((tile) => changed(tile.shown.key) || (!tile.drawnAt && tile.shown.frame()));
    await Promise.all(due.map((tile) => this.#scaleSafely(tile)));
    if (due.length > 0) this.#canvas.makeWritable();
    for (const tile of due) this.#draw(tile);
  }

  /** Idempotent. Not during update(). */
  close(): void {
    for (const { scaled } of this.#tiles) scaled?.close();
    for (const scaler of this.#scalers.values()) scaler.close();
    for (const videoFrame of this.#labels.values()) videoFrame.close();
    this.#canvas.close();
  }

  /** Tiles of a cell; an empty cell shows its name in the middle. */
  #seat({ place, shown, name }: Cell, known: Map<string, VideoFrame>): Tile[] {
    const places = shown.length <= 1 ? [place] : grid(shown.length, place);
    const label = name === undefined ? undefined : this.#label(name, places[0] ?? place, known);
    if (shown.length === 0) {
      this.#canvas.fill(place, empty);
      if (label) this.#canvas.draw(label, all(label), centred(label, place));
      return [];
    }
    return shown.flatMap((each, index) => {
      const own = places[index];
      if (!own) return [];
      const scaler = this.#scalers.get(each.key) ?? new Scaler();
      this.#scalers.set(each.key, scaler);
      const named = index === 0 && label ? below(label, own) : undefined;
      return [{ place: own, shown: each, scaler, scaled: undefined, drawnAt: undefined, name: named }];
    });
  }

  #label(name: string, place: Rectangle, known: Map<string, VideoFrame>): VideoFrame | undefined {
    const { font } = this.#options;
    const height = Math.min(maxName, Math.max(minName, Math.floor((place.height * nameShare) / 2) * 2));
    if (font === undefined || name === '' || place.height < height * 2) return undefined;
    const key = JSON.stringify([name, height, place.width]);
    const videoFrame = this.#labels.get(key) ?? known.get(key) ?? drawText(name, { font, height, maxWidth: place.width });
    known.delete(key);
    this.#labels.set(key, videoFrame);
    return videoFrame;
  }

  async #scaleSafely(tile: Tile): Promise<void> {
    try {
      await this.#scale(tile);
    } catch (error) {
      const { onBroken } = this.#options;
      if (!onBroken || !(error instanceof AvError)) throw error;
      tile.scaled?.close();
      tile.scaled = undefined;
      onBroken(tile.shown.key, error);
    }
  }

  async #scale(tile: Tile): Promise<void> {
    const videoFrame = tile.shown.frame();
    if (!videoFrame) return;
    const { width, height } = letterbox(videoFrame, tile.place);
    if (tile.scaled?.width !== width || tile.scaled.height !== height) {
      tile.scaled?.close();
      tile.scaled = VideoFrame.filled(width, height);
    }
    await tile.scaler.scale(videoFrame, tile.scaled);
  }

  #draw(tile: Tile): void {
    const { scaled, place, shown } = tile;
    if (!scaled || !shown.frame()) {
      this.#clear(tile);
      return;
    }
    const at = centred(scaled, place);
    // The borders change only if the frame size changes, or after an empty tile.
    if (tile.drawnAt?.width !== at.width || tile.drawnAt.height !== at.height) this.#canvas.fill(place, black);
    this.#canvas.draw(scaled, all(scaled), at);
    tile.drawnAt = at;
    this.#drawName(tile);
  }

  #clear(tile: Tile): void {
    this.#canvas.fill(tile.place, empty);
    tile.drawnAt = undefined;
    this.#drawName(tile);
  }

  #drawName({ name }: Tile): void {
    if (name) this.#canvas.draw(name.frame, all(name.frame), name.place);
  }
}

function all({ width, height }: Size): Rectangle {
  return { x: 0, y: 0, width, height };
}

/** Label in the lower left corner. */
function below(frame: VideoFrame, cell: Rectangle): Label {
  return { frame, place: { x: cell.x, y: cell.y + cell.height - frame.height, width: frame.width, height: frame.height } };
}
