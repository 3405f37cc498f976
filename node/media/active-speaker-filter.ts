// Active speaker filter: the dominant speaker of a room, or none after a period of silence.

/** Silence in milliseconds after which no peer is the active speaker; longer than pauses between words. */
export const silenceHoldTime = 1500;

/** Evaluates audio events of the media worker; calls back on changes only. */
export class ActiveSpeakerFilter {
  readonly #onChange: (peerId: string | null) => void;
  #current: string | null = null;
  #dominant: string | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(onChange: (peerId: string | null) => void) {
    this.#onChange = onChange;
  }

  /** The dominant speaker changed. The worker reports it once, not again when the same peer speaks after silence. */
  dominates(peerId: string): void {
    this.#dominant = peerId;
    this.#stopTimer();
    this.#set(peerId);
  }

  /** Audible peers, loudest first. */
  hears(peerIds: readonly string[]): void {
    this.#stopTimer();
    if (this.#current !== null) return;
    const speaker = peerIds.find((peerId) => peerId === this.#dominant) ?? peerIds[0];
    if (speaker !== undefined) this.#set(speaker);
  }

  silence(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#set(null);
    }, silenceHoldTime);
  }

  /** The peer has no audio track any more. */
  left(peerId: string): void {
    if (this.#dominant === peerId) this.#dominant = null;
    if (this.#current === peerId) this.#set(null);
  }

  close(): void {
    this.#stopTimer();
  }

  #set(peerId: string | null): void {
    if (peerId === this.#current) return;
    this.#current = peerId;
    this.#onChange(peerId);
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
