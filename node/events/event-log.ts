// The events of this node's rooms in the order they happened, handed to whoever listens.
import type { Log } from '../log.ts';
import type { RoomEvent, RoomEventListener } from '../rooms/events.ts';

export class EventLog {
  readonly #log: Log;
  readonly #listeners = new Set<RoomEventListener>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** @returns a function that ends the subscription. */
  subscribe(listener: RoomEventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A listener that fails is logged and never keeps the event from the others. */
  publish(event: RoomEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#log.error({ err: error, event: event.type }, 'a listener of events failed');
      }
    }
  }
}
