// Wire frames: serializes a broadcast once for all its receivers.

import type { SocketResponse } from '../../api/socket/peer.ts';
import type { PeerEvent } from '../../api/socket/peer-events.ts';

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
