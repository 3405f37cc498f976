// BoundedMap: a map of bounded size that drops the oldest write.

export class BoundedMap<K, V> {
  readonly #map = new Map<K, V>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get map(): ReadonlyMap<K, V> {
    return this.#map;
  }

  set(key: K, value: V): void {
    this.#map.delete(key);
    this.#map.set(key, value);
    for (const oldest of this.#map.keys()) {
      if (this.#map.size <= this.#limit) break;
      this.#map.delete(oldest);
    }
  }
}
