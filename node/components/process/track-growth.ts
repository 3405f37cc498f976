// Track growth: estimates from the memory of a process which of its tracks caused the growth.

export class TrackGrowth {
  #size = 0;
  readonly #grown = new Map<number, number>();

  /** `size`: resident bytes of the process; `tracks`: tracks in progress. Call often. */
  check(size: number, tracks: readonly number[]): void {
    const [before, grown] = [this.#size, size - this.#size];
    this.#size = size;
    if (grown > 0) for (const track of tracks) this.#grown.set(track, (this.#grown.get(track) ?? 0) + grown / tracks.length);
    // Freed memory is subtracted proportionally from all tracks.
    else for (const [track, bytes] of this.#grown) this.#grown.set(track, (bytes * size) / before);
  }

  /** The smallest set of tracks with more growth than all others together. */
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
