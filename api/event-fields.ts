// Fields of each event type in addition to the common fields; source of the SDK types and of docs/reference/events.md.

/** `origin`: `peerId` or `componentId`. */
type Field = 'origin' | 'peerId' | 'componentId' | 'recordingId' | 'track' | 'call' | 'digit' | 'metadata' | 'reason';

/** Listed fields are always present, others never. The compiler enforces it for all emitters. */
export const eventFields = {
  RoomCreated: [],
  RoomDeleted: ['reason'],
  RoomCrashed: ['reason'],
  PeerAdded: ['peerId', 'metadata'],
  PeerConnected: ['peerId'],
  PeerDisconnected: ['peerId'],
  PeerDeleted: ['peerId', 'reason'],
  PeerCrashed: ['peerId', 'reason'],
  PeerMetadataUpdated: ['peerId', 'metadata'],
  TrackAdded: ['origin', 'track'],
  TrackRemoved: ['origin', 'track'],
  TrackMetadataUpdated: ['peerId', 'track', 'metadata'],
  ComponentAdded: ['componentId'],
  ComponentRemoved: ['componentId', 'reason'],
  ComponentCrashed: ['componentId', 'reason'],
  ComponentTrackDropped: ['componentId', 'track', 'reason'],
  HlsPlayable: ['componentId'],
  HlsUploaded: ['componentId', 'recordingId'],
  HlsUploadCrashed: ['componentId', 'recordingId', 'reason'],
  RecordingUploaded: ['componentId', 'recordingId'],
  RecordingUploadCrashed: ['componentId', 'recordingId', 'reason'],
  SipCallRinging: ['componentId', 'call'],
  SipCallStarted: ['componentId', 'call'],
  SipCallEnded: ['componentId', 'call', 'reason'],
  SipDigitReceived: ['componentId', 'call', 'digit'],
} as const satisfies Record<string, readonly Field[]>;

/** Event types whose events may have no `seq`: they outlive the room, or another node emits them. */
export const unsequencedEventTypes = [
  'RoomCrashed',
  'PeerDisconnected',
  'HlsUploaded',
  'HlsUploadCrashed',
  'RecordingUploaded',
  'RecordingUploadCrashed',
] as const;
