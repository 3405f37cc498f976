// Room events: the name of each event and its data.
import type { Closing } from './closing.ts';
import type { Outage } from './connection.ts';
import type { RemoteDataChannel } from './data-channel.ts';
import type { Json, Kind, Layers, Origin, Permissions, ServerStats, Transcript } from './generated/protocol.ts';
import type { LocalTrack, LocalTrackEnd } from './media/local-track.ts';
import type { MediaPath } from './media/media-path.ts';
import type { Attributes } from './own-profile.ts';
import type { RosterEvents } from './roster.ts';

export type RoomStats = { server: ServerStats; send: RTCStatsReport | undefined; recv: RTCStatsReport | undefined };

/**
 * new -> connecting -> (waiting -> connecting ->) joined -> (reconnecting -> joined)* -> closed. While reconnecting, media continues if the
 * network permits. When joined again, all state is restored. `waiting`: until this peer is admitted, also after its room was recreated.
 */
export type RoomState = 'new' | 'connecting' | 'waiting' | 'joined' | 'reconnecting' | 'closed';

export type RoomEvents = RosterEvents & {
  stateChanged: { state: RoomState; previous: RoomState };
  /** This peer waits until it is admitted. Until then it has no roster and no media. */
  waiting: null;
  /** This peer was admitted after a wait; it is joining. */
  admitted: null;
  /** The connection to the server was lost; repeated at each reconnect attempt. */
  reconnecting: Outage;
  /** The state of the media path changed, independent of the connection to the server. */
  mediaPathChanged: { path: MediaPath };
  /** A track is received: show it with attach(). Exactly one of `peerId` and `componentId` is set. */
  trackSubscribed: Origin & { track: MediaStreamTrack; trackId: string; kind: Kind };
  trackUnsubscribed: { trackId: string };
  /** A received track is another MediaStreamTrack, because this peer moved. Elements of attach() have it already. */
  trackReplaced: { trackId: string; track: MediaStreamTrack; previous: MediaStreamTrack };
  /** A track is not received, because this browser does not support its codec or the profile of it. */
  trackNotSupported: Origin & { trackId: string; encoding: string };
  /** The received layers of a simulcast track changed; null: none. */
  layersChanged: { trackId: string; layers: Layers | null };
  /** Loudness in dBov (-127 to 0) of the loudest peers, about three times a second; empty once no peer is audible. */
  audioLevels: { levels: readonly { peerId: string; level: number }[] };
  /** A data message; `from` is the sending peer, or null for the server. */
  data: { from: string | null; label: string; payload: Json };
  /** The agent `from` transcribed what the peer `transcript.speakerId` said. */
  transcriptAdded: { from: string; transcript: Transcript };
  /** Number of messages dropped because this client read too slowly. */
  dataDropped: { messages: number };
  /** Another peer opened a data channel. */
  dataChannel: { channel: RemoteDataChannel };
  /** A published track ended other than by unpublish(). */
  localTrackEnded: { track: LocalTrack; reason: LocalTrackEnd };
  /** The server muted or unmuted a published track, possibly found only when it was published again. */
  localTrackMuted: { track: LocalTrack; muted: boolean };
  permissionsUpdated: { permissions: Permissions };
  /** The backend changed metadata or attributes of this peer. */
  profileUpdated: { metadata: Json; attributes: Attributes };
  /** Latest time at which rooms of the node end; null: the drain was cancelled. */
  draining: { deadline: Date | null };
  /** The room is closed; no events follow. */
  closed: Closing;
};
