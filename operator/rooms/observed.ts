// What the Room controller knows when it decides: the Room, its cluster, what the nodes say, what was tried.
import type { RoomSpec, RoomStatus } from '../../crds/types.ts';
import type { Stored } from '../kube/objects.ts';
import type { NodeRoom, NodeRoomConfig, PeerRequest, RoomRequest } from '../nodes/schemas.ts';
import type { Room } from '../objects.ts';
import type { RoomDefaults } from './desired.ts';
import type { DesiredComponent } from './desired-components.ts';
import type { FoundSecret, PeerCredentials } from './peer-secret.ts';

/** One CamelCase word and one sentence, as conditions have them. */
export type ConditionReason = { reason: string; message: string };

/** What the nodes say of the room. */
export type ObservedRoom =
  /** It is there and ours; `node` and `address` where they are known. */
  | { kind: 'present'; room: NodeRoom; node?: string; address?: string }
  /** Another one has its id. */
  | { kind: 'foreign' }
  /** Its node says that it ended, with the node's reason. */
  | { kind: 'ended'; reason: string }
  /** There is none: it was never made, or it is lost. */
  | { kind: 'absent' }
  /** It could not be made now; another try may do. */
  | ({ kind: 'retryable' } & ConditionReason)
  /** The nodes understood, and will not make it as it is. */
  | ({ kind: 'rejected' } & ConditionReason)
  /** Nobody could be asked. */
  | ({ kind: 'unknown' } & ConditionReason);

/** How a component came to its end, where it was heard. */
export type ComponentEnd = 'finished' | 'crashed' | 'removed';
export type Observed = {
  room: Stored<Room>;
  roomId: string;
  spec: { spec: RoomSpec } | { sentence: string };
  /** As far as it holds to the schema. */
  status: RoomStatus;
  finalized: boolean;
  /** Which MediaCluster it is for, or why there is none. `api`: base URL of any node for clients, where there is one. */
  cluster: { name: string; defaults: RoomDefaults; api: string | undefined; keyGeneration: number } | ConditionReason;
  /** Another Room that holds the same id of the same cluster. */
  conflictsWith: string | undefined;
  fate: ObservedRoom;
  desiredComponents: readonly DesiredComponent[];
  componentEnds: ReadonlyMap<string, ComponentEnd>;
  /** Refused a moment ago, by `<name>/<revision>`: not tried again before something changes, or a while later. */
  refusedComponents: ReadonlyMap<string, ConditionReason>;
  refusedPeers: ReadonlyMap<string, ConditionReason>;
  refusedConfig: ConditionReason | undefined;
  secret: FoundSecret;
  /** Tokens and bare URLs that nodes gave in this reconcile, by peer. */
  newTokens: ReadonlyMap<string, { token: string; url: string }>;
  now: Date;
  /** How far the nodes' clock is ahead of ours in milliseconds, where it is known. */
  skewMs: number | undefined;
  /** Milliseconds since the counts of peers were written. */
  countsAgeMs: number;
  /** Milliseconds for which nothing could be found out or done about its room by now. */
  waitingForMs: number;
  /** Milliseconds since the deletion was first seen. */
  deletingForMs: number;
  /** Milliseconds for which a request that nobody waits for any more may still make the room. */
  createPendingMs: number;
};

export type Action =
  /** Write the status, then look again. */
  | { type: 'writeStatus' }
  | { type: 'finalize' }
  /** Let the Room go; `orphan`: its room may be left on a node that does not answer. */
  | { type: 'removeFinalizer'; orphan: boolean }
  | { type: 'create'; request: RoomRequest }
  | { type: 'delete' }
  | { type: 'patch'; config: Partial<NodeRoomConfig> }
  | { type: 'removeComponents'; ids: readonly string[] }
  | { type: 'addComponents'; components: readonly Extract<DesiredComponent, { request: unknown }>[] }
  | { type: 'removePeers'; ids: readonly string[] }
  | { type: 'addPeers'; peers: readonly PeerRequest[] }
  | { type: 'patchPeers'; peers: readonly PeerRequest[] }
  /** Get fresh tokens for these peers. */
  | { type: 'tokens'; peers: readonly string[] }
  | { type: 'writeSecret'; peers: ReadonlyMap<string, PeerCredentials>; keyGeneration: number }
  | { type: 'deleteSecret' }
  /** Nothing to do now. Milliseconds until it is time to look again, where there is such a time. */
  | { type: 'wait'; requeueAfterMs?: number };

export type Decision = { status: RoomStatus; action: Action };
