// Programme of a room: what a component composes of it, for players. It is sent only while there are players.
import type { ProgrammeTracks } from './interfaces.ts';

/** A component. */
export type ProgrammeSource = { readonly programme: ProgrammeTracks | undefined; sendProgramme(wanted: boolean): void };

export class Programme {
  readonly #sources: () => Iterable<ProgrammeSource>;
  readonly #players = new Set<() => void>();

  constructor(sources: () => Iterable<ProgrammeSource>) {
    this.#sources = sources;
  }

  /** Undefined while it is not sent. */
  get tracks(): ProgrammeTracks | undefined {
    for (const { programme } of this.#sources()) if (programme) return programme;
    return undefined;
  }

  /** `changed` is called when the tracks change, until the returned function is called. */
  watch(changed: () => void): () => void {
    const player = () => changed();
    this.#players.add(player);
    this.#request();
    return () => {
      if (this.#players.delete(player)) this.#request();
    };
  }

  /** A component or its programme changed. */
  update(): void {
    this.#request();
    for (const changed of [...this.#players]) changed();
  }

  #request(): void {
    for (const source of this.#sources()) source.sendProgramme(this.#players.size > 0);
  }
}
