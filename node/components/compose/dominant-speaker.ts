// Dominant speaker selector: selects the loudest source for the large cell, without switching for short utterances.

/** Time constant of the level in milliseconds. */
const smoothing = 300;
/** Level (relative to full scale) below which a source is silent. */
const silence = 0.005;
/** Required loudness relative to the current speaker, and its duration in milliseconds. */
const factor = 1.5;
const speakerHoldMs = 700;
/** Minimum milliseconds between two switches. */
const hold = 2000;

type Voice = { level: number; heard: number };

/** Times are milliseconds of any monotonic clock. */
export class DominantSpeakerSelector {
  readonly #voices = new Map<string, Voice>();
  #speaker: string | undefined;
  #since = Number.NEGATIVE_INFINITY;
  #challenger: { source: string; since: number } | undefined;

  /** `loudness`: root mean square of a block of audio. */
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

  /** Undefined if none of them has spoken. */
  choose(sources: readonly string[], now: number): string | undefined {
    if (this.#speaker !== undefined && !sources.includes(this.#speaker)) this.#speaker = undefined;
    const loudest = sources.reduce<string | undefined>(
      (best, source) => (this.#level(source) > (best === undefined ? silence : this.#level(best)) ? source : best),
      undefined,
    );
    if (loudest === undefined || loudest === this.#speaker) this.#challenger = undefined;
    else if (this.#speaker === undefined) this.#take(loudest, now);
    else if (this.#level(loudest) < this.#level(this.#speaker) * factor) this.#challenger = undefined;
    else {
      if (this.#challenger?.source !== loudest) this.#challenger = { source: loudest, since: now };
      if (now - this.#challenger.since >= speakerHoldMs && now - this.#since >= hold) this.#take(loudest, now);
    }
    return this.#speaker;
  }

  #take(source: string, now: number): void {
    this.#speaker = source;
    this.#since = now;
    this.#challenger = undefined;
  }

  #level(source: string): number {
    return this.#voices.get(source)?.level ?? 0;
  }
}
