// Status of a Room: conditions, phase and the report of its node.
import { roomConditions } from '../../crds/condition-reasons.ts';
import type { RoomStatus } from '../../crds/types.ts';
import { type Condition, type ConditionReason, type Convergence, conditionOf, setCondition, setConvergence } from '../kube/conditions.ts';
import { timeText } from '../kube/times.ts';
import type { NodeRoom } from '../nodes/schemas.ts';
import { oldFormNotice } from './desired.ts';
import type { Observed } from './observed.ts';

export type ConditionValue = ConditionReason & { status: Condition['status'] };
/** `notice`: additional message about an accepted spec. */
type Context = { generation: number; now: Date; notice?: string | undefined };
type ComponentStatus = NonNullable<RoomStatus['components']>[number];

export function contextOf({ room, now }: Pick<Observed, 'room' | 'now'>): Context {
  return { generation: room.metadata.generation ?? 0, now, notice: oldFormNotice(room) };
}

/** Sets these conditions for this generation of the spec, and those that follow from Ready; others are kept. */
export function withConditions(
  status: RoomStatus,
  { generation, now }: Context,
  verdicts: Readonly<Record<string, ConditionValue>>,
): RoomStatus {
  let conditions = status.conditions ?? [];
  for (const [type, verdict] of Object.entries(verdicts)) {
    conditions = setCondition(conditions, { type, ...verdict, observedGeneration: generation }, now);
  }
  conditions = setConvergence(conditions, convergenceOf(status.phase, conditions), generation, now);
  const { componentsReady: _, ...rest } = status;
  const { components = [] } = status;
  // A printer column can show only one item of a list.
  const componentsReady = `${components.filter(({ ready }) => ready).length}/${components.length}`;
  return { ...rest, observedGeneration: generation, conditions, ...(components.length > 0 && { componentsReady }) };
}

function convergenceOf(phase: RoomStatus['phase'], conditions: readonly Condition[]): Convergence | undefined {
  const ready = conditionOf(conditions, 'Ready');
  if (!ready || ready.status === 'True') return undefined;
  const { reason, message } = ready;
  return { type: phase === 'Failed' || isStalling(reason) ? 'Stalled' : 'Reconciling', reason, message };
}

function isStalling(reason: string): boolean {
  return (roomConditions.stalled as readonly string[]).includes(reason);
}

export function conditionValue(status: Condition['status'], { reason, message }: ConditionReason): ConditionValue {
  return { status, reason, message };
}

const unplaced = ['Placed', 'Ready', 'Degraded'];
function valuesOf(types: readonly string[], status: Condition['status'], conditionReason: ConditionReason) {
  return Object.fromEntries(types.map((type) => [type, conditionValue(status, conditionReason)]));
}

/** Not accepted; no room is created. */
export function rejectedStatus(status: RoomStatus, context: Context, conditionReason: ConditionReason): RoomStatus {
  const values = valuesOf(['Accepted', ...unplaced], 'False', conditionReason);
  return withConditions({ ...status, phase: waitingPhase(status) }, context, values);
}

/** Accepted, but not on a node. */
export function pendingStatus(status: RoomStatus, context: Context, cluster: string, conditionReason: ConditionReason): RoomStatus {
  const values = { Accepted: accepted(cluster, context), ...valuesOf(unplaced, 'False', conditionReason) };
  return withConditions({ ...status, cluster, phase: waitingPhase(status) }, context, values);
}

/** The state on the node is unknown. */
export function unknownStatus(status: RoomStatus, context: Context, cluster: string, conditionReason: ConditionReason): RoomStatus {
  const known = status.incarnation === undefined ? 'False' : 'Unknown';
  const values = { Accepted: accepted(cluster, context), ...valuesOf(['Placed', 'Ready'], known, conditionReason) };
  return withConditions({ ...status, cluster, phase: waitingPhase(status) }, context, values);
}

/** Lost and to be recreated; fields of the lost room are removed. */
export function recoveringStatus(status: RoomStatus, context: Context, conditionReason: ConditionReason): RoomStatus {
  const { incarnation: _, createdAt: _createdAt, ...rest } = withoutRoom(status);
  const components = rest.components?.map(({ id: _id, message: _message, ...each }) => each);
  const values = valuesOf(unplaced, 'False', conditionReason);
  return withConditions({ ...rest, ...(components && { components }), phase: 'Recovering' }, context, values);
}

/** Lost, and not to be recreated. */
export function failedStatus(status: RoomStatus, context: Context, why: ConditionReason): RoomStatus {
  return withConditions({ ...withoutRoom(status), phase: 'Failed' }, context, valuesOf(unplaced, 'False', why));
}

/** Ended as intended. Without Ready, because kstatus would wait for a Ready that is False. */
export function finishedStatus(status: RoomStatus, context: Context, why: ConditionReason): RoomStatus {
  const conditions = (status.conditions ?? []).filter(({ type }) => type !== 'Ready');
  return withConditions({ ...withoutRoom(status), conditions, phase: 'Finished' }, context, {
    ...valuesOf(['Placed', 'Degraded'], 'False', why),
    Finished: conditionValue('True', why),
  });
}

function withoutRoom({ node: _, address: _address, legs: _legs, ...rest }: RoomStatus): RoomStatus {
  const components = rest.components?.map((component) => ({ ...component, ready: false }));
  return { ...rest, ...(components && { components }), ...(rest.peers && { peers: { total: 0, connected: 0 } }) };
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
  const { peersSecretName: _secret, components: _components, legs: _legs, ...rest } = status;
  const same = status.incarnation === room.incarnation;
  const node = placement.node ?? (same ? status.node : undefined);
  const address = placement.address ?? (same ? status.address : undefined);
  const connected = room.peers.filter((peer) => peer.status === 'connected').length;
  const counts = placement.countPeers || !same || !status.peers ? { total: room.peers.length, connected } : status.peers;
  const legs = counts === status.peers ? status.legs : room.legs.length;
  const where = `Room ${room.id} is on ${node === undefined ? `MediaCluster ${cluster}` : `node ${node}`}`;
  // What a user must change is more relevant than what the operator waits for.
  const missing = unmet.find(({ reason }) => isStalling(reason)) ?? unmet[0];
  const problems = [...unmet, ...degradations];
  const problem = missing ?? degradations[0];
  const made = createdAt(room.incarnation) ?? status.createdAt;
  return withConditions(
    {
      ...rest,
      cluster,
      phase: missing ? 'Pending' : 'Ready',
      roomId: room.id,
      incarnation: room.incarnation,
      ...(node !== undefined && { node }),
      ...(address !== undefined && { address }),
      ...(made !== undefined && { createdAt: made }),
      ...(components.length > 0 && { components }),
      ...(peersSecretName !== undefined && { peersSecretName }),
      peers: counts,
      ...(legs !== undefined && legs > 0 && { legs }),
    },
    context,
    {
      Accepted: accepted(cluster, context),
      Placed: conditionValue('True', { reason: 'Placed', message: `${where}.` }),
      Ready: missing
        ? conditionValue('False', { reason: missing.reason, message: joinMessages(unmet) })
        : conditionValue('True', { reason: 'Ready', message: `${where}, and everything declared in the spec is ready.` }),
      Degraded: problem
        ? conditionValue('True', { reason: problem.reason, message: joinMessages(problems) })
        : conditionValue('False', { reason: 'AsDeclared', message: 'Everything declared in the spec is working.' }),
    },
  );
}

function joinMessages(why: readonly ConditionReason[]): string {
  return why.map(({ message }) => message).join(' ');
}

function accepted(cluster: string, { notice }: Context): ConditionValue {
  const message = `The room belongs to MediaCluster ${cluster}.`;
  return conditionValue('True', { reason: 'Accepted', message: notice === undefined ? message : `${message} ${notice}` });
}

function waitingPhase(status: RoomStatus): 'Pending' | 'Recovering' {
  return status.incarnation !== undefined || status.phase === 'Recovering' ? 'Recovering' : 'Pending';
}

/** The API server rejects a status with a later time: RFC 3339 has four digits for the year. */
const lastTime = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** A ULID begins with its creation time in milliseconds, in ten digits of Crockford's base 32. */
function createdAt(incarnation: string): string | undefined {
  let ms = 0;
  for (const digit of incarnation.slice(0, 10)) {
    const value = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.indexOf(digit);
    if (value < 0) return undefined;
    ms = ms * 32 + value;
  }
  return incarnation.length === 26 && ms <= lastTime ? timeText(new Date(ms)) : undefined;
}
