// What the domain needs of others: media (node/media), kinds of components (node/components) and the connection of a peer (node/signaling).
import type { Log } from '../common/log.ts';
import type { CallEvent, PhoneCallRunner } from './phone-calls.ts';
import type { PeerEvent } from './shapes/peer-events.ts';
import type { ComponentOptions } from './shapes/room-config.ts';
import type { PeerMediaStats, PublishedTrackStats } from './shapes/stats.ts';
import type { ComponentView, Kind, Metadata, VideoCodec } from './shapes/views.ts';
import type { TrackOrigin } from './track.ts';

/** Parameters of WebRTC (W3C ORTC shapes as mediasoup-client makes and takes them); the domain hands them on unread. */
export type WireObject = Record<string, unknown>;
export type Direction = 'send' | 'recv';

/** Layers that a receiver gets of a simulcast or SVC track, 0 the smallest. */
export type Layers = { spatialLayer: number; temporalLayer?: number | undefined };

export interface MediaEngine {
  /**
   * Takes a place for a room on the least loaded worker. What costs (a router) is made when it is first needed.
   * @throws ServiceError `unavailable` where no worker runs.
   */
  openRoom(options: RoomMediaOptions): RoomMedia;
  /** Capacity and use, for /health, placement and metrics. */
  load(): { forwardedTracks: number };
}

export type RoomMediaOptions = {
  roomId: string;
  videoCodec: VideoCodec | null;
  /** Media of the room is lost for good; called at most once and never after close(). */
  onCrashed: (reason: string) => void;
  /** The peer who speaks, or null when nobody does. */
  onActiveSpeaker: (peerId: string | null) => void;
};

export interface RoomMedia {
  /** What peers need to load their device. The first call makes the room's router; later ones share it. */
  rtpCapabilities(): Promise<WireObject>;
  openPeer(peerId: string, listener: PeerMediaListener): PeerMedia;
  /** For what one component publishes. It costs nothing until it is connected. */
  openInput(): RtpIngress;
  /** For what one component receives. It costs nothing until it is connected. */
  openOutput(): RtpEgress;
  /** Ends all media of the room. Idempotent. */
  close(): void;
}

export type PeerMediaListener = {
  layersChanged: (trackId: string, layers: Layers | null) => void;
  /** A transport that was connected is over for good: its packets broke it. */
  failed: (reason: string) => void;
};

export type PublishTrackOptions = { transportId: string; trackId: string; kind: Kind; rtpParameters: WireObject; paused: boolean };
export type PublishDataOptions = {
  transportId: string;
  dataTrackId: string;
  sctpStreamParameters: WireObject;
  label: string;
  protocol: string;
};
export type Subscription = { transportId: string; kind: Kind; rtpParameters: WireObject; paused: boolean };
export type DataSubscription = { transportId: string; sctpStreamParameters: WireObject; label: string; protocol: string };

/** Media of one peer of one room. Unknown ids and bad parameters are ServiceErrors (`not_found`, `invalid_field`). All fail after close(). */
export interface PeerMedia {
  /** mediasoup-client's TransportOptions, with SCTP where it is asked for; at most one per direction: a second closes the first. */
  createTransport(direction: Direction, options: { sctp: boolean }): Promise<WireObject>;
  connectTransport(transportId: string, dtlsParameters: WireObject): Promise<void>;
  /** New ICE parameters (RFC 8445, section 9) of the transport. */
  restartIce(transportId: string): Promise<WireObject>;
  publish(options: PublishTrackOptions): Promise<{ encoding: string; simulcast: boolean }>;
  unpublish(trackId: string): void;
  setPaused(trackId: string, paused: boolean): Promise<void>;
  /** Receives a track of another peer of the room, paused until resumeSubscription. Undefined where the receiver cannot decode it. */
  subscribe(trackId: string, rtpCapabilities: WireObject): Promise<Subscription | undefined>;
  resumeSubscription(trackId: string): Promise<void>;
  unsubscribe(trackId: string): void;
  setPreferredLayers(trackId: string, layers: Layers): Promise<void>;
  /** 1 (lowest) to 255: who gets bandwidth first. */
  setPriority(trackId: string, priority: number): Promise<void>;
  publishData(options: PublishDataOptions): Promise<void>;
  unpublishData(dataTrackId: string): void;
  subscribeData(dataTrackId: string): Promise<DataSubscription>;
  unsubscribeData(dataTrackId: string): void;
  hasTransport(direction: Direction): boolean;
  /** Whether its transport to receive over has SCTP. */
  readonly receivesData: boolean;
  /** Per published and received track: what RTP statistics say now. */
  stats(): Promise<{
    published: Record<string, WireObject[]>;
    subscribed: Record<string, WireObject[]>;
    transports: Record<Direction, WireObject | null>;
  }>;
  /** What is measured of it now; of received tracks no more than `most`. What ends meanwhile is left out. */
  figures(most: number): Promise<PeerMediaStats>;
  /** Ends all media of the peer. Idempotent. */
  close(): void;
}

/** An address that RTP (RFC 3550) is sent to or comes from, with RTCP on the same port (RFC 5761). */
export type RtpAddress = { ip: string; port: number };

/** Media of one component that comes into a room as plain RTP from this machine. All but unpublish and close fail after close(). */
export interface RtpIngress {
  /** Takes RTP from this address alone. Resolves with the address to send to. To be called once, before publish. */
  connect(from: RtpAddress): Promise<RtpAddress>;
  /** @throws ServiceError `invalid_field` where the room takes no such codec */
  publish(options: { trackId: string; kind: Kind; rtpParameters: WireObject }): Promise<{ encoding: string; simulcast: boolean }>;
  unpublish(trackId: string): void;
  setPaused(trackId: string, paused: boolean): Promise<void>;
  /** What is measured of its tracks now. */
  figures(): Promise<PublishedTrackStats[]>;
  /** Idempotent. */
  close(): void;
}

/** RTP of one track as it leaves a room. */
export type EgressTrack = { kind: Kind; ssrc: number; payloadType: number; clockRate: number; channels: number };

/** Media of a room that goes to one component as plain RTP on this machine. All but drop and close fail after close(). */
export interface RtpEgress {
  /** Sends RTP to this address. Resolves with the address that RTCP is taken at. To be called once, before subscribe. */
  connect(to: RtpAddress): Promise<RtpAddress>;
  /** Sends a track, paused until resume(): whoever receives it gets to know it first. @throws ServiceError `track_not_found` */
  subscribe(trackId: string): Promise<EgressTrack>;
  /** Lets it flow, with a key frame of video first. */
  resume(trackId: string): Promise<void>;
  unsubscribe(trackId: string): void;
  /** Idempotent. */
  close(): void;
}

/** A track of a room as a component sees it that receives. `encoding`: its codec, e.g. opus. */
export type SubscribableTrack = { id: string; origin: TrackOrigin; kind: Kind; encoding: string; metadata: Metadata | null };

/** A kind of component at work in one room. It calls its host back until close(), never later. */
export interface ComponentRunner {
  /** Resolves when it runs and its tracks are published. @throws ServiceError where it cannot run */
  start(): Promise<void>;
  /** All tracks that it is to receive from here, after start() and whenever they change. Only of kinds that receive. */
  receive?(tracks: readonly SubscribableTrack[]): void;
  /** Only of kinds that make phone calls. */
  readonly calls?: PhoneCallRunner;
  /** Ends it. Idempotent; resolves when nothing of it is left. */
  close(): Promise<void>;
}

/** A room as what outlives it knows it. */
export type RoomIdentity = {
  roomId: string;
  incarnation: string;
  /** The room's own receiver of webhooks, as configured now. */
  webhookUrl: () => string | null;
};

/** What a component may do in its room. */
export type ComponentHost = {
  log: Log;
  /** What is told of it after its room has ended names these. */
  componentId: string;
  room: RoomIdentity;
  /** Takes RTP from this address; resolves with the address to send to. */
  connect: (from: RtpAddress) => Promise<RtpAddress>;
  /** Publishes a track whose RTP comes from the connected address; resolves with its id. */
  publish: (track: { kind: Kind; rtpParameters: WireObject; metadata: Metadata | null }) => Promise<string>;
  /** Ends a track that publish() gave; nothing where it is gone already. */
  unpublish: (trackId: string) => void;
  /** A new way for tracks of the room to this component; it ends with the component at the latest. */
  openOutput: () => RtpEgress;
  /** The name that a peer of the room has in its metadata (`name`). */
  nameOf: (peerId: string) => string | null;
  /** Changes some of its properties as callers see them. */
  showProperties: (change: ComponentView['properties']) => void;
  /** Its stream can be played from here. */
  playable: () => void;
  /** Something happened to one of its phone calls; may still be told while close() is called, for the calls that end with it. */
  callEvent: (event: CallEvent) => void;
  /** It goes on without this track of the room. `reason` is told in the event. */
  trackDropped: (trackId: string, reason: string) => void;
  /** It came to its end by itself: it is removed. */
  finished: () => void;
  /** It failed for good: it is removed. `reason` is told in the event. */
  crashed: (reason: string) => void;
};

export type SubscribeMode = 'auto' | 'manual';

/** A component whose options hold, ready to run. */
export type ComponentSpec = {
  type: ComponentView['type'];
  /** As callers see them: the options it was created with, never a secret. */
  properties: ComponentView['properties'];
  /** Which tracks it receives: all (auto), or those of origins that are named. Left out: none. */
  subscribeMode?: SubscribeMode;
  /** Those that one in manual mode receives from the beginning. */
  origins?: readonly string[];
  open: (host: ComponentHost) => ComponentRunner;
};

/** The kinds of components of a node. */
export interface ComponentFactory {
  /** @throws ServiceError for a kind that this node does not run, for options and for what they name */
  createSpec(options: ComponentOptions, room: { roomId: string; videoCodec: VideoCodec | null }): Promise<ComponentSpec>;
}

/** Why a connection is closed by the domain. */
export const closeReasons = {
  peerRemoved: 'Peer removed',
  roomStopped: 'Room stopped',
  internalError: 'Internal server error',
  takenOver: 'taken over',
  /** The room ends with its node here, and may be made again at another one. */
  roomClosedByShutdown: 'room lost',
} as const;
export type CloseReason = (typeof closeReasons)[keyof typeof closeReasons];

/** The connection of a peer as the domain sees it: events go out in order; close() is final. */
export interface PeerConnection {
  send(event: PeerEvent): void;
  /** How long it may be silent (Peer.patience) is another time now. */
  pongTimeoutChanged(): void;
  close(reason: CloseReason): void;
}
