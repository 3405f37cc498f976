// Which fields each kind of event has beyond those of all events; clients' types and docs/reference/events.md are made of this.

/** `origin`: `peerId` or `componentId`. */
type Field = 'origin' | 'peerId' | 'componentId' | 'recordingId' | 'track' | 'call' | 'digit' | 'metadata' | 'reason';

/** What is listed is always there, the rest never. The compiler holds rooms to it. */
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

/** Kinds whose events may come without `seq`: they outlive the room, or another node tells them. */
export const unsequencedEventTypes = [
  'RoomCrashed',
  'PeerDisconnected',
  'HlsUploaded',
  'HlsUploadCrashed',
  'RecordingUploaded',
  'RecordingUploadCrashed',
] as const;
