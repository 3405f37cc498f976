// Who is the large one in the picture: who is the loudest, but not at each word of somebody else.

/** How fast a level follows what is heard, in milliseconds. */
const smoothing = 300;
/** Below this (of full scale) nobody speaks. */
const silence = 0.005;
/** So much louder than the one who is large, and for so many milliseconds. */
const factor = 1.5;
const speakerHoldMs = 700;
/** Milliseconds that the large one stays it at least. */
const hold = 2000;

type Voice = { level: number; heard: number };

/** Times are milliseconds of any clock that does not go back. */
export class DominantSpeakerSelector {
  readonly #voices = new Map<string, Voice>();
  #speaker: string | undefined;
  #since = Number.NEGATIVE_INFINITY;
  #rival: { source: string; since: number } | undefined;

  /** `loudness`: root mean square of a moment of sound. */
  hear(source: string, loudness: number, now: number): void {
    const voice = this.#voices.get(source);
    if (!voice) {
      this.#voices.set(source, { level: loudness, heard: now });
      return;
    }
    voice.level = loudness + (voice.level - loudness) * Math.exp((voice.heard - now) / smoothing);
    voice.heard = now;
  }

  forget(source: string): void {
    this.#voices.delete(source);
  }

  /** Undefined while none of them has spoken. */
  choose(sources: readonly string[], now: number): string | undefined {
    if (this.#speaker !== undefined && !sources.includes(this.#speaker)) this.#speaker = undefined;
    const loudest = sources.reduce<string | undefined>(
      (best, source) => (this.#level(source) > (best === undefined ? silence : this.#level(best)) ? source : best),
      undefined,
    );
    if (loudest === undefined || loudest === this.#speaker) this.#rival = undefined;
    else if (this.#speaker === undefined) this.#take(loudest, now);
    else if (this.#level(loudest) < this.#level(this.#speaker) * factor) this.#rival = undefined;
    else {
      if (this.#rival?.source !== loudest) this.#rival = { source: loudest, since: now };
      if (now - this.#rival.since >= speakerHoldMs && now - this.#since >= hold) this.#take(loudest, now);
    }
    return this.#speaker;
  }

  #take(source: string, now: number): void {
    this.#speaker = source;
    this.#since = now;
    this.#rival = undefined;
  }

  #level(source: string): number {
    return this.#voices.get(source)?.level ?? 0;
  }
}
