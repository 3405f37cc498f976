// Why a room ended, in words, as the last of its events tells it.
import type { RoomEvent } from '../../../server-sdk/src/generated/schemas.ts';

/** Reasons of `RoomDeleted` and `RoomCrashed` that can be said in other words than the server's. */
const words: Readonly<Record<string, string>> = {
  deleted: 'somebody ended it',
  peerless: 'nobody was in it any more',
  draining: 'its node is drained',
  shutdown: 'its node was shut down',
  node_lost: 'its node was lost',
};

/** To be read after "because"; undefined where the events do not tell, e.g. after the loss of the only node. */
export function roomEndReason(events: readonly Pick<RoomEvent, 'type' | 'reason'>[]): string | undefined {
  const last = events.findLast(({ type }) => type === 'RoomCreated' || type === 'RoomDeleted' || type === 'RoomCrashed');
  if (last === undefined || last.type === 'RoomCreated') return undefined;
  return words[last.reason ?? ''] ?? (last.type === 'RoomCrashed' ? 'of a fault on its node' : undefined);
}
