// Speakers of a room over its legs: each leg observes the microphones that it has; the room has one active speaker and one list of levels.
import type { AudioLevel } from '../../../api/socket/peer-events.ts';
import type { RoomMediaOptions } from '../../rooms/interfaces.ts';
import { ActiveSpeakerFilter } from '../active-speaker-filter.ts';

/** Reports in which another leg must be the loudest before its speaker becomes the active one. A leg reports about three times a second. */
const reportsToChange = 2;
/** Maximum length of a list of levels. */
export const maxLevels = 8;

/** A leg is identified by any object. */
type LegKey = object;
/** `peers`: with audio tracks there. */
type Heard = { readonly peers: Set<string>; dominant: string | undefined; levels: readonly AudioLevel[] };

export class LegSpeakers {
  readonly #filter: ActiveSpeakerFilter;
  readonly #onLevels: (levels: AudioLevel[]) => void;
  readonly #heard = new Map<LegKey, Heard>();
  /** The leg that has the active speaker. */
  #current: LegKey | undefined;
  /** Reports of a louder leg in a row. */
  #louder = 0;

  constructor({ onActiveSpeaker, onAudioLevels }: Pick<RoomMediaOptions, 'onActiveSpeaker' | 'onAudioLevels'>) {
    this.#filter = new ActiveSpeakerFilter(onActiveSpeaker);
    this.#onLevels = onAudioLevels;
  }

  /** The peer has an audio track. */
  joined(leg: LegKey, peerId: string): void {
    this.#of(leg).peers.add(peerId);
  }

  /** The dominant speaker among the peers of a leg changed. */
  dominates(leg: LegKey, peerId: string): void {
    this.#of(leg).dominant = peerId;
    if (this.#current === undefined || this.#current === leg) this.#follow(leg);
  }

  /** Levels of the audible peers of a leg, the loudest first; none once it is silent. */
  hears(leg: LegKey, levels: readonly AudioLevel[]): void {
    this.#of(leg).levels = levels;
    const audible = loudestFirst([...this.#heard.values()].flatMap((heard) => heard.levels));
    const loudest = this.#loudest();
    if (loudest === undefined) this.#filter.silence();
    else {
      this.#compare(loudest, leg);
      this.#filter.hears(audible.map(({ peerId }) => peerId));
    }
    // The room has as many reports as one leg.
    if (loudest === undefined || loudest === leg) this.#onLevels(audible.slice(0, maxLevels));
  }

  /** The peer has no audio track any more, except at another leg if it moves there: then it remains the active speaker. */
  left(leg: LegKey, peerId: string): void {
    const heard = this.#of(leg);
    const dominated = heard.dominant === peerId;
    heard.peers.delete(peerId);
    heard.levels = heard.levels.filter((each) => each.peerId !== peerId);
    if (dominated) heard.dominant = undefined;
    const [next] = [...this.#heard].filter(([, { peers }]) => peers.has(peerId));
    if (!next) {
      this.#filter.left(peerId);
    } else if (dominated && this.#current === leg) {
      const [other, there] = next;
      this.#current = other;
      there.dominant ??= peerId;
    }
  }

  /** The leg was lost, and has no speakers any more. */
  lost(leg: LegKey): void {
    this.#heard.delete(leg);
    if (this.#current === leg) this.#current = undefined;
    if (this.#loudest() === undefined) this.#filter.silence();
  }

  close(): void {
    this.#filter.close();
  }

  #compare(loudest: LegKey, reporting: LegKey): void {
    if (loudest === this.#current) this.#louder = 0;
    else if (loudest === reporting) {
      this.#louder += 1;
      const silent = this.#current === undefined || this.#of(this.#current).levels.length === 0;
      if (silent || this.#louder >= reportsToChange) this.#follow(loudest);
    }
  }

  #follow(leg: LegKey): void {
    this.#current = leg;
    this.#louder = 0;
    const { dominant } = this.#of(leg);
    if (dominant !== undefined) this.#filter.dominates(dominant);
  }

  #loudest(): LegKey | undefined {
    let loudest: { leg: LegKey; level: number } | undefined;
    for (const [leg, { levels }] of this.#heard) {
      const level = levels[0]?.level;
      if (level !== undefined && (loudest === undefined || level > loudest.level)) loudest = { leg, level };
    }
    return loudest?.leg;
  }

  #of(leg: LegKey): Heard {
    const known = this.#heard.get(leg);
    if (known) return known;
    const heard: Heard = { peers: new Set(), dominant: undefined, levels: [] };
    this.#heard.set(leg, heard);
    return heard;
  }
}

/** A peer that moves is heard at two legs. */
function loudestFirst(levels: readonly AudioLevel[]): AudioLevel[] {
  const sorted = [...levels].sort((one, other) => other.level - one.level);
  return sorted.filter(({ peerId }, index) => sorted.findIndex((each) => each.peerId === peerId) === index);
}
