// How many bytes of messages a peer may send and a room may deliver, so that no room takes the node's time from the others.
import { TokenBucket } from '../common/token-bucket.ts';

/** Largest messages a second that one peer may send, and that one room may deliver to all its peers together. */
const perPeer = 16;
const perRoom = 512;
/** A smaller limit for one message makes nobody's budget smaller than messages of so many bytes. */
const minMessageBytes = 16 * 1024;
/** Seconds' worth that may come at once. */
const burst = 4;
/** What one more receiver costs beside the bytes: a frame of its own and a call of the system. */
const bytesPerReceiver = 128;

/** `maxBytes`: of one message. */
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

  /** Counts a message of so many bytes that goes to so many; false where it is too much. */
  take(bytes: number, receivers: number): boolean {
    return this.#bucket.take((bytes + bytesPerReceiver) * receivers);
  }
}
