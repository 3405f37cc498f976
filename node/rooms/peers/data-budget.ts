// Data budget: limits the bytes that a peer sends and a room delivers, so that no room starves the others of CPU time.
import { TokenBucket } from '../../common/token-bucket.ts';

/** Messages of maximum size per second: sent by one peer, and delivered by one room to all its peers. */
const perPeer = 16;
const perRoom = 512;
/** Lower bound of the message size that the budget is computed with. */
const minMessageBytes = 16 * 1024;
/** Burst in seconds of the sustained rate. */
const burst = 4;
/** Cost of each receiver in addition to the payload: one frame and one system call. */
const bytesPerReceiver = 128;

/** `maxBytes`: limit of one message. */
export class DataBudget {
  readonly #bucket: TokenBucket;

  private constructor(messages: number, maxBytes: () => number) {
    this.#bucket = new TokenBucket(() => messages * Math.max(minMessageBytes, maxBytes()), burst);
  }

  static ofPeer(maxBytes: () => number): DataBudget {
    return new DataBudget(perPeer, maxBytes);
  }

  static ofRoom(maxBytes: () => number): DataBudget {
    return new DataBudget(perRoom, maxBytes);
  }

  /** Charges a message of `bytes` bytes to `receivers` receivers; false if the budget is exceeded. */
  take(bytes: number, receivers: number): boolean {
    return this.#bucket.take((bytes + bytesPerReceiver) * receivers);
  }
}
