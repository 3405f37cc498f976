// Captions of a room: what participants said recently, transcribed by an agent.
import { Store } from '../hooks/store.ts';
import { stripBidiControls } from '../user-text.ts';

export type CaptionLine = { id: string; name: string; text: string };
export type CaptionsState = {
  on: boolean;
  /** True once speech was transcribed. */
  available: boolean;
  lines: readonly CaptionLine[];
};
export type Transcribed = { id: string; speakerId: string; text: string };

const maxLines = 3;
/** Maximum of characters of a line; of a longer text its end is shown. */
const maxText = 240;
/** Milliseconds to read a character, and the minimum and maximum of a line. */
const reading = { perCharacter: 70, min: 4_000, max: 12_000 } as const;

export class Captions extends Store<CaptionsState> {
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();

  constructor() {
    super({ on: true, available: false, lines: [] });
  }

  toggle(): void {
    this.update({ on: !this.state.on });
  }

  /** `name`: of the speaker. The text is untrusted. */
  add({ id, speakerId, text }: Transcribed, name: string): void {
    const shown = oneLine(text);
    if (shown === '') return;
    const line = { id: `${speakerId} ${id}`, name, text: shown };
    const lines = [...this.state.lines.filter((each) => each.id !== line.id), line];
    for (const { id: old } of lines.slice(0, -maxLines)) this.#stop(old);
    this.update({ available: true, lines: lines.slice(-maxLines) });
    this.#stop(line.id);
    const time = Math.min(reading.max, Math.max(reading.min, shown.length * reading.perCharacter));
    this.#timers.set(
      line.id,
      setTimeout(() => this.#remove(line.id), time),
    );
  }

  close(): void {
    for (const id of [...this.#timers.keys()]) this.#stop(id);
  }

  #remove(id: string): void {
    this.#timers.delete(id);
    this.update({ lines: this.state.lines.filter((line) => line.id !== id) });
  }

  #stop(id: string): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
  }
}

function oneLine(text: string): string {
  const clean = stripBidiControls(text.toWellFormed())
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  return clean.length <= maxText ? clean : `…${clean.slice(1 - maxText).toWellFormed()}`;
}
