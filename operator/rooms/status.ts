// The status of a Room: conditions, phase, and what its node says, each made in one place.
import type { RoomStatus } from '../../crds/types.ts';
import { type Condition, setCondition } from '../kube/conditions.ts';
import type { NodeRoom } from '../nodes/shapes.ts';
import type { Why } from './observed.ts';

export type Verdict = Why & { status: Condition['status'] };
type Context = { generation: number; now: Date };
type ComponentStatus = NonNullable<RoomStatus['components']>[number];

/** The status with these conditions about this generation of the spec; others stay. */
export function withConditions(status: RoomStatus, { generation, now }: Context, verdicts: Readonly<Record<string, Verdict>>): RoomStatus {
  let conditions = (status.conditions ?? []) as Condition[];
  for (const [type, verdict] of Object.entries(verdicts)) {
    conditions = setCondition(conditions, { type, ...verdict, observedGeneration: generation }, now);
  }
  const { componentsReady: _, ...rest } = status;
  const { components = [] } = status;
  // A column of kubectl shows one item of a list only.
  const componentsReady = `${components.filter(({ ready }) => ready).length}/${components.length}`;
  return { ...rest, observedGeneration: generation, conditions, ...(components.length > 0 && { componentsReady }) };
}

export function verdict(status: Condition['status'], { reason, message }: Why): Verdict {
  return { status, reason, message };
}

/** Not accepted: nothing is done for it. */
export function refusedStatus(status: RoomStatus, context: Context, why: Why): RoomStatus {
  return withConditions({ ...status, phase: waitingPhase(status) }, context, {
    Accepted: verdict('False', why),
    Placed: verdict('False', why),
    Ready: verdict('False', why),
    Degraded: verdict('False', why),
  });
}

/** Accepted, but on no node yet, or not any more. */
export function waitingStatus(status: RoomStatus, context: Context, cluster: string, why: Why): RoomStatus {
  return withConditions({ ...status, cluster, phase: waitingPhase(status) }, context, {
    Accepted: accepted(cluster),
    Placed: verdict('False', why),
    Ready: verdict('False', why),
    Degraded: verdict('False', why),
  });
}

/** What its node would say is not known. */
export function unknownStatus(status: RoomStatus, context: Context, cluster: string, why: Why): RoomStatus {
  const known = status.incarnation === undefined ? 'False' : 'Unknown';
  return withConditions({ ...status, cluster, phase: waitingPhase(status) }, context, {
    Accepted: accepted(cluster),
    Placed: verdict(known, why),
    Ready: verdict(known, why),
  });
}

/** Lost, and to be made again: what was true of the lost one goes. */
export function recoveringStatus(status: RoomStatus, context: Context, why: Why): RoomStatus {
  const { incarnation: _, node: _node, address: _address, createdAt: _createdAt, ...rest } = status;
  const components = status.components?.map(({ id: _id, message: _message, ...each }) => ({ ...each, ready: false }));
  const counts = status.peers && { total: 0, connected: 0 };
  return withConditions({ ...rest, ...(components && { components }), ...(counts && { peers: counts }), phase: 'Recovering' }, context, {
    Placed: verdict('False', why),
    Ready: verdict('False', why),
    Degraded: verdict('False', why),
  });
}

/** Over: it stays so. */
export function overStatus(status: RoomStatus, context: Context, phase: 'Finished' | 'Failed', why: Why): RoomStatus {
  const { node: _node, address: _address, ...rest } = status;
  const components = status.components?.map((component) => ({ ...component, ready: false }));
  const counts = status.peers && { total: 0, connected: 0 };
  return withConditions({ ...rest, ...(components && { components }), ...(counts && { peers: counts }), phase }, context, {
    Placed: verdict('False', why),
    Ready: verdict('False', why),
    Degraded: verdict('False', why),
  });
}

export type Placement = {
  cluster: string;
  room: NodeRoom;
  node: string | undefined;
  address: string | undefined;
  components: ComponentStatus[];
  /** Counts that may be written now. */
  countPeers: boolean;
  peersSecretName: string | undefined;
  /** What is missing, the most telling first. */
  lacks: readonly Why[];
  /** What is there and does not do what it should. */
  troubles: readonly Why[];
};

/** On a node. Ready where nothing is lacking. */
export function placedStatus(status: RoomStatus, context: Context, placement: Placement): RoomStatus {
  const { cluster, room, components, peersSecretName, lacks, troubles } = placement;
  const { peersSecretName: _secret, components: _components, ...rest } = status;
  const same = status.incarnation === room.incarnation;
  const node = placement.node ?? (same ? status.node : undefined);
  const address = placement.address ?? (same ? status.address : undefined);
  const connected = room.peers.filter((peer) => peer.status === 'connected').length;
  const counts = placement.countPeers || !same || !status.peers ? { total: room.peers.length, connected } : status.peers;
  const where = `Room ${room.id} is on ${node === undefined ? `MediaCluster ${cluster}` : `node ${node}`}`;
  const [lack] = lacks;
  const problems = [...lacks, ...troubles];
  const [problem] = problems;
  const made = createdAt(room.incarnation) ?? status.createdAt;
  return withConditions(
    {
      ...rest,
      cluster,
      phase: lack ? 'Pending' : 'Ready',
      roomId: room.id,
      incarnation: room.incarnation,
      ...(node !== undefined && { node }),
      ...(address !== undefined && { address }),
      ...(made !== undefined && { createdAt: made }),
      ...(components.length > 0 && { components }),
      ...(peersSecretName !== undefined && { peersSecretName }),
      peers: counts,
    },
    context,
    {
      Accepted: accepted(cluster),
      Placed: verdict('True', { reason: 'Placed', message: `${where}.` }),
      Ready: lack
        ? verdict('False', { reason: lack.reason, message: sentences(lacks) })
        : verdict('True', { reason: 'Ready', message: `${where} with all that is declared.` }),
      Degraded: problem
        ? verdict('True', { reason: problem.reason, message: sentences(problems) })
        : verdict('False', { reason: 'AsDeclared', message: 'Everything that is declared is there.' }),
    },
  );
}

function sentences(why: readonly Why[]): string {
  return why.map(({ message }) => message).join(' ');
}

function accepted(cluster: string): Verdict {
  return verdict('True', { reason: 'Accepted', message: `The room is for MediaCluster ${cluster}.` });
}

function waitingPhase(status: RoomStatus): 'Pending' | 'Recovering' {
  return status.incarnation !== undefined || status.phase === 'Recovering' ? 'Recovering' : 'Pending';
}

/** A ULID begins with the milliseconds of its making, in ten digits of Crockford's base 32. */
function createdAt(incarnation: string): string | undefined {
  let ms = 0;
  for (const digit of incarnation.slice(0, 10)) {
    const value = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.indexOf(digit);
    if (value < 0) return undefined;
    ms = ms * 32 + value;
  }
  return incarnation.length === 26 && ms < 8.64e15 ? new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z') : undefined;
}
