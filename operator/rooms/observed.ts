// What the Room controller knows when it decides: the Room, its cluster, what the nodes say, what was tried.
import type { RoomSpec, RoomStatus } from '../../crds/types.ts';
import type { Stored } from '../kube/objects.ts';
import type { NodeRoom, NodeRoomConfig, PeerRequest, RoomRequest } from '../nodes/shapes.ts';
import type { Room } from '../objects.ts';
import type { ComponentWish } from './component-wishes.ts';
import type { RoomDefaults } from './desired.ts';
import type { Access, FoundSecret } from './peer-secret.ts';

/** One CamelCase word and one sentence, as conditions have them. */
export type Why = { reason: string; message: string };

/** What the nodes say of the room. */
export type Fate =
  /** It is there and ours; `node` and `address` where they are known. */
  | { kind: 'present'; room: NodeRoom; node?: string; address?: string }
  /** Another one has its id. */
  | { kind: 'stranger' }
  /** Its node says that it ended, with the node's reason. */
  | { kind: 'ended'; reason: string }
  /** There is none: it was never made, or it is lost. */
  | { kind: 'absent' }
  /** It could not be made now; another try may do. */
  | ({ kind: 'impossible' } & Why)
  /** The nodes understood, and will not make it as it is. */
  | ({ kind: 'refused' } & Why)
  /** Nobody could be asked. */
  | ({ kind: 'unknown' } & Why);

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
  cluster: { name: string; defaults: RoomDefaults; api: string | undefined; keyGeneration: number } | Why;
  /** Another Room that holds the same id of the same cluster. */
  rival: string | undefined;
  fate: Fate;
  wishes: readonly ComponentWish[];
  componentEnds: ReadonlyMap<string, ComponentEnd>;
  /** Refused a moment ago, by `<name>/<revision>`: not tried again before something changes, or a while later. */
  refusedComponents: ReadonlyMap<string, Why>;
  refusedPeers: ReadonlyMap<string, Why>;
  refusedConfig: Why | undefined;
  secret: FoundSecret;
  /** Tokens and bare URLs that nodes gave in this reconcile, by peer. */
  fresh: ReadonlyMap<string, { token: string; url: string }>;
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
  | { type: 'record' }
  | { type: 'finalize' }
  /** Let the Room go; `orphan`: its room may be left on a node that does not answer. */
  | { type: 'release'; orphan: boolean }
  | { type: 'create'; request: RoomRequest }
  | { type: 'delete' }
  | { type: 'patch'; config: Partial<NodeRoomConfig> }
  | { type: 'removeComponents'; ids: readonly string[] }
  | { type: 'addComponents'; wishes: readonly Extract<ComponentWish, { request: unknown }>[] }
  | { type: 'removePeers'; ids: readonly string[] }
  | { type: 'addPeers'; peers: readonly PeerRequest[] }
  | { type: 'patchPeers'; peers: readonly PeerRequest[] }
  /** Get fresh tokens for these peers. */
  | { type: 'tokens'; peers: readonly string[] }
  | { type: 'writeSecret'; peers: ReadonlyMap<string, Access>; keyGeneration: number }
  | { type: 'deleteSecret' }
  /** Nothing to do now. Milliseconds until it is time to look again, where there is such a time. */
  | { type: 'wait'; requeueAfterMs?: number };

export type Decision = { status: RoomStatus; action: Action };
