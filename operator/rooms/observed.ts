// Observed state for decisions of the Room controller: the Room, its cluster, the room on the nodes, and rejected requests.
import type { RoomSpec, RoomStatus } from '../../crds/types.ts';
import type { ConditionReason } from '../kube/conditions.ts';
import type { Stored } from '../kube/objects.ts';
import type { NodeRoom, NodeRoomConfig, PeerPatchRequest, PeerRequest, RoomRequest } from '../nodes/schemas.ts';
import type { Room } from '../objects.ts';
import type { RoomDefaults } from './desired.ts';
import type { DesiredComponent } from './desired-components.ts';
import type { FoundSecret, PeerCredentials } from './peer-secret.ts';

/** A request that the nodes rejected. It is retried after a change, or after this time if it has one. */
export type Rejection = ConditionReason & { retryAfterMs?: number };

/** Observed state of the room on the nodes. */
export type ObservedRoom =
  /** It exists and belongs to this Room; `node` and `address` if known. */
  | { kind: 'present'; room: NodeRoom; node?: string; address?: string }
  /** A foreign room has its id. */
  | { kind: 'foreign' }
  /** Its node reported that it ended, with a reason. */
  | { kind: 'ended'; reason: string }
  /** It does not exist: it was never created, or it is lost. */
  | { kind: 'absent' }
  /** It could not be created now; a retry may succeed. */
  | ({ kind: 'retryable' } & ConditionReason)
  /** The nodes rejected it as specified. */
  | ({ kind: 'rejected' } & ConditionReason)
  /** No node could be reached. */
  | ({ kind: 'unknown' } & ConditionReason);

/** How a component ended, if an event reported it. */
export type ComponentEnd = 'finished' | 'crashed' | 'removed';

/** Immutable: each action returns a new observation. */
export type Observed = Readonly<{
  room: Stored<Room>;
  roomId: string;
  spec: { spec: RoomSpec } | { message: string };
  /** Limited to fields that match the schema. */
  status: RoomStatus;
  finalized: boolean;
  /** Its MediaCluster, or why it has none. `api`: base URL of any node for clients, if one exists. */
  cluster: { name: string; defaults: RoomDefaults; api: string | undefined; keyGeneration: number } | ConditionReason;
  /** Another Room with the same id on the same cluster. */
  conflictsWith: string | undefined;
  location: ObservedRoom;
  desiredComponents: readonly DesiredComponent[];
  componentEnds: ReadonlyMap<string, ComponentEnd>;
  /** Recent crashes by name of the component, in monotonic milliseconds. */
  componentCrashes: ReadonlyMap<string, readonly number[]>;
  /** Recent rejections by `<name>/<revision>`. */
  refusedComponents: ReadonlyMap<string, Rejection>;
  refusedPeers: ReadonlyMap<string, Rejection>;
  refusedConfig: Rejection | undefined;
  secret: FoundSecret;
  /** Tokens and URLs without scheme received in this reconcile, by peer. */
  newTokens: ReadonlyMap<string, { token: string; url: string }>;
  now: Date;
  /** Clock skew of the nodes in milliseconds (positive: ahead of the local clock), if known. */
  skewMs: number | undefined;
  /** Milliseconds since the peer counts were written. */
  countsAgeMs: number;
  /** Milliseconds since the state of the room became unknown or its creation started to fail. */
  waitingForMs: number;
  /** Milliseconds since the deletion was first observed. */
  deletingForMs: number;
  /** Milliseconds during which a timed-out create request may still take effect. */
  createPendingMs: number;
}>;

export type Action =
  /** Write the status, then decide again. */
  | { type: 'writeStatus' }
  | { type: 'finalize' }
  /** Remove the finalizer; `orphan`: the room may remain on an unreachable node. */
  | { type: 'removeFinalizer'; orphan: boolean }
  /** Delete the Room, because its TTL has expired. */
  | { type: 'deleteRoom' }
  | { type: 'create'; request: RoomRequest }
  | { type: 'delete' }
  | { type: 'patch'; config: Partial<NodeRoomConfig> }
  | { type: 'removeComponents'; ids: readonly string[] }
  | { type: 'addComponents'; components: readonly Extract<DesiredComponent, { request: unknown }>[] }
  | { type: 'removePeers'; ids: readonly string[] }
  | { type: 'addPeers'; peers: readonly PeerRequest[] }
  | { type: 'patchPeers'; peers: readonly PeerPatchRequest[] }
  /** Request fresh tokens for these peers. */
  | { type: 'tokens'; peers: readonly string[] }
  | { type: 'writeSecret'; peers: ReadonlyMap<string, PeerCredentials>; keyGeneration: number }
  | { type: 'deleteSecret' }
  /** Nothing to do now. Milliseconds until the next reconcile, if one is scheduled. */
  | { type: 'wait'; requeueAfterMs?: number };

export type Decision = { status: RoomStatus; action: Action };
