// Peer context: the parts of its room that a peer may use.
import type { Metadata } from '../../../api/json.ts';
import type { RemoteComponent, RemotePeer, Target } from '../../../api/socket/peer-events.ts';
import type { RpcRequest } from '../../../api/socket/rpc.ts';
import type { Log } from '../../common/log.ts';
import type { RoomChange } from '../changes/room-change.ts';
import type { RoomMedia } from '../interfaces.ts';
import type { Programme } from '../programme.ts';
import type { RpcOutcome } from '../rpcs.ts';
import type { DataTrack, Track } from '../track.ts';
import type { DataReceiver } from './data/data-publications.ts';
import type { MoveQueue } from './paths/move-queue.ts';

/** The state of the room when a peer connects. */
export type Present = { roomMetadata: Metadata | null; peers: RemotePeer[]; components: RemoteComponent[]; activeSpeaker: string | null };

/** The parts of its room that a peer may use: functions, never the room itself. */
export type PeerContext = {
  roomId: string;
  incarnation: string;
  log: Log;
  media: RoomMedia;
  moves: MoveQueue;
  /** Announces a change to the room. */
  announce: (change: RoomChange) => void;
  /** Sets the metadata of the room, paced like that of peers. */
  setMetadata: (metadata: Metadata | null) => void;
  /** Maximum size of a message, in bytes of JSON. */
  dataMaxBytes: () => number;
  /** Charges a message to the data budget of the room; false if it is exceeded. */
  mayDeliver: (bytes: number, target: Target) => boolean;
  /** Passes a message to connections that have its protocol. */
  relay: (message: object, target: Target) => void;
  /** Sends an RPC to another peer. Resolves with its response. */
  requestRpc: (from: string, to: string, request: RpcRequest) => Promise<Metadata>;
  respondRpc: (by: string, rpcId: string, outcome: RpcOutcome) => void;
  /** Tracks and data tracks of the components and the other peers. */
  publishedFor: (peerId: string) => { tracks: Iterable<Track>; dataTracks: Iterable<DataTrack> };
  /** The other connected peers as receivers of data tracks. */
  dataReceivers: (peerId: string) => Iterable<DataReceiver>;
  /** True if a peer may receive a track of another one. */
  mayReceive: (peerId: string, publisherId: string, trackId: string) => boolean;
  /** True if a peer may receive every track of the others. */
  mayReceiveAll: (peerId: string) => boolean;
  /** True while a peer does not receive the successor of a track yet. */
  awaited: (trackId: string) => boolean;
  programme: Pick<Programme, 'tracks' | 'watch'>;
  /** A peer receives a track. */
  received: (track: Track) => void;
  /** The other connected peers and the components, for a peer that connects. */
  present: (peerId: string) => Present;
  /** Removes the peer from the room's list. */
  forget: (peerId: string) => void;
  /** True if peers join without being admitted. */
  automaticAdmission: () => boolean;
  maxTracks: () => number;
  /** True if the room accepts no video. */
  audioOnly: boolean;
  /** Milliseconds after which a disconnected peer is removed; null = never. */
  disconnectedTimeout: () => number | null;
};
