// Events of rooms by kind, made by `npm run reference` from the schema of events: do not edit.
import type { EventCall, Json, Track } from './schemas.ts';

/** What events have; which of the optional fields are there depends on the kind. */
export type EventFields = {
  /** Unique for the event; the same wherever and however often it is delivered. */
  id: string;
  time: string;
  /** Counts the events of one incarnation of a room, without holes. Missing where another node tells of a room that was lost with its node, and in events of uploads, which outlive the room. */
  seq?: number;
  node: string;
  incarnation: string;
  roomId: string;
  peerId?: string;
  componentId?: string;
  /** Id of the recording or persistent stream that was uploaded. */
  recordingId?: string;
  track?: Track;
  call?: EventCall;
  /** One of 0-9, A-D, * and #. */
  digit?: string;
  metadata?: Json | null;
  /** `node_lost`: the room was lost with its node; such an event has the id `<incarnation>-lost`, whichever node tells it, and the `PeerDisconnected` before it `<incarnation>-lost-<peerId>`. */
  reason?: string;
};

type Kind<Type extends string, Fields extends keyof EventFields> = EventFields & { type: Type } & Required<Pick<EventFields, Fields>>;
/** Of a peer or of a component. */
type Origin = { peerId: string } | { componentId: string };

/** Every kind of event. */
export type RoomEvents = {
  /** A room was made. */
  RoomCreated: Kind<'RoomCreated', 'seq'>;
  /** A room ended (deleted, purged, or its node ended); the last of its events but those of uploads. `reason` says why. */
  RoomDeleted: Kind<'RoomDeleted', 'seq' | 'reason'>;
  /** A room ended by a fault, e.g. its media worker died; the last of its events. */
  RoomCrashed: Kind<'RoomCrashed', 'reason'>;
  /** A peer was made. */
  PeerAdded: Kind<'PeerAdded', 'seq' | 'peerId' | 'metadata'>;
  /** Its connection was authenticated. */
  PeerConnected: Kind<'PeerConnected', 'seq' | 'peerId'>;
  /** The connection is over for good: left, lost beyond the resume window, removed, crashed, or its room or node ended. Once for every disconnect; of a lost node before `RoomCrashed`, without `seq`. */
  PeerDisconnected: Kind<'PeerDisconnected', 'peerId'>;
  /** The peer was removed: by REST, by timeout, or with its room. */
  PeerDeleted: Kind<'PeerDeleted', 'seq' | 'peerId' | 'reason'>;
  /** The peer was removed because of a fault of its session. */
  PeerCrashed: Kind<'PeerCrashed', 'seq' | 'peerId' | 'reason'>;
  /** The peer has other metadata. */
  PeerMetadataUpdated: Kind<'PeerMetadataUpdated', 'seq' | 'peerId' | 'metadata'>;
  /** A track was published; after its peer's `PeerConnected`. */
  TrackAdded: Kind<'TrackAdded', 'seq' | 'track'> & Origin;
  /** A track ended; before its peer's `PeerDisconnected`. */
  TrackRemoved: Kind<'TrackRemoved', 'seq' | 'track'> & Origin;
  /** A track has other metadata. */
  TrackMetadataUpdated: Kind<'TrackMetadataUpdated', 'seq' | 'peerId' | 'track' | 'metadata'>;
  /** A component was added; before its `TrackAdded`. */
  ComponentAdded: Kind<'ComponentAdded', 'seq' | 'componentId'>;
  /** A component came to its end (`reason` `finished`), was removed, or ended with its room; after its `TrackRemoved`. */
  ComponentRemoved: Kind<'ComponentRemoved', 'seq' | 'componentId' | 'reason'>;
  /** A component was removed because of a fault; `reason` says which. */
  ComponentCrashed: Kind<'ComponentCrashed', 'seq' | 'componentId' | 'reason'>;
  /** A component goes on without a track of the room: it broke it, or is more than it can carry. `track` says which, `reason` why. */
  ComponentTrackDropped: Kind<'ComponentTrackDropped', 'seq' | 'componentId' | 'track' | 'reason'>;
  /** The stream of an `hls` component can be played. */
  HlsPlayable: Kind<'HlsPlayable', 'seq' | 'componentId'>;
  /** A persistent stream is in S3, all of it. `recordingId` names it. Comes without `seq`, also after `RoomDeleted`. */
  HlsUploaded: Kind<'HlsUploaded', 'componentId' | 'recordingId'>;
  /** The storage refuses a persistent stream, or could not be reached for 24 hours after its end. It stays on its node; `reason` says why. A refusal is told at once, also while it is made; after a repair within those 24 hours `HlsUploaded` follows. Else as `HlsUploaded`. */
  HlsUploadCrashed: Kind<'HlsUploadCrashed', 'componentId' | 'recordingId' | 'reason'>;
  /** A recording is in S3, all of it. `recordingId` names it. Comes without `seq`, also after `RoomDeleted`. */
  RecordingUploaded: Kind<'RecordingUploaded', 'componentId' | 'recordingId'>;
  /** The storage refuses a recording, or could not be reached for 24 hours after its end. It stays on its node; `reason` says why. A refusal is told at once, also while it is made; after a repair within those 24 hours `RecordingUploaded` follows. Else as `RecordingUploaded`. */
  RecordingUploadCrashed: Kind<'RecordingUploadCrashed', 'componentId' | 'recordingId' | 'reason'>;
  /** The far side of a phone call that a `sip` component makes rings. `call` says which. */
  SipCallRinging: Kind<'SipCallRinging', 'seq' | 'componentId' | 'call'>;
  /** A phone call was answered: by the far side, or by the component where it was called. `call` says which. */
  SipCallStarted: Kind<'SipCallStarted', 'seq' | 'componentId' | 'call'>;
  /** A phone call is over, answered or not. `reason` says why, `call` with which answer of SIP. */
  SipCallEnded: Kind<'SipCallEnded', 'seq' | 'componentId' | 'call' | 'reason'>;
  /** A key was pressed at the far side of a phone call: `digit`. */
  SipDigitReceived: Kind<'SipDigitReceived', 'seq' | 'componentId' | 'call' | 'digit'>;
};

export type RoomEventType = keyof RoomEvents;

/** Something that happened in a room: `type` says what, and which fields it has. Later versions may add kinds. */
export type RoomEvent = RoomEvents[RoomEventType];
