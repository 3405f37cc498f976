// Pixel budget of a composer: bounds the pixels decoded at once, because 4K frames of many tracks would exhaust memory.

type Claim = { source: string; pixels: number };

/** A track that does not fit is refused, and claims again with its next key frame. */
export class PixelBudget<Track> {
  readonly #most: number;
  readonly #claims = new Map<Track, Claim>();

  /** `most`: pixels of one frame of each track, summed over all tracks. */
  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Replaces an earlier claim of the track. The source with the most pixels yields. @returns the refused tracks, possibly including this
   * track
   */
  claim(track: Track, source: string, pixels: number): Track[] {
    this.#claims.set(track, { source, pixels });
    const refused: Track[] = [];
    while (this.#sum() > this.#most) {
      const largest = this.#largestOf(this.#greediest());
      this.#claims.delete(largest);
      refused.push(largest);
    }
    return refused;
  }

  release(track: Track): void {
    this.#claims.delete(track);
  }

  #sum(): number {
    return [...this.#claims.values()].reduce((sum, { pixels }) => sum + pixels, 0);
  }

  #greediest(): [Track, Claim][] {
    const sizeOf = (claims: [Track, Claim][]) => claims.reduce((sum, [, { pixels }]) => sum + pixels, 0);
    const sources = [...Map.groupBy(this.#claims, ([, { source }]) => source).values()];
    return sources.reduce((most, each) => (sizeOf(each) >= sizeOf(most) ? each : most));
  }

  #largestOf(claims: [Track, Claim][]): Track {
    return claims.reduce((most, each) => (each[1].pixels >= most[1].pixels ? each : most))[0];
  }
}
