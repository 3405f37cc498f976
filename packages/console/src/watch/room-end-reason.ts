// Room end reason: derives a message from the last event of a room.
import type { RoomEvent } from '../../../server-sdk/src/generated/schemas.ts';

/** Messages for the known reasons of `RoomDeleted` and `RoomCrashed`. */
const words: Readonly<Record<string, string>> = {
  deleted: 'it was closed by a user or the API',
  peerless: 'it was empty',
  draining: 'its node was drained',
  shutdown: 'its node was shut down',
  node_lost: 'its node was lost',
};

/** A clause that follows "because"; undefined if no event has a reason, e.g. after the loss of the only node. */
export function roomEndReason(events: readonly Pick<RoomEvent, 'type' | 'reason'>[]): string | undefined {
  const last = events.findLast(({ type }) => type === 'RoomCreated' || type === 'RoomDeleted' || type === 'RoomCrashed');
  if (last === undefined || last.type === 'RoomCreated') return undefined;
  return words[last.reason ?? ''] ?? (last.type === 'RoomCrashed' ? 'of an internal error' : undefined);
}
