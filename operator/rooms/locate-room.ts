// Locates a room: probes its owning node, then others. A failed request alone never means that the room is lost.
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
  /** The room is needed only to be deleted. */
  deleting: boolean;
  signal: AbortSignal;
};

/** Maximum nodes to probe in addition to the owning node. */
const maxProbes = 3;
/** Timeout of a suspect node in milliseconds, by the number of suspicions. Short, because peers of a lost room wait for its recreation. */
const suspectTimeoutMs = [undefined, 1_000, 300];

/** Condition reason for a failed probe. */
export function unreachableReason(error: NodeError | undefined): string {
  if (error?.code === 'no_token') return 'NoToken';
  return error?.code === 'invalid_token' ? 'TokenRefused' : 'NodeUnreachable';
}

export async function locateRoom(options: LocateRoomOptions): Promise<ObservedRoom> {
  const { link, status } = options;
  const end = link.roomEnd(status.incarnation);
  if (end !== undefined) return { kind: 'ended', reason: end };
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
    // If the owning node is unknown, any node that reports the end of the room is trusted.
    const observedRoom = await ask(options, candidate, unknownOwner, failures);
    if (observedRoom && (observedRoom.kind !== 'absent' || (await isAuthoritative(candidate, owner, nodes, options)))) return observedRoom;
  }
  // Its pod does not exist any more, and no other node could contradict.
  if (status.node !== undefined && (owner === undefined || owner.lost) && others.length === 0) return { kind: 'absent' };
  const message = failures[0]?.message ?? `No node of MediaCluster ${options.cluster} could report the state of the room.`;
  return { kind: 'unknown', reason: unreachableReason(failures[0]), message };
}

/** @param remembers whether a reported end is trusted; otherwise it may belong to another room with the same id */
async function ask(
  options: LocateRoomOptions,
  candidate: Candidate,
  remembers: boolean,
  failures: NodeError[],
): Promise<ObservedRoom | undefined> {
  const { link, status, roomId, uid, signal } = options;
  try {
    // Suspicions: the pod is not ready; other nodes reported it as lost.
    const suspicions = [!candidate.node.ready, candidate.node.pod === status.node && link.isReportedLost(status.incarnation)];
    const room = await candidate.client.room(roomId, signal, suspectTimeoutMs[suspicions.filter(Boolean).length]);
    return room.externalId === uid ? await presence(options, candidate, room) : { kind: 'foreign' };
  } catch (error) {
    if (hasCode(error, 'room_ended')) return remembers ? { kind: 'ended', reason: reasonOf(error) } : { kind: 'absent' };
    if (hasCode(error, 'room_not_found')) return { kind: 'absent' };
    if (signal.aborted || !(error instanceof NodeError)) throw error;
    failures.push(error);
    return undefined;
  }
}

/** A room with an unknown incarnation has an unknown address too. */
async function presence(
  { link, status, deleting, signal }: LocateRoomOptions,
  { client }: Candidate,
  room: NodeRoom,
): Promise<ObservedRoom> {
  const known = status.incarnation === room.incarnation && status.node !== undefined && status.address !== undefined;
  if (known) return { kind: 'present', room, node: status.node, address: status.address };
  // The request below could recreate a room that another operator deletes.
  if (deleting) return { kind: 'present', room };
  try {
    // Creating it is idempotent and returns its address.
    const { id: roomId, externalId, config } = room;
    const { address } = await client.createRoom({ roomId, externalId: externalId ?? '', ...config }, signal);
    const node = await link.nodeAt(address, signal);
    return { kind: 'present', room, address, ...(node !== undefined && { node }) };
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    return { kind: 'present', room };
  }
}

/** Whether a 404 of this node proves that the room does not exist. */
async function isAuthoritative(
  { client }: Candidate,
  owner: ClusterNode | undefined,
  nodes: readonly ClusterNode[],
  { link, signal }: LocateRoomOptions,
): Promise<boolean> {
  if (owner && !owner.lost && owner.ready) {
    // The owning node is alive but unreachable for the operator, so only a node connected to it can answer for it.
    const names = await client.clusterNodes(signal).catch(() => []);
    return names.some(({ name }) => link.podOf(name) === owner);
  }
  const living = nodes.filter((each) => each.ready && !each.lost && each !== owner);
  if (living.length <= 1) return true;
  const names = await client.clusterNodes(signal).catch(() => []);
  // A node that is partitioned from the majority cannot answer for it.
  return names.length * 2 > living.length;
}

/** Nodes of 0.7 send the reason only in their message, `Room x has ended: <reason>`. */
function reasonOf({ reason, message }: NodeError): string {
  return reason ?? /has ended: ([\w-]{1,64})$/.exec(message)?.[1] ?? 'deleted';
}
