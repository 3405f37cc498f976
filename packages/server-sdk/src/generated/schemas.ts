// What the server takes and answers, made by `npm run reference` from the OpenAPI document: do not edit.

export type Access = {
  /** read: every GET, events and content; all else answers 403 `read_only`. */
  scope: 'full' | 'read';
};

/** A phone call of a sip component. */
export type Call = {
  id: string;
  /** Of the far side; `anonymous` where a caller does not show it. */
  phoneNumber: string;
  direction: 'outgoing' | 'incoming';
  state: 'calling' | 'ringing' | 'active';
};

/** Keys that are pressed in a call. */
export type CallDigits = {
  /** Sent one after the other (RFC 4733). */
  digits: string;
};

/** Whom a sip component calls. */
export type CallOptions = {
  /** Digits with or without a leading +, * and #, or the name of an extension. */
  phoneNumber: string;
};

/** A component of a room: hls, recording, sip or file. */
export type Component = {
  id: string;
  type: ComponentType;
  externalId: string | null;
  /** Its options without secrets, and how it is. `uploadProblem`: why nothing of it goes to S3 (refused twice in a row, or no success for 15 s); null or missing where all is well. */
  properties: Record<string, Json>;
  tracks: Track[];
};

/** A new component: its kind, and the options of that kind. */
export type ComponentOptions =
  | {
      type: 'hls';
      options?: HlsOptions;
      /** The caller's own key: a request that repeats it gets what the first one made. */
      externalId?: string;
    }
  | {
      type: 'recording';
      options?: RecordingOptions;
      /** The caller's own key: a request that repeats it gets what the first one made. */
      externalId?: string;
    }
  | {
      type: 'sip';
      options: SipOptions;
      /** The caller's own key: a request that repeats it gets what the first one made. */
      externalId?: string;
    }
  | {
      type: 'file';
      options: FileOptions;
      /** The caller's own key: a request that repeats it gets what the first one made. */
      externalId?: string;
    };

/** What a component in manual mode receives beside what it does already. */
export type ComponentSubscription = {
  /** Ids of peers and components whose tracks it receives from here. */
  origins: string[];
};

export type ComponentType = 'hls' | 'recording' | 'sip' | 'file';

/** A variable of the configuration in force. */
export type ConfigValue = {
  /** The variable, e.g. `SVC_MAX_ROOMS`. */
  name: string;
  /** In the units of the variable; null where unset; `***` for every secret that is set. */
  value: (string | number | boolean | string[]) | null;
  /** default: the fixed default, or what was taken from the machine and other variables. */
  source: 'environment' | 'file' | 'default';
  secret: boolean;
  /** Whether it may change while the node runs, from a file. */
  reloadable: boolean;
  meaning: string;
};

export type ConsoleSession = {
  /** Whether the node runs in development mode and whoever asks may be told the token. */
  development: boolean;
  /** The API token, in development mode and straight from this machine only. */
  token?: string;
  /** Kinds of components that rooms of this node may have (SVC_COMPONENTS_USED). */
  components: ComponentType[];
};

export type CreatedPeer = {
  peer: Peer;
  /** What the peer authenticates with on the websocket. */
  token: string;
  /** Address of the peer websocket on the room's node, without a scheme: host[:port][/path]/socket/peer/websocket. */
  peer_websocket_url: string;
};

export type CreatedRoom = {
  room: Room;
  /** Address of the node that owns the room: host[:port][/path]. */
  svc_address: string;
};

/** A delivery that was given up. */
export type DeadLetter = {
  receiver: string;
  givenUpAt: string;
  reason: string;
  attempts: number;
  event: RoomEvent;
  /** Node that has it. */
  node: string;
};

export type DrainOptions = {
  /** Seconds after which rooms end that still have peers; SVC_DRAIN_TIMEOUT where left out. */
  deadline?: number;
};

/** What a drain of the node means. */
export type DrainView = {
  state: NodeState;
  /** When the rooms end that are left; null while the node accepts rooms. */
  deadline: string | null;
  /** Seconds that a drain takes at most where nobody says otherwise; 0: rooms end at once. */
  defaultDeadline: number;
  rooms: number;
  /** Rooms that go on until their end or the deadline; the others end at once. */
  roomsWithPeers: number;
  /** Peers who are told the deadline. */
  connectedPeers: number;
};

/** The body of every answer to a request that failed. */
export type Error = {
  /** One sentence for people. */
  errors: string;
  /** Stable, for programs. */
  code:
    | 'bad_request'
    | 'malformed_json'
    | 'invalid_field'
    | 'already_exists'
    | 'missing_token'
    | 'invalid_token'
    | 'forbidden'
    | 'read_only'
    | 'not_found'
    | 'room_not_found'
    | 'room_ended'
    | 'peer_not_found'
    | 'track_not_found'
    | 'component_not_found'
    | 'call_not_found'
    | 'method_not_allowed'
    | 'not_acceptable'
    | 'request_timeout'
    | 'conflict'
    | 'terminating'
    | 'too_large'
    | 'unsupported_media_type'
    | 'range_not_satisfiable'
    | 'too_many_requests'
    | 'headers_too_large'
    | 'internal'
    | 'room_full'
    | 'tracks_full'
    | 'no_node_accepts_rooms'
    | 'node_unreachable'
    | 'unavailable';
};

/** The phone call that an event is about. */
export type EventCall = {
  id: string;
  /** Of the far side; `anonymous` where a caller does not show it. */
  phoneNumber: string;
  direction: 'outgoing' | 'incoming';
  /** Status of the answer of SIP that ended it (RFC 3261, section 21). */
  status?: number;
  /** The words that came with the status. */
  phrase?: string;
};

export type EventType =
  | 'RoomCreated'
  | 'RoomDeleted'
  | 'RoomCrashed'
  | 'PeerAdded'
  | 'PeerConnected'
  | 'PeerDisconnected'
  | 'PeerDeleted'
  | 'PeerCrashed'
  | 'PeerMetadataUpdated'
  | 'TrackAdded'
  | 'TrackRemoved'
  | 'TrackMetadataUpdated'
  | 'ComponentAdded'
  | 'ComponentRemoved'
  | 'ComponentCrashed'
  | 'ComponentTrackDropped'
  | 'HlsPlayable'
  | 'HlsUploaded'
  | 'HlsUploadCrashed'
  | 'RecordingUploaded'
  | 'RecordingUploadCrashed'
  | 'SipCallRinging'
  | 'SipCallStarted'
  | 'SipCallEnded'
  | 'SipDigitReceived';

/** Plays a file into the room, once. */
export type FileOptions = {
  /** An .ogg (Opus) or .h264 file, on the server below file_component_sources. */
  filePath: string;
  /** Pictures a second; of video only. */
  framerate?: number | null;
};

export type FoundPeer = {
  peer: Peer;
  /** Address of the peer websocket on the room's node, without a scheme: host[:port][/path]/socket/peer/websocket. */
  peer_websocket_url: string;
};

/** Health of the node that answered. */
export type Health = {
  /** `STARTING` until the node is ready, `DRAINING` once it takes no new rooms, `DEGRADED` while no media worker runs or the disk is full or cannot be written to. The HTTP status is 200 all the same: `/readyz` decides. */
  status: 'UP' | 'STARTING' | 'DRAINING' | 'DEGRADED';
  /** Why the status is not `UP`, in words. */
  reason: string | null;
  /** Seconds since the node started. */
  uptime: number;
  version: string;
  gitCommit: string;
  distribution: {
    enabled: boolean;
    nodeStatus: 'UP' | 'DOWN';
    /** Nodes of the cluster with this one; 0 while distribution is off. */
    nodesInCluster: number;
  };
  /** Whether the node takes new rooms. */
  state: 'accepting' | 'draining' | 'terminating';
  /** What lives on this node alone: whoever may end it wants to know. */
  load: {
    rooms: number;
    connectedPeers: number;
    forwardedTracks: number;
  };
  config: {
    /** Configuration files with the hash of the bytes in force. */
    files: {
      name: string;
      sha256: string;
    }[];
    /** Settings of the files that a variable of the environment wins over. */
    shadowed: string[];
    /** Why the files as they are now were refused; null while they are in force. */
    error: string | null;
  };
};

/** One composed stream of the room, for any number of viewers. */
export type HlsOptions = {
  /** Low-latency HLS: viewers are about 1.5 s behind. */
  lowLatency?: boolean | null;
  /** Keep the stream as video on demand after its end. */
  persistent?: boolean | null;
  /** Seconds that viewers may go back; all where left out. */
  targetWindowDuration?: number | null;
  /** auto: everybody is in the picture. manual: origins, and those that are subscribed. */
  subscribeMode?: ('auto' | 'manual') | null;
  /** With subscribeMode manual: ids of peers and components that it receives from the beginning, there already or later. */
  origins?: string[] | null;
  /** Of the picture, in pixels; even. */
  width?: number | null;
  /** Of the picture, in pixels; even. */
  height?: number | null;
  /** Pictures a second. */
  framerate?: number | null;
  /** Seconds. */
  segmentDuration?: number | null;
  /** grid: all pictures. speaker: the loudest large. single: the loudest alone. */
  layout?: ('grid' | 'speaker' | 'single') | null;
  /** Write the name of peers below their pictures. */
  names?: boolean | null;
  s3?: S3Place | null;
};

/** Any JSON value. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** Kind of media of a track. */
export type Kind = 'audio' | 'video';

/** One way of the media of a peer; loss, round trip and jitter are those of its tracks. */
export type LinkFigures = {
  state: 'new' | 'connecting' | 'connected' | 'disconnected' | 'failed';
  /** relay: over this node's TURN; one of others cannot be told from its own protocol. null before ICE is through. */
  protocol: ('udp' | 'tcp' | 'relay') | null;
  /** Bit/s. */
  bitrate: number;
  /** Bit/s that are thought to fit; null where unknown. */
  available: number | null;
  /** Share of packets that were lost lately, 0 to 1; null where unknown. */
  loss: number | null;
  /** Milliseconds; null where unknown. */
  roundTrip: number | null;
  /** Milliseconds (RFC 3550, section 6.4.1); null where unknown. */
  jitter: number | null;
};

/** A node of the cluster. */
export type Node = {
  name: string;
  /** SVC_HOST of the node. */
  address: string;
  version: string;
  state: NodeState;
  /** null where the node did not answer in time. */
  load: {
    rooms: number;
    forwardedTracks: number;
    cpu: number;
    accepting: boolean;
  } | null;
};

export type NodeConfig = {
  data: ConfigValue[];
  /** Name of the node. */
  node: string;
  config: {
    /** Configuration files with the hash of the bytes in force. */
    files: {
      name: string;
      sha256: string;
    }[];
    /** Settings of the files that a variable of the environment wins over. */
    shadowed: string[];
    /** Why the files as they are now were refused; null while they are in force. */
    error: string | null;
  };
  /** What the node warned of when it started, one sentence each. */
  warnings: string[];
};

/** accepting: takes rooms; draining: takes none, can be called back; terminating: got its signal, is final. */
export type NodeState = 'accepting' | 'draining' | 'terminating';

/** A participant of a room. */
export type Peer = {
  id: string;
  type: 'webrtc';
  externalId: string | null;
  status: 'connected' | 'disconnected';
  metadata: Json | null;
  permissions: Permissions;
  tracks: Track[];
};

/** Options of a new peer. */
export type PeerOptions = {
  type: 'webrtc';
  options?: {
    enableSimulcast?: boolean;
    permissions?: PermissionsInput;
  };
  metadata?: Json | null;
  peerId?: string;
  /** The caller's own key: a request that repeats it gets what the first one made. */
  externalId?: string;
};

/** New permissions of a peer, in force at once; a permission that is left out stays as it is. */
export type PeerPatch = {
  permissions: {
    publish?: Kind[];
    subscribe?: boolean;
    data?: boolean;
  };
};

export type PeerStats = {
  id: string;
  status: 'connected' | 'disconnected';
  quality: Quality;
  /** From the peer; null where it has no transport to send over. */
  up: LinkFigures | null;
  /** To the peer; null where it has no transport to receive over. */
  down: LinkFigures | null;
  published: PublishedFigures[];
  received: ReceivedFigures[];
  /** Received tracks that were left out: those of a large room are not all measured. */
  receivedOmitted: number;
};

export type PeerToken = {
  /** What the peer authenticates with on the websocket. */
  token: string;
};

/** What a peer may do; enforced by the server on every request. */
export type Permissions = {
  /** Kinds of tracks that the peer may publish. */
  publish: Kind[];
  /** Whether the peer may receive tracks. */
  subscribe: boolean;
  /** Whether the peer may send data and have data channels (SCTP), those of others included. */
  data: boolean;
};

/** What a peer may do; enforced by the server on every request. */
export type PermissionsInput = {
  /** Kinds of tracks that the peer may publish. */
  publish?: Kind[];
  /** Whether the peer may receive tracks. */
  subscribe?: boolean;
  /** Whether the peer may send data and have data channels (SCTP), those of others included. */
  data?: boolean;
};

export type Probe = {
  data: {
    status: 'UP';
  };
};

/** A track as it comes in. */
export type PublishedFigures = {
  trackId: string;
  kind: Kind;
  /** Bit/s. */
  bitrate: number;
  /** Share of packets that were lost lately, 0 to 1; null where unknown. */
  loss: number | null;
  /** Milliseconds; null where unknown. */
  roundTrip: number | null;
  /** Milliseconds (RFC 3550, section 6.4.1); null where unknown. */
  jitter: number | null;
  /** What the publisher sends of it: with simulcast one for each layer that flows. */
  encodings: {
    rid: string | null;
    /** Bit/s. */
    bitrate: number;
    /** Share of packets that were lost lately, 0 to 1; null where unknown. */
    loss: number | null;
  }[];
};

/** Of the worse way of a peer. excellent: at most 1 % loss, 150 ms round trip and 30 ms jitter; good: at most 3 % loss, 300 ms round trip and 60 ms jitter; poor: at most 10 % loss, 600 ms round trip and 120 ms jitter; bad: worse than that; lost: media does not get through any more; unknown: nothing is measured yet. */
export type Quality = 'excellent' | 'good' | 'poor' | 'bad' | 'lost' | 'unknown';

/** A track as it goes out to one peer. */
export type ReceivedFigures = {
  trackId: string;
  kind: Kind;
  /** Bit/s. */
  bitrate: number;
  /** Share of packets that were lost lately, 0 to 1; null where unknown. */
  loss: number | null;
  /** Milliseconds; null where unknown. */
  roundTrip: number | null;
  /** Milliseconds (RFC 3550, section 6.4.1); null where unknown. */
  jitter: number | null;
  /** Layers that are sent now, 0 the smallest; null for tracks without layers and where none is sent. */
  layers: {
    spatialLayer: number;
    temporalLayer: number | null;
  } | null;
};

/** A track as it was recorded. Times are by the clock of the node. */
export type RecordedTrack = {
  trackId: string;
  /** Null where nothing could be recorded; `problem` says why. */
  file: string | null;
  type: Kind;
  encoding: string;
  clockRate?: number;
  channels?: number;
  width?: number;
  height?: number;
  origin:
    | {
        peerId: string;
      }
    | {
        componentId: string;
      };
  metadata: Json | null;
  /** Milliseconds from `startTime` of the recording to the begin of the file. */
  offset?: number;
  startTime?: string;
  /** Of the last frame. */
  endTime?: string;
  /** Milliseconds. */
  duration?: number;
  frames?: number;
  lostPackets?: number;
  problem?: string;
};

/** Every track as it is, in a file of its own. */
export type RecordingOptions = {
  /** auto: every track is recorded. manual: those of origins, and of those that are subscribed. */
  subscribeMode?: ('auto' | 'manual') | null;
  /** With subscribeMode manual: ids of peers and components that it receives from the beginning, there already or later. */
  origins?: string[] | null;
  /** Put before every key in S3; only with credentials. */
  pathPrefix?: string | null;
  credentials?: S3Place | null;
};

/** Which file holds which track, and when each began. */
export type RecordingReport = {
  id: string;
  /** hls: a stream that was kept; its playlists and segments are beside the report, and it has no tracks. */
  type: 'recording' | 'hls';
  roomId: string;
  node: string;
  /** recovered: it ended with its process, and its files were finished later. */
  state: 'running' | 'finished' | 'recovered';
  startTime: string;
  endTime: string | null;
  tracks: RecordedTrack[];
  rendered?: Rendered;
  /** Missing where it is not uploaded. */
  upload?: Upload;
};

/** A recording or a persistent stream. */
export type RecordingSummary = {
  id: string;
  /** hls: the stream of a persistent hls component. */
  type: 'recording' | 'hls';
  roomId: string;
  /** The node that made it. */
  node: string;
  state: 'running' | 'finished' | 'recovered';
  startTime: string;
  endTime: string | null;
  /** Missing where nothing is rendered. */
  rendered?: Rendered;
  /** Missing where it is not uploaded. */
  upload?: Upload;
};

export type Recordings = {
  /** Ids of recordings. */
  data: string[];
  /** With `details=true`: what they are and what has become of their uploads; the newest 1000. */
  recordings?: RecordingSummary[];
  /** Nodes that did not answer in time, and `s3` where that did not: their recordings are missing. */
  incomplete: string[];
};

/** What has become of rendering a recording. */
export type Render = {
  /** none: nobody asked, or it was cancelled. queued: one recording is rendered at a time on each node. done: the recording has the file rendered.mp4. */
  state: 'none' | 'queued' | 'running' | 'done' | 'failed';
  /** 0 while nobody knows how long the recording is. */
  progress: number;
  /** Why it failed, or what it waits for. */
  reason?: string;
  /** What of the recording is not in the file, a sentence each. */
  problems?: string[];
};

/** The picture that is rendered. */
export type RenderOptions = {
  width?: number;
  height?: number;
  framerate?: number;
  /** grid: all pictures. speaker: the loudest large. single: the loudest alone. */
  layout?: 'grid' | 'speaker' | 'single';
};

/** The MP4 that was rendered of a recording. */
export type Rendered = {
  /** Beside the other files of the recording. */
  file: string;
  /** When it was done. */
  time: string;
  /** Milliseconds. */
  duration: number;
  bytes: number;
  width: number;
  height: number;
  framerate: number;
  layout: string;
  /** What of the recording is not in it, a sentence each. */
  problems: string[];
};

/** A room with its peers and components. */
export type Room = {
  id: string;
  /** A ULID that no other room ever has. */
  incarnation: string;
  externalId: string | null;
  config: RoomConfig;
  components: Component[];
  peers: Peer[];
};

/** Configuration of a room in force; null where unset. */
export type RoomConfig = {
  roomId: string;
  maxPeers: number | null;
  videoCodec: VideoCodec | null;
  webhookUrl: string | null;
  /** Seconds without a connected peer after which the room ends; null = never. */
  peerlessPurgeTimeout: number | null;
  /** Seconds after the loss of its connection that a peer is removed; null = never. */
  peerDisconnectedTimeout: number | null;
};

/** A message of the application to peers. */
export type RoomData = {
  label: string;
  payload: Json;
  /** Ids of the peers that get it; all where left out. */
  to?: string[];
};

/** Something that happened in a room. */
export type RoomEvent = {
  /** Unique for the event; the same wherever and however often it is delivered. */
  id: string;
  type: EventType;
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

/** Options of a new room. Timeouts are in seconds; 0 or null means never; what is left out gets the default of the node. */
export type RoomOptions = {
  roomId?: string;
  /** The caller's own key: a request that repeats it gets what the first one made. */
  externalId?: string;
  maxPeers?: number | null;
  videoCodec?: VideoCodec | null;
  webhookUrl?: string | null;
  peerlessPurgeTimeout?: number | null;
  peerDisconnectedTimeout?: number | null;
};

export type RoomPage = {
  data: Room[];
  /** Nodes that did not answer in time: their rooms are missing. */
  incomplete: string[];
  /** There while more rooms follow. */
  cursor?: string;
};

/** What can change while a room lives. Timeouts are as those of a new room. A field that is left out stays as it is. */
export type RoomPatch = {
  maxPeers?: number | null;
  webhookUrl?: string | null;
  peerlessPurgeTimeout?: number | null;
  peerDisconnectedTimeout?: number | null;
};

/** How the media of a room goes. */
export type RoomStats = {
  roomId: string;
  /** When it was measured: once a second at most, however many ask. */
  time: string;
  peers: PeerStats[];
  components: {
    id: string;
    type: ComponentType;
    published: PublishedFigures[];
  }[];
};

/** An S3 storage with its keys; only where the node has none of its own. */
export type S3Place = {
  bucket: string;
  region?: string;
  /** URL, where it is not Amazon's. */
  endpoint?: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** Put before every key as it is given, with a slash between: no .. in it, no / at its beginning. */
  pathPrefix?: string;
};

/** A telephone: it registers, calls and is called, and is heard in the room. */
export type SipOptions = {
  registrarCredentials: {
    /** Of the registrar: [sip:|sips:]host[:port][;transport=udp|tcp|tls] */
    address: string;
    username: string;
    password: string;
  };
  /** Take calls that come in; else they are refused. */
  answerIncoming?: boolean | null;
  /** Seconds that a call rings. */
  ringTimeout?: number | null;
  /** The PEM of an own authority, for TLS. */
  caCertificate?: string | null;
};

/** A published track. */
export type Track = {
  id: string;
  type: Kind;
  metadata: Json | null;
  /** Codec of the track, e.g. opus, vp8, h264. */
  encoding: string | null;
  simulcast: boolean;
  /** Paused by its publisher. */
  paused: boolean;
  /** Muted by the server. */
  muted: boolean;
};

/** What has become of the upload to S3. */
export type Upload = {
  /** failed: given up; the files stay on their node. */
  state: 'pending' | 'done' | 'failed';
  /** When it was done or given up. */
  time?: string;
  /** Why the last try failed, one sentence. */
  problem?: string;
};

export type VideoCodec = 'h264' | 'vp8';

export type ViewerToken = {
  /** Query parameter `token` of everything under /hls of the room, and under /recording of its recordings. */
  token: string;
  /** The stream's playlist with the token, without scheme: host[:port][/path]. */
  url: string;
  expiresAt: string;
};

export type ViewerTokenOptions = {
  /** Seconds that the token is good for. */
  expiresIn?: number;
};

export type WebhookReceiver = {
  /** Scheme, host and port; what follows them may hold a key and is not shown. */
  receiver: string;
  /** Deliveries that wait. */
  pending: number;
  /** Rooms whose events wait. */
  rooms: number;
  /** Whether the last try got no answer at all. */
  failing: boolean;
  /** Why the last try of something that waits failed, or why nothing more is sent of a room. */
  problem?: string;
};

/** Which dead letters are sent again: those that match everything given; without anything, all. */
export type WebhookReplay = {
  roomId?: string;
  eventIds?: string[];
};

/** Webhooks of one node; counts are since its start. */
export type WebhookStatus = {
  delivered: number;
  /** Tries that failed and were or will be repeated. */
  retries: number;
  /** Deliveries that were given up. */
  dead: number;
  pending: number;
  pendingBytes: number;
  /** Writes to the spool that failed. */
  spoolErrors: number;
  /** Bytes of the spool on disk. */
  spoolBytes: number;
  receivers: WebhookReceiver[];
  /** Node that has it. */
  node: string;
};
