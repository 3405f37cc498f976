// Peer WebSocket protocol as this library reads and writes it; a contract test compares it with the server's schemas.
import type { ComponentType } from './generated/component-type.ts';

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type Kind = 'audio' | 'video';
/** W3C and mediasoup objects, passed through unchanged. */
export type WireObject = Record<string, unknown>;
type Empty = Record<string, never>;

export type Permissions = { publish: Kind[]; subscribe: boolean; data: boolean };

export type TrackView = {
  id: string;
  type: Kind;
  metadata: Json;
  /** Codec, e.g. `opus`, `vp8`; null while unknown. */
  encoding: string | null;
  simulcast: boolean;
  /** Paused by its publisher. */
  paused: boolean;
  /** Muted by the server. */
  muted: boolean;
};
export type PeerView = { id: string; metadata: Json; tracks: TrackView[] };
export type ComponentView = {
  id: string;
  type: ComponentType;
  state: 'starting' | 'running';
  tracks: TrackView[];
};

/** Data of each request and its response. */
export type Requests = {
  authenticate: { token: string; resume?: string; received?: number; takeover?: boolean; incarnation?: string };
  checkConnection: { token: string };
  join: { rtpCapabilities: WireObject; metadata?: Json };
  createTransport: { direction: 'send' | 'recv'; sctp?: boolean };
  connectTransport: { transportId: string; dtlsParameters: WireObject };
  restartIce: { transportId: string };
  publish: { transportId: string; kind: Kind; rtpParameters: WireObject; metadata?: Json; key?: string; paused?: boolean };
  unpublish: { trackId: string };
  pauseTrack: { trackId: string };
  resumeTrack: { trackId: string };
  trackReady: { trackId: string };
  tracksReady: { trackIds: string[] };
  subscribe: { trackId: string };
  unsubscribe: { trackId: string };
  setSubscription: { mode: 'auto' | 'manual' };
  setPreferredLayers: { trackId: string; spatialLayer: number; temporalLayer?: number };
  setPriority: { trackId: string; priority: number };
  setPeerMetadata: { metadata: Json };
  setTrackMetadata: { trackId: string; metadata: Json };
  publishData: { transportId: string; sctpStreamParameters: WireObject; label: string; protocol?: string };
  unpublishData: { dataTrackId: string };
  sendData: { label: string; payload: Json; to?: string[] };
  ping: { received?: number };
  getStats: Empty;
  leave: Empty;
};

export type JoinResponse = {
  sessionId: string;
  resumed: boolean;
  /** Highest request id of this session that the server has received. */
  lastRequest: number;
  peerId: string;
  roomId: string;
  /** Incarnation of the room; a recreated room with the same id has another one. */
  incarnation: string;
  permissions: Permissions;
  rtpCapabilities: WireObject;
  iceServers: WireObject[];
  peers: PeerView[];
  components: ComponentView[];
  /** Id of the active speaker; null: none. */
  activeSpeaker: string | null;
  /** Address of the node that owns the room: host[:port][/path]. */
  svcAddress: string;
  /** Seconds within which a lost socket can be resumed. */
  resumeWindow: number;
};

export type ServerStats = {
  published: Record<string, WireObject[]>;
  subscribed: Record<string, WireObject[]>;
  transports: { send: WireObject | null; recv: WireObject | null };
};

type OwnAnswers = {
  authenticate: JoinResponse;
  checkConnection: { roomId: string; iceServers: WireObject[]; transport: WireObject };
  createTransport: WireObject;
  restartIce: { iceParameters: WireObject };
  publish: { trackId: string; muted: boolean };
  publishData: { dataTrackId: string };
  getStats: ServerStats;
};
export type Method = keyof Requests;
export type Responses = { [M in Method]: M extends keyof OwnAnswers ? OwnAnswers[M] : Empty };

/** Exactly one of the two is the publisher of a track. */
export type Origin = { peerId?: string; componentId?: string };
export type Layers = { spatialLayer: number; temporalLayer?: number };
type By = { trackId: string; by: 'publisher' | 'server' };

/** Data of each event. */
export type EventData = {
  peerJoined: { peer: PeerView };
  peerLeft: { peerId: string };
  peerMetadataUpdated: { peerId: string; metadata: Json };
  componentAdded: { component: ComponentView };
  componentUpdated: { componentId: string; state: ComponentView['state'] };
  componentRemoved: { componentId: string };
  trackAdded: Origin & { track: TrackView };
  trackRemoved: Origin & { trackId: string };
  trackMetadataUpdated: { trackId: string; metadata: Json };
  trackPaused: By;
  trackResumed: By;
  trackSubscribed: Origin & { trackId: string; transportId: string; kind: Kind; rtpParameters: WireObject; paused: boolean } & {
    /** Number of further events of the same batch that follow directly. */
    following: number;
  };
  trackUnsubscribed: { trackId: string };
  dataTrackSubscribed: {
    peerId: string;
    dataTrackId: string;
    transportId: string;
    sctpStreamParameters: WireObject;
    label: string;
    protocol: string;
  };
  dataTrackUnsubscribed: { dataTrackId: string };
  layersChanged: { trackId: string; layers: Layers | null };
  activeSpeaker: { peerId: string | null };
  /** `from` is null for the server. */
  data: { from: string | null; label: string; payload: Json };
  /** Number of messages dropped because this client read too slowly. */
  dataDropped: { messages: number };
  iceServersUpdated: { iceServers: WireObject[] };
  permissionsUpdated: { permissions: Permissions };
  tokenUpdated: { token: string };
  /** Latest time at which rooms of the node end (ISO 8601); null: the drain was cancelled. */
  draining: { deadline: string | null };
};
export type ServerEvent = { [Name in keyof EventData]: { event: Name; data: EventData[Name] } }[keyof EventData];

export type RequestFrame = { id: number; method: Method; data: WireObject };
export type ResponseFrame =
  | { id: number; ok: true; data: WireObject }
  | { id: number; ok: false; error: { code: string; message: string } };
export type ServerFrame = ResponseFrame | ServerEvent;

/** Maximum message size of the server, in bytes. */
export const maxMessageBytes = 256 * 1024;
export const socketPath = '/socket/peer/websocket';
