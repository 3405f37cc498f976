// How many pixels a composer decodes at once: pictures of 4K of very many tracks would take the memory of the machine.

type Claim = { source: string; pixels: number };

/** A track of whom the sum leaves nothing over is refused, and asks again with its next key picture. */
export class PixelBudget<Track> {
  readonly #most: number;
  readonly #claims = new Map<Track, Claim>();

  /** `most`: pixels of a picture of each track, all in all. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Takes the place of an earlier claim of the track. Who has most gives way. @returns those that are refused from here, the track itself among them or not */
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
