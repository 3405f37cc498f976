// The picture of the stream: each source in its cell, drawn again only where something changed.
import { AvError } from '../ffmpeg/ffmpeg.ts';
import { Scaler } from '../ffmpeg/scaler.ts';
import { drawText } from '../ffmpeg/text.ts';
import { black, type Rectangle, VideoFrame, type YuvColor } from '../ffmpeg/video-frame.ts';
import { centred, grid, letterbox, type Size } from './layout.ts';

/** What is drawn in a cell; `key` tells it apart from others. */
export type CellSource = { key: object; picture: () => VideoFrame | undefined };
/** A cell: what its source shows, and its name where it is to be seen. */
export type Cell = { place: Rectangle; shown: readonly CellSource[]; name: string | undefined };

export type VideoCompositorOptions = Size & {
  /** Of names; undefined where none are drawn. */
  font: string | undefined;
  /** The picture of what has this key cannot be drawn. */
  onBroken?: (key: object, error: AvError) => void;
};

/** Of a cell without a picture. */
const empty: YuvColor = { y: 40, u: 128, v: 128 };
/** Height of a name, as part of that of its cell, and its bounds in pixels. */
const nameShare = 1 / 10;
const minName = 16;
const maxName = 48;

type Tile = {
  place: Rectangle;
  shown: CellSource;
  scaler: Scaler;
  /** Its picture as it fits. */
  scaled: VideoFrame | undefined;
  /** Where that is; undefined while the tile is empty. */
  drawnAt: Rectangle | undefined;
  name: Label | undefined;
};
type Label = { picture: VideoFrame; place: Rectangle };

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

  /** What is to be encoded. */
  get canvas(): VideoFrame {
    return this.#canvas;
  }

  /** Another arrangement, empty until update(). Not while that is under way. */
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

  /** Draws anew what has changed. One call at a time. */
  async update(changed: (key: object) => boolean): Promise<void> {
    const due = this.#tiles.filter((tile) => changed(tile.shown.key) || (!tile.drawnAt && tile.shown.picture()));
    await Promise.all(due.map((tile) => this.#scaleSafely(tile)));
    if (due.length > 0) this.#canvas.makeWritable();
    for (const tile of due) this.#draw(tile);
  }

  /** Idempotent. Not while update() is under way. */
  close(): void {
    for (const { scaled } of this.#tiles) scaled?.close();
    for (const scaler of this.#scalers.values()) scaler.close();
    for (const videoFrame of this.#labels.values()) videoFrame.close();
    this.#canvas.close();
  }

  /** The tiles of a cell; one that shows nothing has its name in the middle. */
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
    const videoFrame = tile.shown.picture();
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
    if (!scaled || !shown.picture()) {
      this.#clear(tile);
      return;
    }
    const at = centred(scaled, place);
    // Another shape than before, or a picture after none: its surroundings are as they were otherwise.
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
    if (name) this.#canvas.draw(name.picture, all(name.picture), name.place);
  }
}

function all({ width, height }: Size): Rectangle {
  return { x: 0, y: 0, width, height };
}

/** In the lower left corner. */
function below(picture: VideoFrame, cell: Rectangle): Label {
  return { picture, place: { x: cell.x, y: cell.y + cell.height - picture.height, width: picture.width, height: picture.height } };
}
