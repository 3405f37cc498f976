// Dropped messages: counts those that a media worker counts as sent, but drops because the receiver reads too slowly.
import type { DataConsumer } from 'mediasoup/types';

export class DroppedMessages {
  readonly #counts = new WeakMap<DataConsumer, number>();

  watch(consumer: DataConsumer): void {
    consumer.on('sctpsendbufferfull', () => this.#counts.set(consumer, this.of(consumer) + 1));
  }

  of(consumer: DataConsumer): number {
    return this.#counts.get(consumer) ?? 0;
  }
}
