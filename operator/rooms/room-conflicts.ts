// Relations of Rooms: indexes to find them, and which of two Rooms gets an id on a cluster.
import type { Stored } from '../kube/objects.ts';
import type { Room } from '../objects.ts';
import { roomIdOf } from './desired.ts';
import { secretNamesOf } from './desired-components.ts';
import { peerSecretName } from './peer-secret.ts';

/** Indexes of the Room reflector: by namespace, by `<namespace>/<room id>`, and by `<namespace>/<name>` of each Secret that it uses. */
export const roomIndexes = {
  namespace: (room: Stored<Room>): string[] => [room.metadata.namespace ?? ''],
  roomId: (room: Stored<Room>): string[] => [`${room.metadata.namespace}/${roomIdOf(room)}`],
  secret: (room: Stored<Room>): string[] => secretsOfRoom(room).map((name) => `${room.metadata.namespace}/${name}`),
} as const;

/** Names of the Secrets that a Room reads or writes. */
export function secretsOfRoom({ metadata, spec }: Stored<Room>): string[] {
  return [...new Set([...secretNamesOf(spec), peerSecretName(metadata)])];
}

const over = ['Finished', 'Failed'];

/**
 * Name of the Room that has the id, if it is another Room: a Room with an existing room first, then the older Room.
 * @param others Rooms with the same id on the same cluster
 */
export function conflictingRoom(room: Stored<Room>, others: readonly Stored<Room>[]): string | undefined {
  const candidates = others.filter(({ metadata, status }) => metadata.uid !== room.metadata.uid && !over.includes(status?.phase ?? ''));
  const [first] = [room, ...candidates].sort(byClaim);
  return first === room ? undefined : first?.metadata.name;
}

function byClaim(one: Stored<Room>, other: Stored<Room>): number {
  const has = ({ status }: Room) => (status?.incarnation === undefined ? 1 : 0);
  if (has(one) !== has(other)) return has(one) - has(other);
  const ranks = [one, other].map(({ metadata: { creationTimestamp = '', uid } }) => `${creationTimestamp} ${uid}`);
  return (ranks[0] ?? '') < (ranks[1] ?? '') ? -1 : 1;
}
