// Store of objects of one kind, by key and by indexes.
import { type KubeObject, keyOf, type Stored } from './objects.ts';

/** How long the response to a write takes precedence over a possibly stale cache, in milliseconds. */
export const cacheLagMs = 5_000;

export type Indexes<T extends KubeObject> = Readonly<Record<string, (object: Stored<T>) => readonly string[]>>;

export class Store<T extends KubeObject> {
  readonly #objects = new Map<string, Stored<T>>();
  readonly #indexes: Indexes<T>;
  /** Per index: keys of the objects by value. */
  readonly #keys = new Map<string, Map<string, Set<string>>>();

  constructor(indexes: Indexes<T>) {
    this.#indexes = indexes;
    for (const index of Object.keys(indexes)) this.#keys.set(index, new Map());
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): Stored<T> | undefined {
    return this.#objects.get(key);
  }

  list(): Stored<T>[] {
    return [...this.#objects.values()];
  }

  /** @throws TypeError for an unknown index */
  where(index: string, value: string): Stored<T>[] {
    const keys = this.#keys.get(index);
    if (!keys) throw new TypeError(`Unknown index '${index}'`);
    return [...(keys.get(value) ?? [])].flatMap((key) => this.#objects.get(key) ?? []);
  }

  /** Returns the previous object. */
  set(object: Stored<T>): Stored<T> | undefined {
    const key = keyOf(object);
    const old = this.delete(key);
    this.#objects.set(key, object);
    for (const [index, valuesOf] of Object.entries(this.#indexes)) {
      const keys = this.#keys.get(index);
      for (const value of valuesOf(object)) {
        const known = keys?.get(value);
        if (known) known.add(key);
        else keys?.set(value, new Set([key]));
      }
    }
    return old;
  }

  delete(key: string): Stored<T> | undefined {
    const old = this.#objects.get(key);
    if (!old) return undefined;
    this.#objects.delete(key);
    for (const [index, valuesOf] of Object.entries(this.#indexes)) {
      const keys = this.#keys.get(index);
      for (const value of valuesOf(old)) {
        const known = keys?.get(value);
        known?.delete(key);
        if (known?.size === 0) keys?.delete(value);
      }
    }
    return old;
  }
}
