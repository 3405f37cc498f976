// Status of a Room: conditions, phase and the report of its node.
import type { RoomStatus } from '../../crds/types.ts';
import { type Condition, setCondition } from '../kube/conditions.ts';
import type { NodeRoom } from '../nodes/schemas.ts';
import type { ConditionReason } from './observed.ts';

export type ConditionValue = ConditionReason & { status: Condition['status'] };
/** `notice`: additional message about an accepted spec. */
type Context = { generation: number; now: Date; notice?: string | undefined };
type ComponentStatus = NonNullable<RoomStatus['components']>[number];

/** Sets these conditions for this generation of the spec; others are kept. */
export function withConditions(
  status: RoomStatus,
  { generation, now }: Context,
  verdicts: Readonly<Record<string, ConditionValue>>,
): RoomStatus {
  let conditions = (status.conditions ?? []) as Condition[];
  for (const [type, verdict] of Object.entries(verdicts)) {
    conditions = setCondition(conditions, { type, ...verdict, observedGeneration: generation }, now);
  }
  const { componentsReady: _, ...rest } = status;
  const { components = [] } = status;
  // A printer column can show only one item of a list.
  const componentsReady = `${components.filter(({ ready }) => ready).length}/${components.length}`;
  return { ...rest, observedGeneration: generation, conditions, ...(components.length > 0 && { componentsReady }) };
}

export function conditionValue(status: Condition['status'], { reason, message }: ConditionReason): ConditionValue {
  return { status, reason, message };
}

/** Not accepted; no room is created. */
export function rejectedStatus(status: RoomStatus, context: Context, conditionReason: ConditionReason): RoomStatus {
  return withConditions({ ...status, phase: waitingPhase(status) }, context, {
    Accepted: conditionValue('False', conditionReason),
    Placed: conditionValue('False', conditionReason),
    Ready: conditionValue('False', conditionReason),
    Degraded: conditionValue('False', conditionReason),
  });
}

/** Accepted, but not on a node. */
export function pendingStatus(status: RoomStatus, context: Context, cluster: string, conditionReason: ConditionReason): RoomStatus {
  return withConditions({ ...status, cluster, phase: waitingPhase(status) }, context, {
    Accepted: accepted(cluster, context),
    Placed: conditionValue('False', conditionReason),
    Ready: conditionValue('False', conditionReason),
    Degraded: conditionValue('False', conditionReason),
  });
}

/** The state on the node is unknown. */
export function unknownStatus(status: RoomStatus, context: Context, cluster: string, conditionReason: ConditionReason): RoomStatus {
  const known = status.incarnation === undefined ? 'False' : 'Unknown';
  return withConditions({ ...status, cluster, phase: waitingPhase(status) }, context, {
    Accepted: accepted(cluster, context),
    Placed: conditionValue(known, conditionReason),
    Ready: conditionValue(known, conditionReason),
  });
}

/** Lost and to be recreated; fields of the lost room are removed. */
export function recoveringStatus(status: RoomStatus, context: Context, conditionReason: ConditionReason): RoomStatus {
  const { incarnation: _, node: _node, address: _address, createdAt: _createdAt, ...rest } = status;
  const components = status.components?.map(({ id: _id, message: _message, ...each }) => ({ ...each, ready: false }));
  const counts = status.peers && { total: 0, connected: 0 };
  return withConditions({ ...rest, ...(components && { components }), ...(counts && { peers: counts }), phase: 'Recovering' }, context, {
    Placed: conditionValue('False', conditionReason),
    Ready: conditionValue('False', conditionReason),
    Degraded: conditionValue('False', conditionReason),
  });
}

/** Terminal phase. */
export function terminalStatus(
  status: RoomStatus,
  context: Context,
  phase: 'Finished' | 'Failed',
  conditionReason: ConditionReason,
): RoomStatus {
  const { node: _node, address: _address, ...rest } = status;
  const components = status.components?.map((component) => ({ ...component, ready: false }));
  const counts = status.peers && { total: 0, connected: 0 };
  return withConditions({ ...rest, ...(components && { components }), ...(counts && { peers: counts }), phase }, context, {
    Placed: conditionValue('False', conditionReason),
    Ready: conditionValue('False', conditionReason),
    Degraded: conditionValue('False', conditionReason),
  });
}

export type Placement = {
  cluster: string;
  room: NodeRoom;
  node: string | undefined;
  address: string | undefined;
  components: ComponentStatus[];
  /** Whether peer counts may be written now. */
  countPeers: boolean;
  peersSecretName: string | undefined;
  /** Missing parts, most relevant first. */
  unmet: readonly ConditionReason[];
  /** Parts that exist but do not work. */
  degradations: readonly ConditionReason[];
};

/** On a node. Ready if nothing is unmet. */
export function placedStatus(status: RoomStatus, context: Context, placement: Placement): RoomStatus {
  const { cluster, room, components, peersSecretName, unmet, degradations } = placement;
  const { peersSecretName: _secret, components: _components, ...rest } = status;
  const same = status.incarnation === room.incarnation;
  const node = placement.node ?? (same ? status.node : undefined);
  const address = placement.address ?? (same ? status.address : undefined);
  const connected = room.peers.filter((peer) => peer.status === 'connected').length;
  const counts = placement.countPeers || !same || !status.peers ? { total: room.peers.length, connected } : status.peers;
  const where = `Room ${room.id} is on ${node === undefined ? `MediaCluster ${cluster}` : `node ${node}`}`;
  const [lack] = unmet;
  const problems = [...unmet, ...degradations];
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
      Accepted: accepted(cluster, context),
      Placed: conditionValue('True', { reason: 'Placed', message: `${where}.` }),
      Ready: lack
        ? conditionValue('False', { reason: lack.reason, message: sentences(unmet) })
        : conditionValue('True', { reason: 'Ready', message: `${where}, and everything declared in the spec is ready.` }),
      Degraded: problem
        ? conditionValue('True', { reason: problem.reason, message: sentences(problems) })
        : conditionValue('False', { reason: 'AsDeclared', message: 'Everything declared in the spec is working.' }),
    },
  );
}

function sentences(why: readonly ConditionReason[]): string {
  return why.map(({ message }) => message).join(' ');
}

function accepted(cluster: string, { notice }: Context): ConditionValue {
  const message = `The room belongs to MediaCluster ${cluster}.`;
  return conditionValue('True', { reason: 'Accepted', message: notice === undefined ? message : `${message} ${notice}` });
}

function waitingPhase(status: RoomStatus): 'Pending' | 'Recovering' {
  return status.incarnation !== undefined || status.phase === 'Recovering' ? 'Recovering' : 'Pending';
}

/** A ULID begins with its creation time in milliseconds, in ten digits of Crockford's base 32. */
function createdAt(incarnation: string): string | undefined {
  let ms = 0;
  for (const digit of incarnation.slice(0, 10)) {
    const value = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.indexOf(digit);
    if (value < 0) return undefined;
    ms = ms * 32 + value;
  }
  return incarnation.length === 26 && ms < 8.64e15 ? new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z') : undefined;
}
