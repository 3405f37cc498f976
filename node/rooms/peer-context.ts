// Peer context: the parts of its room that a peer may use.

import type { RoomEventDetail } from '../../api/events.ts';
import type { PeerEvent, RemoteComponent, RemotePeer, Target } from '../../api/socket/peer-events.ts';
import type { Log } from '../common/log.ts';
import type { RoomMedia } from './interfaces.ts';
import type { PublicationChange } from './publications.ts';
import type { DataTrack, Track } from './track.ts';

/** The state of the room when a peer connects. */
export type Present = { peers: RemotePeer[]; components: RemoteComponent[]; activeSpeaker: string | null };

/** The parts of its room that a peer may use: functions, never the room itself. */
export type PeerContext = {
  roomId: string;
  incarnation: string;
  log: Log;
  media: RoomMedia;
  emit: (detail: RoomEventDetail) => void;
  broadcast: (event: PeerEvent, target?: Target) => void;
  /** Maximum size of a message, in bytes of JSON. */
  dataMaxBytes: () => number;
  /** Charges a message to the data budget of the room; false if it is exceeded. */
  mayDeliver: (bytes: number, target: Target) => boolean;
  /** Tracks and data tracks of the other peers. */
  visibleTo: (peerId: string) => { tracks: Iterable<Track>; dataTracks: Iterable<DataTrack> };
  /** The other connected peers and the components, for a peer that connects. */
  present: (peerId: string) => Present;
  /** The peer published or removed a track: the subscriptions of the others are updated. */
  offerChanged: (change: PublicationChange, peerId: string) => void;
  /** The peer connected or disconnected (restarts the peerless timeout of the room). */
  presenceChanged: () => void;
  /** Removes the peer from the room's list. */
  forget: (peerId: string) => void;
  maxTracks: () => number;
  /** Milliseconds after which a disconnected peer is removed; null = never. */
  disconnectedTimeout: () => number | null;
};
