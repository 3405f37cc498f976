// Shown value: metadata or attributes that a peer changes at any time, and that others get at most once a second.
import type { ChangedBy } from '../changes/room-change.ts';
import { Paced } from './paced.ts';

/** A value as peers see it, and the latest one, which they get at the end of the second. */
export class Shown<Value> {
  readonly #changed: (value: Value, by: ChangedBy) => void;
  readonly #paced = new Paced<Value>((value) => this.#show(value, 'publisher'));
  #value: Value;
  #latest: Value;

  constructor(value: Value, changed: (value: Value, by: ChangedBy) => void) {
    this.#value = value;
    this.#latest = value;
    this.#changed = changed;
  }

  get value(): Value {
    return this.#value;
  }

  get latest(): Value {
    return this.#latest;
  }

  /** By the peer. */
  set(value: Value): void {
    this.#latest = value;
    this.#paced.set(value);
  }

  /** By the backend, at once. */
  replace(value: Value): void {
    this.#latest = value;
    this.#paced.drop();
    this.#show(value, 'server');
  }

  stop(): void {
    this.#paced.stop();
  }

  #show(value: Value, by: ChangedBy): boolean {
    if (JSON.stringify(value) === JSON.stringify(this.#value)) return false;
    this.#value = value;
    this.#changed(value, by);
    return true;
  }
}
