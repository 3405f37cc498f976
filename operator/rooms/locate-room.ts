// What became of a room: its own node is asked first, then others that would know; never judged by a request that failed.
import type { RoomStatus } from '../../crds/types.ts';
import { hasCode, isUnavailable, NodeError } from '../nodes/node-error.ts';
import type { NodeRoom } from '../nodes/schemas.ts';
import type { ClusterNode } from './cluster-access.ts';
import type { Candidate, ClusterClient } from './cluster-client.ts';
import type { ObservedRoom } from './observed.ts';

export type LocateRoomOptions = {
  link: Pick<ClusterClient, 'roomEnd' | 'isReportedLost' | 'nodes' | 'candidates' | 'clientOf' | 'nodeAt' | 'podOf'>;
  cluster: string;
  roomId: string;
  /** externalId of the room. */
  uid: string;
  status: RoomStatus;
  signal: AbortSignal;
};

/** So many nodes are asked beside the room's own. */
const maxProbes = 3;
/** One that is most likely gone is waited for no longer, in milliseconds, by the number of those who say so: people of a lost room wait, too. */
const suspectTimeoutMs = [undefined, 1_000, 300];

/** One word for why a node told nothing. */
export function unreachableReason(error: NodeError | undefined): string {
  if (error?.code === 'no_token') return 'NoToken';
  return error?.code === 'invalid_token' ? 'TokenRefused' : 'NodeUnreachable';
}

export async function locateRoom(options: LocateRoomOptions): Promise<ObservedRoom> {
  const { link, status } = options;
  const heard = link.roomEnd(status.incarnation);
  if (heard !== undefined) return { kind: 'ended', reason: heard };
  const nodes = link.nodes();
  if (nodes.length === 0) return { kind: 'absent' };
  const owner = nodes.find(({ pod }) => pod === status.node);
  const failures: NodeError[] = [];
  if (owner && !owner.lost) {
    const observedRoom = await ask(options, { node: owner, client: link.clientOf(owner) }, true, failures);
    if (observedRoom) return observedRoom;
  }
  const unknownOwner = owner === undefined && (status.node === undefined || status.node.includes('@'));
  const others = link.candidates().filter(({ node }) => node !== owner);
  for (const candidate of others.slice(0, maxProbes)) {
    // Where it is not known who had the room, whoever remembers its end is believed.
    const observedRoom = await ask(options, candidate, unknownOwner, failures);
    if (observedRoom && (observedRoom.kind !== 'absent' || (await isAuthoritative(candidate, owner, nodes, options)))) return observedRoom;
  }
  // Its pod is gone, and nobody is left to say otherwise.
  if (status.node !== undefined && (owner === undefined || owner.lost) && others.length === 0) return { kind: 'absent' };
  const message = failures[0]?.message ?? `No node of MediaCluster ${options.cluster} can say what became of the room.`;
  return { kind: 'unknown', reason: unreachableReason(failures[0]), message };
}

/** @param remembers whether it is to be believed that the room ended; else another room of the same id may be meant */
async function ask(
  options: LocateRoomOptions,
  candidate: Candidate,
  remembers: boolean,
  failures: NodeError[],
): Promise<ObservedRoom | undefined> {
  const { link, status, roomId, uid, signal } = options;
  try {
    // Kubernetes does not call it ready; other nodes have lost it.
    const doubts = [!candidate.node.ready, candidate.node.pod === status.node && link.isReportedLost(status.incarnation)];
    const room = await candidate.client.room(roomId, signal, suspectTimeoutMs[doubts.filter(Boolean).length]);
    return room.externalId === uid ? await presence(options, candidate, room) : { kind: 'foreign' };
  } catch (error) {
    if (hasCode(error, 'room_ended')) return remembers ? { kind: 'ended', reason: reasonOf(error.message) } : { kind: 'absent' };
    if (hasCode(error, 'room_not_found')) return { kind: 'absent' };
    if (signal.aborted || !(error instanceof NodeError)) throw error;
    failures.push(error);
    return undefined;
  }
}

/** One that is new to us is at an address that is new too. */
async function presence({ link, status, signal }: LocateRoomOptions, { client }: Candidate, room: NodeRoom): Promise<ObservedRoom> {
  const known = status.incarnation === room.incarnation && status.node !== undefined && status.address !== undefined;
  if (known) return { kind: 'present', room, node: status.node, address: status.address };
  try {
    // Making it again gives what is there, and where.
    const { id: roomId, externalId, config } = room;
    const { address } = await client.createRoom({ roomId, externalId: externalId ?? '', ...config }, signal);
    const node = await link.nodeAt(address, signal);
    return { kind: 'present', room, address, ...(node !== undefined && { node }) };
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    return { kind: 'present', room };
  }
}

/** Whether a node that does not know the room would know it if it were there. */
async function isAuthoritative(
  { client }: Candidate,
  owner: ClusterNode | undefined,
  nodes: readonly ClusterNode[],
  { link, signal }: LocateRoomOptions,
): Promise<boolean> {
  if (owner && !owner.lost && owner.ready) {
    // It lives, and we do not reach it: only a node that is connected to it can speak for it.
    const names = await client.clusterNodes(signal).catch(() => []);
    return names.some(({ name }) => link.podOf(name) === owner);
  }
  const living = nodes.filter((each) => each.ready && !each.lost && each !== owner);
  if (living.length <= 1) return true;
  const names = await client.clusterNodes(signal).catch(() => []);
  // One that is cut off from the others cannot speak for them.
  return names.length * 2 > living.length;
}

/** `Room x has ended: <reason>` */
function reasonOf(sentence: string): string {
  return /has ended: ([\w-]{1,64})$/.exec(sentence)?.[1] ?? 'deleted';
}
