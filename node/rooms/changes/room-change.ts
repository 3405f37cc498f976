// Room change: what happens in a room, announced once where it happens. Server events, peer events, subscriptions and the peerless timeout
// are projections of it.
import type { RoomEventDetail, Transcript } from '../../../api/events.ts';
import type { Metadata } from '../../../api/json.ts';
import type { Attributes, Permissions } from '../../../api/peer.ts';
import type { RemoteComponent, RemotePeer } from '../../../api/socket/peer-events.ts';
import type { DataTrack, Track } from '../track.ts';

/** Cause of a change of a track or a peer: its publisher, which is not notified, or the server. */
export type ChangedBy = 'publisher' | 'server';

export type RoomChange =
  | { kind: 'roomCreated' }
  | { kind: 'roomDeleted' | 'roomCrashed'; reason: string }
  | { kind: 'roomMetadataUpdated'; metadata: Metadata | null }
  | { kind: 'activeSpeakerChanged'; peerId: string | null }
  | { kind: 'dataSent'; from: string | null; label: string; payload: Metadata; to: readonly string[] | undefined }
  | { kind: 'peerAdded'; peerId: string; metadata: Metadata | null }
  | { kind: 'peerWaiting'; peerId: string; metadata: Metadata | null }
  | { kind: 'peerWaitingEnded'; peerId: string; reason: string }
  | { kind: 'peerConnected'; peer: RemotePeer; hidden: boolean }
  | { kind: 'peerDisconnected'; peerId: string; hidden: boolean }
  | { kind: 'peerDeleted' | 'peerCrashed'; peerId: string; reason: string }
  | { kind: 'peerMetadataUpdated'; peerId: string; metadata: Metadata | null; hidden: boolean; by: ChangedBy }
  | { kind: 'peerAttributesUpdated'; peerId: string; attributes: Attributes; hidden: boolean; by: ChangedBy }
  | { kind: 'permissionsUpdated'; peerId: string; permissions: Permissions }
  | { kind: 'trackAdded'; track: Track }
  | { kind: 'trackRemoved'; track: Track; by: ChangedBy }
  | { kind: 'trackPaused' | 'trackResumed'; track: Track; by: ChangedBy }
  | { kind: 'trackInterrupted' | 'trackRestored'; track: Track }
  /** Its publisher sends it in another codec too. */
  | { kind: 'trackBackupAdded'; track: Track }
  /** Its publisher, which moves, publishes it a second time; the first one ends soon. */
  | { kind: 'trackSucceeded'; track: Track }
  | { kind: 'trackMetadataUpdated'; peerId: string; track: Track }
  /** A peer changed which other peers may receive its tracks. */
  | { kind: 'receiversChanged'; peerId: string }
  | { kind: 'dataTrackAdded' | 'dataTrackRemoved'; dataTrack: DataTrack }
  | { kind: 'componentAdded'; component: RemoteComponent }
  | { kind: 'componentStarted'; componentId: string }
  | { kind: 'componentRemoved' | 'componentCrashed'; componentId: string; reason: string }
  /** The component ended because its room crashed. */
  | { kind: 'componentLost'; componentId: string }
  /** An agent, the peer, transcribed speech. `to`: peers that get the text; all if undefined. */
  | { kind: 'transcriptAdded'; peerId: string; transcript: Transcript; to: readonly string[] | undefined }
  /** Only a backend learns of it. */
  | { kind: 'backendEvent'; event: RoomEventDetail };

export type ChangeKind = RoomChange['kind'];
type ChangeOf<Kind extends ChangeKind> = RoomChange & { kind: Kind };

/** One row for each kind of change; null: not visible in this projection. */
export type Projection<Result> = { readonly [Kind in ChangeKind]: ((change: ChangeOf<Kind>) => Result) | null };

export function project<Result>(projection: Projection<Result>, change: RoomChange): Result | undefined {
  // The row of a kind accepts its changes; TypeScript loses that through the index.
  const row = projection[change.kind] as ((change: RoomChange) => Result) | null;
  return row?.(change);
}

/** The peer that publishes the track; undefined for a component. */
export function publishingPeerOf({ origin }: Pick<Track, 'origin'>): string | undefined {
  return 'peerId' in origin ? origin.peerId : undefined;
}
