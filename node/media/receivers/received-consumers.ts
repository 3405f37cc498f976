// Received consumers of a peer by track: one, or several while the publisher of the track moves, each for a generation of the track.
import type { Consumer } from 'mediasoup/types';
import { producerIdOf } from '../legs/track-id.ts';
import { trackNotFoundError } from '../media-error.ts';
import { SingleFlight } from '../single-flight.ts';

export class ReceivedConsumers {
  readonly #flights = new SingleFlight<Consumer>(trackNotFoundError);
  /** Keys of a track, the latest one last. */
  readonly #keys = new Map<string, string[]>();

  has(trackId: string, generation: number): boolean {
    return this.#flights.has(producerIdOf(trackId, generation));
  }

  async getOrMake(trackId: string, generation: number, make: () => Promise<Consumer>): Promise<Consumer> {
    const key = producerIdOf(trackId, generation);
    if (!this.#flights.has(key)) this.#keys.set(trackId, [...(this.#keys.get(trackId) ?? []), key]);
    try {
      return await this.#flights.getOrMake(key, make);
    } catch (error) {
      this.#forget(trackId, key);
      throw error;
    }
  }

  /** Of the latest generation that is received. */
  latest(trackId: string): Promise<Consumer> | undefined {
    const key = this.#keys.get(trackId)?.at(-1);
    return key === undefined ? undefined : this.#flights.get(key);
  }

  made(): [trackId: string, Consumer][] {
    const tracks = [...this.#keys].flatMap(([trackId, keys]) => keys.map((key): [string, string] => [key, trackId]));
    const byKey = new Map(tracks);
    return this.#flights.made().map(([key, consumer]) => [byKey.get(key) ?? key, consumer]);
  }

  /** A consumer closed. */
  ended(trackId: string, generation: number, consumer: Consumer): void {
    const key = producerIdOf(trackId, generation);
    this.#flights.ended(key, consumer);
    if (!this.#flights.has(key)) this.#forget(trackId, key);
  }

  /** Closes all of a track but the latest one. */
  closeFormer(trackId: string): void {
    for (const key of this.#keys.get(trackId)?.slice(0, -1) ?? []) this.#close(trackId, key);
  }

  close(trackId: string): void {
    for (const key of this.#keys.get(trackId) ?? []) this.#close(trackId, key);
  }

  closeAll(): void {
    this.#keys.clear();
    this.#flights.closeAll();
  }

  #close(trackId: string, key: string): void {
    this.#forget(trackId, key);
    this.#flights.close(key);
  }

  #forget(trackId: string, key: string): void {
    const left = (this.#keys.get(trackId) ?? []).filter((each) => each !== key);
    if (left.length > 0) this.#keys.set(trackId, left);
    else this.#keys.delete(trackId);
  }
}
