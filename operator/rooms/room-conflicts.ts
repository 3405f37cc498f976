// Two Rooms that want one id of one cluster: which of them has it.
import type { Stored } from '../kube/objects.ts';
import type { Room } from '../objects.ts';
import { roomIdOf } from './desired.ts';

/** For the reflector of Rooms: by `<namespace>/<room id>`. */
export const roomIndexes = {
  roomId: (room: Stored<Room>): string[] => [`${room.metadata.namespace}/${roomIdOf(room)}`],
} as const;

const over = ['Finished', 'Failed'];

/**
 * The name of the Room that has the id, where that is another one: who has a room already goes first, then who is older.
 * @param others with the same id, in the same cluster
 */
export function conflictingRoom(room: Stored<Room>, others: readonly Stored<Room>[]): string | undefined {
  const rivals = others.filter(({ metadata, status }) => metadata.uid !== room.metadata.uid && !over.includes(status?.phase ?? ''));
  const [first] = [room, ...rivals].sort(byClaim);
  return first === room ? undefined : first?.metadata.name;
}

function byClaim(one: Stored<Room>, other: Stored<Room>): number {
  const has = ({ status }: Room) => (status?.incarnation === undefined ? 1 : 0);
  if (has(one) !== has(other)) return has(one) - has(other);
  const ranks = [one, other].map(({ metadata: { creationTimestamp = '', uid } }) => `${creationTimestamp} ${uid}`);
  return (ranks[0] ?? '') < (ranks[1] ?? '') ? -1 : 1;
}
