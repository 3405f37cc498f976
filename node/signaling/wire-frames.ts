// Wire frames: serializes a broadcast once for all its receivers.
import type { PeerEvent } from '../rooms/shapes/peer-events.ts';
import type { SocketResponse } from './messages.ts';

/** All receivers of an event get the same immutable object. */
const made = new WeakMap<PeerEvent, Buffer>();

export function answerFrame(answer: SocketResponse): Buffer {
  return Buffer.from(JSON.stringify(answer));
}

export function eventFrame(event: PeerEvent): Buffer {
  const known = made.get(event);
  if (known) return known;
  const frame = Buffer.from(JSON.stringify(event));
  made.set(event, frame);
  return frame;
}
