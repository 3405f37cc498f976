// Interfaces of the room domain to its collaborators: media (node/media), component types (node/components), peer connections
// (node/signaling).

import type { CloseCodeName } from '../../api/close-codes.ts';
import type { ComponentOptions, ComponentView } from '../../api/component/component.ts';
import type { Metadata } from '../../api/json.ts';
import type { LegView, VideoCodec } from '../../api/room.ts';
import type { AudioLevel, PeerEvent } from '../../api/socket/peer-events.ts';
import type { PeerMediaStats, PublishedTrackStats } from '../../api/stats.ts';
import type { Kind } from '../../api/track.ts';
import type { Log } from '../common/log.ts';
import type { CallEvent, PhoneCallRunner } from './phone-calls.ts';
import type { TrackOrigin } from './track.ts';

/** WebRTC parameters in the ORTC shapes of mediasoup-client; the domain passes them through without reading them. */
export type WireObject = Record<string, unknown>;
export type Direction = 'send' | 'recv';
/** `both`: one transport for both directions. */
export type TransportUse = Direction | 'both';

/** Layers of a simulcast or SVC track that a receiver gets; 0 is the smallest. */
export type Layers = { spatialLayer: number; temporalLayer?: number | undefined };

export interface MediaEngine {
  /** True if receivers can get media in their own numbers. */
  readonly receiverNumbers: boolean;
  /**
   * Assigns a room to the least loaded media worker. The router is created on first use.
   * @throws ServiceError `unavailable` if no worker runs.
   */
  openRoom(options: RoomMediaOptions): RoomMedia;
  /** Capacity and use, for /health, placement and metrics. */
  load(): { forwardedTracks: number };
}

export type RoomMediaOptions = {
  roomId: string;
  videoCodec: VideoCodec | null;
  /** The media of the room failed permanently; called at most once and never after close(). */
  onCrashed: (reason: string) => void;
  /** The active speaker, or null during silence. */
  onActiveSpeaker: (peerId: string | null) => void;
  /** The loudest peers, about three times a second while any is audible, and once without levels when none is. */
  onAudioLevels: (levels: AudioLevel[]) => void;
};

export interface RoomMedia {
  /** RTP capabilities for loading a mediasoup Device. The first call creates the router of the room; later calls share it. */
  rtpCapabilities(): Promise<WireObject>;
  /** @throws ServiceError `unavailable` while all media is interrupted */
  openPeer(peerId: string, listener: PeerMediaListener): PeerMedia;
  /**
   * Further media of a peer, at another media worker. `from`: the media that it has; `worker`: index of the worker; the one that forwards
   * the fewest tracks if undefined.
   * @throws ServiceError `conflict` if the room can use no other worker
   */
  openPath(peerId: string, listener: PeerMediaListener, place: { from: PeerMedia; worker: number | undefined }): PeerMedia;
  /** For tracks that one component publishes. Allocates nothing until it is connected. @throws ServiceError as openPeer() */
  openInput(listener?: ComponentMediaListener): RtpIngress;
  /** For tracks that one component receives. Allocates nothing until it is connected. @throws ServiceError as openPeer() */
  openOutput(listener?: ComponentMediaListener): RtpEgress;
  /** The media workers that the room uses, the first one first. */
  legs(): LegView[];
  /** Ends all media of the room. Idempotent. */
  close(): void;
}

export type PeerMediaListener = {
  layersChanged: (trackId: string, layers: Layers | null) => void;
  /** The largest spatial layer that receivers of a published video need; undefined: none. First when it is published, then if it changes. */
  layerNeeded?: ((trackId: string, layer: number | undefined) => void) | undefined;
  /** A connected transport failed permanently because of its packets. */
  failed: (reason: string) => void;
  /** Its transports and tracks were lost through no fault of the peer; new ones can be created. Not called after close(). */
  lost?: (() => void) | undefined;
  /** For peers whose connection has no socket: `lost` may become `connected` again, `closed` is final. */
  transportChanged?: ((state: TransportState) => void) | undefined;
  /** The first frame of a track arrived from the peer or was sent to it; only for a peer that is traced. */
  firstFrame?: ((direction: Direction, kind: Kind) => void) | undefined;
};

/** Losses of the media of a component, whose addresses stay the same. */
export type ComponentMediaListener = {
  /** What it published is interrupted, what it received has ended. It can subscribe again at once. */
  interrupted: () => void;
  /** What it published continues. */
  restored: () => void;
  /** Failed permanently. */
  failed: (error: unknown) => void;
};

/** `connected`: encrypted; `lost`: without the consent of the client (RFC 7675); `closed`: by the client or after a failed handshake. */
export type TransportState = 'connected' | 'lost' | 'closed';

/**
 * `backupOf`: the track that it is in another codec, for receivers that cannot decode the first one. It has its own id.
 * `generation`: as of the track. A later one of a track takes over from an earlier one, which may exist until then; default 0.
 */
export type PublishTrackOptions = {
  transportId: string;
  trackId: string;
  kind: Kind;
  rtpParameters: WireObject;
  paused: boolean;
  backupOf?: string;
  generation?: number;
};
export type PublishDataOptions = {
  transportId: string;
  dataTrackId: string;
  sctpStreamParameters: WireObject;
  label: string;
  protocol: string;
};
/** Numbers that a receiver expects in RTP, each with the one that the room has instead. */
export type ReceiverNumbers = {
  payloadTypes: readonly NumberPair[];
  /** Ids of header extensions (RFC 8285), 1 to 14. */
  extensions: readonly NumberPair[];
  /** Id of the extensions that the receiver has not negotiated; it ignores them. */
  otherExtension: number;
};
export type NumberPair = { room: number; receiver: number };
/** What a receiver gets in a section that it offered. `rtpCapabilities`: of the room, as far as the receiver has them. `mid`: up to 8 characters. */
export type SectionStream = {
  mid: string;
  ssrc: number;
  rtxSsrc: number;
  cname: string;
  rtpCapabilities: WireObject;
  numbers: ReceiverNumbers;
};
/** Sections of a receiver that offers them itself. */
export interface ReceiverSections {
  /** A section for a track, until release() is called. @throws ServiceError if the receiver ends before it offers one */
  take(kind: Kind): Promise<{ stream: SectionStream; release: () => void }>;
}
/** What a receiver with a fixed number of streams gets in one of them. */
export type FixedStreamOptions = SectionStream & { kind: Kind };

/** One stream to a receiver that cannot get more of them. It continues with the same SSRC when its track changes. */
export interface FixedStream {
  /** True if the receiver can decode the track. */
  supports(trackId: string): boolean;
  /** The track of the latest show() that still exists. */
  readonly trackId: string | undefined;
  /** Changes to another track, at its next key frame, which is requested; undefined: the stream stops. Never fails. */
  show(trackId: string | undefined): void;
}

export type Subscription = { transportId: string; kind: Kind; rtpParameters: WireObject; paused: boolean };
export type DataSubscription = { transportId: string; sctpStreamParameters: WireObject; label: string; protocol: string };

/**
 * Media of one peer. Unknown ids and invalid parameters are ServiceErrors (`not_found`, `invalid_field`). All methods fail after close().
 */
export interface PeerMedia {
  /** mediasoup-client's TransportOptions, with SCTP on request. At most one transport per direction: a second closes the first. */
  createTransport(use: TransportUse, options: { sctp: boolean }): Promise<WireObject>;
  /** Tracks are received in these sections, in the numbers of the receiver. Requires a media worker that supports it. */
  receiveIn(sections: ReceiverSections): void;
  connectTransport(transportId: string, dtlsParameters: WireObject): Promise<void>;
  /** New ICE parameters (RFC 8445, section 9) of the transport. */
  restartIce(transportId: string): Promise<WireObject>;
  publish(options: PublishTrackOptions): Promise<{ encoding: string; simulcast: boolean }>;
  unpublish(trackId: string): void;
  setPaused(trackId: string, paused: boolean): Promise<void>;
  /**
   * Receives a track of another peer, paused until setSubscriptionPaused(). Undefined if the receiver cannot decode it. `generation`: as of
   * the track.
   */
  subscribe(trackId: string, rtpCapabilities: WireObject, generation?: number): Promise<Subscription | undefined>;
  setSubscriptionPaused(trackId: string, paused: boolean): Promise<void>;
  /** `former`: only earlier generations of a track that is received in a later one too. */
  unsubscribe(trackId: string, which?: 'all' | 'former'): void;
  setPreferredLayers(trackId: string, layers: Layers): Promise<void>;
  /**
   * A stream to the receiver in its own numbers; it ends with the receive transport, which must exist.
   * @throws ServiceError `offer_rejected` if the media worker does not support it
   */
  openFixedStream(options: FixedStreamOptions): Promise<FixedStream>;
  /** True if a fixed stream continues with the successor of a track that it shows, but not yet. */
  awaitsSuccessor?(trackId: string): boolean;
  /** Bandwidth priority, 1 (lowest) to 255. */
  setPriority(trackId: string, priority: number): Promise<void>;
  readonly data: PeerDataMedia;
  hasTransport(direction: Direction): boolean;
  /** Current RTP statistics per published and received track. */
  stats(): Promise<{
    published: Record<string, WireObject[]>;
    subscribed: Record<string, WireObject[]>;
    transports: Record<Direction, WireObject | null>;
  }>;
  /** Current stats, for at most `most` received tracks. Tracks that end meanwhile are omitted. */
  mediaStats(maxReceived: number): Promise<PeerMediaStats>;
  /** Ends all media of the peer. Idempotent. */
  close(): void;
}

/** `reliable`: in order and retransmitted; otherwise neither. */
export type MessageChannel = { label: string; reliable: boolean };
export type MessageChannelListener = { message: (label: string, message: Buffer) => void };
/** Data channels that the node itself reads and writes. */
export interface MessageChannels {
  /** @returns false if the message was dropped: the channel is not open, or the client reads too slowly */
  send(label: string, message: Buffer): boolean;
}

/** Data channels of one peer. All methods but unpublish and unsubscribe fail after close() of its PeerMedia. */
export interface PeerDataMedia {
  /** `reliable`: every message arrives. */
  publish(options: PublishDataOptions): Promise<{ reliable: boolean }>;
  unpublish(dataTrackId: string): void;
  /**
   * Resolves when this number of messages has arrived from the publisher, and those that were forwarded to other media workers have arrived
   * there; or if no more of them arrive. Never fails.
   */
  arrived(dataTrackId: string, messages: number): Promise<void>;
  /** `paused`: sends nothing until setPaused(). */
  subscribe(dataTrackId: string, options?: { paused: boolean }): Promise<DataSubscription>;
  setPaused(dataTrackId: string, paused: boolean): Promise<void>;
  /** Number of messages sent to the receiver; undefined if that has ended. */
  sent(dataTrackId: string): Promise<number | undefined>;
  unsubscribe(dataTrackId: string): void;
  /** True if the receive transport of the peer has SCTP. */
  readonly canReceive: boolean;
  /**
   * Reads channels that the client opens, and opens `channels` to it, or sends in those of the client if there is one transport. Once, after
   * the transports exist; they end with the peer.
   */
  openMessageChannels(channels: readonly MessageChannel[], listener: MessageChannelListener): Promise<MessageChannels>;
}

/** Source or destination address of RTP (RFC 3550), with RTCP on the same port (RFC 5761). */
export type RtpAddress = { ip: string; port: number };

/** RTP ingress: media of one component into a room, as plain RTP over loopback. All methods but unpublish and close fail after close(). */
export interface RtpIngress {
  /** Accepts RTP from this address only. Resolves with the address to send to. Call it once, before publish(). */
  connect(from: RtpAddress): Promise<RtpAddress>;
  /** @throws ServiceError `invalid_field` if the room does not support the codec */
  publish(options: { trackId: string; kind: Kind; rtpParameters: WireObject }): Promise<{ encoding: string; simulcast: boolean }>;
  unpublish(trackId: string): void;
  setPaused(trackId: string, paused: boolean): Promise<void>;
  /** Current stats of its tracks. */
  trackStats(): Promise<PublishedTrackStats[]>;
  /** Idempotent. */
  close(): void;
}

/** RTP parameters of one track sent to a component. */
export type EgressTrack = { kind: Kind; ssrc: number; payloadType: number; clockRate: number; channels: number };

/** RTP egress: media of a room to one component, as plain RTP over loopback. All methods but unsubscribe and close fail after close(). */
export interface RtpEgress {
  /** Sends RTP to this address. Resolves with the address that accepts RTCP. Call it once, before subscribe(). */
  connect(to: RtpAddress): Promise<RtpAddress>;
  /**
   * Subscribes to a track, paused until resume() so that the component can set up its receiver first.
   * @throws ServiceError `track_not_found`
   */
  subscribe(trackId: string): Promise<EgressTrack>;
  /** Starts forwarding; video starts with a key frame. */
  resume(trackId: string): Promise<void>;
  unsubscribe(trackId: string): void;
  /** Idempotent. */
  close(): void;
}

/** Ids of what a component composes of its room, in the media of the room: no tracks of the room. Without H.264 there is no video. */
export type ProgrammeTracks = { audio: string; video: string | undefined };

/** A track of a room as a receiving component sees it. `encoding`: its codec, for example opus. */
export type SubscribableTrack = { id: string; origin: TrackOrigin; kind: Kind; encoding: string; metadata: Metadata | null };

/** Speech as text. `speaker`: display name; null if the peer has none. */
export type Caption = { text: string; speaker: string | null };

/** A running component of one room. It never calls its host after close(). */
export interface ComponentRunner {
  /** Resolves when the component runs and its tracks are published. @throws ServiceError if it cannot run */
  start(): Promise<void>;
  /** Sets the tracks to receive, after start() and on every change. Only for types that receive. */
  receive?(tracks: readonly SubscribableTrack[]): void;
  /** What a speaker said, after start(). Only for types that show or store captions. */
  addCaption?(caption: Caption): void;
  /** Only for types that make phone calls. */
  readonly calls?: PhoneCallRunner;
  /** Starts or stops sending the programme to players. Only for types that compose. */
  sendProgramme?(wanted: boolean): void;
  /** Number of live parts that a drain waits for, e.g. phone calls; none if omitted. */
  readonly busy?: number;
  /** Ends the component. Idempotent; resolves when all its resources are released. */
  close(): Promise<void>;
}

/** Identity of a room for objects that outlive it. */
export type RoomIdentity = {
  roomId: string;
  incarnation: string;
  /** Current webhook URL of the room. */
  webhookUrl: () => string | null;
};

/** Operations that a component may use in its room. */
export type ComponentHost = {
  log: Log;
  /** Identifies the component in events after its room has ended. */
  componentId: string;
  room: RoomIdentity;
  /** Accepts RTP from this address; resolves with the address to send to. */
  connect: (from: RtpAddress) => Promise<RtpAddress>;
  /** Publishes a track whose RTP arrives from the connected address; resolves with its id. */
  publish: (track: { kind: Kind; rtpParameters: WireObject; metadata: Metadata | null }) => Promise<string>;
  /** Removes a track of publish(). Unknown ids are ignored. */
  unpublish: (trackId: string) => void;
  /** Opens an egress from the room to this component; it closes with the component at the latest. */
  openOutput: () => RtpEgress;
  /** Opens an ingress for the programme, and closes the one before; it closes with the component at the latest. */
  openProgramme: () => RtpIngress;
  /** The programme is sent with these tracks, or not any more. */
  programmeChanged: (tracks: ProgrammeTracks | undefined) => void;
  /** Display name of a peer: `name` of its metadata. */
  nameOf: (peerId: string) => string | null;
  /** Updates public properties of the component. */
  showProperties: (change: ComponentView['properties']) => void;
  /** The stream has become playable. */
  playable: () => void;
  /** An event of one of its calls; also allowed during close(), for calls that end with it. */
  callEvent: (event: CallEvent) => void;
  /** The component continues without this track of the room. `reason` is part of the event. */
  trackDropped: (trackId: string, reason: string) => void;
  /** The component finished and is removed. */
  finished: () => void;
  /** The component failed permanently and is removed. `reason` is part of the event. */
  crashed: (reason: string) => void;
};

export type SubscribeMode = 'auto' | 'manual';

/** A component with validated options, ready to run. */
export type ComponentSpec = {
  type: ComponentView['type'];
  /** Public properties: the options of its creation, without secrets. */
  properties: ComponentView['properties'];
  /** Tracks to receive: all (auto), or only those of named origins (manual). Omitted: none. */
  subscribeMode?: SubscribeMode;
  /** Media kinds that it can use; all if omitted. */
  receivedKinds?: readonly Kind[];
  /** Initial origins in manual mode. */
  origins?: readonly string[];
  open: (host: ComponentHost) => ComponentRunner;
};

/** The component types of a node. */
export interface ComponentFactory {
  /** @throws ServiceError if the type is not enabled on this node, or its options are invalid */
  createSpec(options: ComponentOptions, room: { roomId: string; videoCodec: VideoCodec | null }): Promise<ComponentSpec>;
}

/** Why the domain closes a connection. `mediaLost`: the peer can join again; `roomMoved`: the room ends with its node and may be recreated on another one. */
export type CloseReason = Extract<
  CloseCodeName,
  'peerRemoved' | 'peerDenied' | 'roomStopped' | 'internalError' | 'takenOver' | 'roomMoved' | 'mediaLost'
>;

/** A peer connection as the domain sees it: events are sent in order; close() is final. */
export interface PeerConnection {
  send(event: PeerEvent): void;
  /** The idle timeout of the socket (`peerDisconnectedTimeout` or default) changed. */
  pongTimeoutChanged(): void;
  /** True: the node itself reads and writes its data channels, so that it has SCTP, but no data tracks. */
  readonly dataInNode?: boolean;
  /** A message of another peer whose connection has the same protocol. */
  relayed?: ((message: object) => void) | undefined;
  /** Another peer receives a track of this one; also called for each further one. */
  trackReceived?: ((trackId: string) => void) | undefined;
  /** As PeerMediaListener has it. */
  layerNeeded?: PeerMediaListener['layerNeeded'];
  /** Another peer changed which peers may receive its tracks. */
  receiversChanged?: ((publisherId: string) => void) | undefined;
  /** An interrupted track of the room continues, or a track has a successor, or is published in another codec. */
  trackRestored?: (() => void) | undefined;
  /** The media transport of the peer changed. Only for connections without a socket. */
  transportChanged?: ((state: TransportState) => void) | undefined;
  close(reason: CloseReason): void;
}
