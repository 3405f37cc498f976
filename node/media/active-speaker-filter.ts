// Who speaks in a room: the dominant speaker, or nobody after a while of silence.

/** Milliseconds of silence after which nobody speaks any more: pauses between words are shorter. */
export const silenceHoldTime = 1500;

/** Decides from what the worker hears; calls back on changes only. */
export class ActiveSpeakerFilter {
  readonly #onChange: (peerId: string | null) => void;
  #current: string | null = null;
  #dominant: string | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(onChange: (peerId: string | null) => void) {
    this.#onChange = onChange;
  }

  /** The dominant speaker is another one now. It is told once, not again when the same one speaks after silence. */
  dominates(peerId: string): void {
    this.#dominant = peerId;
    this.#stopTimer();
    this.#set(peerId);
  }

  /** Somebody can be heard, the loudest first. */
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

  /** The peer has no audio any more. */
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
