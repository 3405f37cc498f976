// Single flight: asynchronously created objects by id. Concurrent requests share one object; an object closed during its creation is
// discarded.

type Entry<Value> = { made: Promise<Value>; value: Value | undefined };
type Closable = { readonly closed: boolean; close(): void };

/** The promise is stored, so that concurrent callers share it. */
export class SingleFlight<Value extends Closable> {
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #closedError: (id: string) => Error;

  /** `closedError`: creates the error for callers whose object was closed during its creation. */
  constructor(closedError: (id: string) => Error) {
    this.#closedError = closedError;
  }

  get size(): number {
    return this.#entries.size;
  }

  has(id: string): boolean {
    return this.#entries.has(id);
  }

  /** Returns the existing or pending object, else creates it with `make`. Failures are not cached. */
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
        throw this.#closedError(id);
      },
      (error: unknown) => {
        this.#forget(id, entry);
        throw error;
      },
    );
    return entry.made;
  }

  /** The existing or pending object. */
  get(id: string): Promise<Value> | undefined {
    return this.#entries.get(id)?.made;
  }

  /** All completed objects. */
  made(): [string, Value][] {
    return [...this.#entries].flatMap(([id, { value }]) => (value === undefined ? [] : [[id, value] satisfies [string, Value]]));
  }

  /** Removes an object that ended; a newer one of the same id stays. */
  ended(id: string, value: Value): void {
    const entry = this.#entries.get(id);
    if (entry?.value === value) this.#entries.delete(id);
  }

  /** Closes an object, also a pending one. Unknown ids are ignored. */
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
