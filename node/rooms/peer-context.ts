// What a peer needs of the room that it is in.
import type { Log } from '../common/log.ts';
import type { RoomMedia } from './interfaces.ts';
import type { PublicationChange } from './publications.ts';
import type { RoomEventDetail } from './shapes/events.ts';
import type { PeerEvent, RemoteComponent, RemotePeer, Target } from './shapes/peer-events.ts';
import type { DataTrack, Track } from './track.ts';

/** What is there already when a peer comes. */
export type Present = { peers: RemotePeer[]; components: RemoteComponent[]; activeSpeaker: string | null };

/** What a peer may use of its room: functions, never the room itself. */
export type PeerContext = {
  roomId: string;
  incarnation: string;
  log: Log;
  media: RoomMedia;
  emit: (detail: RoomEventDetail) => void;
  broadcast: (event: PeerEvent, target?: Target) => void;
  /** Bytes of JSON that a message may have. */
  dataMaxBytes: () => number;
  /** Counts a message towards what the room may deliver; false where that is too much. */
  mayDeliver: (bytes: number, target: Target) => boolean;
  /** What the other peers publish. */
  visibleTo: (peerId: string) => { tracks: Iterable<Track>; dataTracks: Iterable<DataTrack> };
  /** The other peers that are connected, and the components, as a newcomer is told. */
  present: (peerId: string) => Present;
  /** What this peer publishes changed: the others' subscriptions follow. */
  offerChanged: (change: PublicationChange, peerId: string) => void;
  /** The peer connected or disconnected (for the room's peerless purge). */
  presenceChanged: () => void;
  /** Takes the peer out of the room's list. */
  forget: (peerId: string) => void;
  maxTracks: () => number;
  /** Milliseconds after which a disconnected peer is removed; null = never. */
  disconnectedTimeout: () => number | null;
};
