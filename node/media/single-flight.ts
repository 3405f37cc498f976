// Things by id that take a moment to make: whoever asks twice gets the same one, whoever gives it up meanwhile leaves nothing.

type Entry<Value> = { made: Promise<Value>; value: Value | undefined };
type Closable = { readonly closed: boolean; close(): void };

/** The promise is the value, so that two callers at once share one. */
export class SingleFlight<Value extends Closable> {
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #gone: (id: string) => Error;

  /** `gone`: what a caller gets whose thing was given up before it was made. */
  constructor(gone: (id: string) => Error) {
    this.#gone = gone;
  }

  get size(): number {
    return this.#entries.size;
  }

  has(id: string): boolean {
    return this.#entries.has(id);
  }

  /** Made by `make` unless it is there or on its way. A failure is forgotten. */
  getOrMake(id: string, make: () => Promise<Value>): Promise<Value> {
    const known = this.#entries.get(id);
    if (known) return known.made;
    const entry: Entry<Value> = { made: make(), value: undefined };
    this.#entries.set(id, entry);
    entry.made = entry.made.then(
      (value) => {
        if (this.#entries.get(id) === entry && !value.closed) {
          entry.value = value;
          return value;
        }
        this.#forget(id, entry);
        value.close();
        throw this.#gone(id);
      },
      (error: unknown) => {
        this.#forget(id, entry);
        throw error;
      },
    );
    return entry.made;
  }

  /** What is there or on its way. */
  get(id: string): Promise<Value> | undefined {
    return this.#entries.get(id)?.made;
  }

  /** Those that are made. */
  made(): [string, Value][] {
    return [...this.#entries].flatMap(([id, { value }]) => (value === undefined ? [] : [[id, value] satisfies [string, Value]]));
  }

  /** Forgets one that ended by itself; another one of the same id stays. */
  ended(id: string, value: Value): void {
    const entry = this.#entries.get(id);
    if (entry?.value === value) this.#entries.delete(id);
  }

  /** Closes one, also one that is on its way. Unknown ids are ignored. */
  close(id: string): void {
    const entry = this.#entries.get(id);
    this.#entries.delete(id);
    entry?.value?.close();
  }

  closeAll(): void {
    for (const id of [...this.#entries.keys()]) this.close(id);
  }

  #forget(id: string, entry: Entry<Value>): void {
    if (this.#entries.get(id) === entry) this.#entries.delete(id);
  }
}
