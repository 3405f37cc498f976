// Demand for a track: the largest spatial layer that its receivers need, so that its publisher need not send more.

/** Largest index of a layer of a scalability mode. */
export const maxLayer = 7;

export class Demand {
  readonly #changed: (layer: number | undefined) => void;
  /** Number of receivers by the layer that they need. */
  readonly #receivers = new Array<number>(maxLayer + 1).fill(0);
  #layer: number | undefined;
  #ended = false;

  /** `changed`: called with the largest needed layer, or undefined if no receiver needs the track. */
  constructor(changed: (layer: number | undefined) => void = () => {}) {
    this.#changed = changed;
  }

  /** One more receiver. It needs all layers at first. */
  add(): Interest {
    return new Interest((from, to) => this.#move(from, to));
  }

  /** The track ended: later changes are not reported. */
  end(): void {
    this.#ended = true;
  }

  #move(from: number | undefined, to: number | undefined): void {
    if (from !== undefined) this.#receivers[from] = (this.#receivers[from] ?? 0) - 1;
    if (to !== undefined) this.#receivers[to] = (this.#receivers[to] ?? 0) + 1;
    const largest = this.#receivers.findLastIndex((count) => count > 0);
    const layer = largest < 0 ? undefined : largest;
    if (layer === this.#layer || this.#ended) return;
    this.#layer = layer;
    this.#changed(layer);
  }
}

/** What one receiver needs of a track. */
export class Interest {
  readonly #move: (from: number | undefined, to: number | undefined) => void;
  #preferred = maxLayer;
  #paused = false;
  #ended = false;
  #counted: number | undefined;

  constructor(move: (from: number | undefined, to: number | undefined) => void) {
    this.#move = move;
    this.#update();
  }

  prefer(layer: number): void {
    this.#preferred = layer;
    this.#update();
  }

  pause(paused: boolean): void {
    this.#paused = paused;
    this.#update();
  }

  /** Idempotent. */
  end(): void {
    this.#ended = true;
    this.#update();
  }

  #update(): void {
    const needed = this.#paused || this.#ended ? undefined : this.#preferred;
    if (needed === this.#counted) return;
    const before = this.#counted;
    this.#counted = needed;
    this.#move(before, needed);
  }
}
