// Which tracks a process grew for, as far as one can tell who looks at it from outside.

export class TrackGrowth {
  #size = 0;
  readonly #grown = new Map<number, number>();

  /** `size`: bytes that the process holds now; `tracks`: what it works on. To be called often. */
  look(size: number, tracks: readonly number[]): void {
    const [before, grown] = [this.#size, size - this.#size];
    this.#size = size;
    if (grown > 0) for (const track of tracks) this.#grown.set(track, (this.#grown.get(track) ?? 0) + grown / tracks.length);
    // What it gave back it gave back for all.
    else for (const [track, bytes] of this.#grown) this.#grown.set(track, (bytes * size) / before);
  }

  /** The fewest tracks for which it grew by more than for all others together. */
  greatest(): number[] {
    const all = [...this.#grown].sort(([, a], [, b]) => b - a);
    let left = all.reduce((sum, [, bytes]) => sum + bytes, 0) / 2;
    const end = all.findIndex(([, bytes]) => {
      left -= bytes;
      return left < 0;
    });
    return all.slice(0, end + 1).map(([track]) => track);
  }
}
