// Pipe meter: what the media workers of a node send to each other, and what failed.
import type { PipeTransport, Producer } from 'mediasoup/types';
import type { nodeMetrics, Readings } from '../../../api/metrics.ts';
import { StatTotals } from '../stat-totals.ts';

export class PipeMeter {
  readonly #bytes = new StatTotals(['bytesReceived']);
  readonly #losses = new StatTotals(['packetsLost']);
  #failures = 0;

  /** `receiving`: the end of an open pipe. */
  opened(receiving: PipeTransport): void {
    this.#bytes.add(receiving, receiving);
    receiving.observer.once('close', () => this.#bytes.leave(receiving));
  }

  /** `incoming`: a media track at its receiving end. `receiving`: the pipe. */
  sends(incoming: Producer, receiving: PipeTransport): void {
    this.#losses.add(incoming, receiving);
    incoming.observer.once('close', () => this.#losses.leave(incoming));
  }

  /** Call it right before a track ends, so that its last counts are included. */
  ends(incoming: Producer): void {
    this.#losses.leave(incoming);
  }

  /** Call it right before a pipe closes, so that its last counts are included. */
  closes(receiving: PipeTransport): void {
    this.#losses.leaveAll(receiving);
    this.#bytes.leave(receiving);
  }

  /** A track could not be sent. */
  failed(): void {
    this.#failures += 1;
  }

  /** Never rejects; takes at most 2 s. */
  async read(): Promise<Readings<typeof nodeMetrics.pipes>> {
    const [{ bytesReceived }, { packetsLost }] = await Promise.all([this.#bytes.read(), this.#losses.read()]);
    return { pipes: this.#bytes.size, bytes: bytesReceived, packetsLost, failures: this.#failures };
  }
}
