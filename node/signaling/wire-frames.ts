// Frames as they go to the wire: a broadcast is made text once, however many get it.
import type { PeerEvent } from '../rooms/shapes/peer-events.ts';
import type { SocketResponse } from './messages.ts';

/** An event is the same object for all whom it is told, and nobody changes it. */
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
