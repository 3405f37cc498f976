// What a room tells its application: the name of each event and what comes with it.
import type { Closing } from './closing.ts';
import type { Outage } from './connection.ts';
import type { RemoteDataChannel } from './data-channel.ts';
import type { LocalTrack, LocalTrackEnd } from './media/local-track.ts';
import type { MediaPath } from './media/media-path.ts';
import type { Json, Kind, Layers, Origin, Permissions } from './protocol.ts';
import type { RosterEvents } from './roster.ts';

/**
 * new -> connecting -> joined -> (reconnecting -> joined)* -> closed. While reconnecting, media goes on as long as the
 * network lets it; when the state is joined again, everything is as it was.
 */
export type RoomState = 'new' | 'connecting' | 'joined' | 'reconnecting' | 'closed';

export type RoomEvents = RosterEvents & {
  stateChanged: { state: RoomState; previous: RoomState };
  /** The connection to the server is lost, and each attempt to have it again. */
  reconnecting: Outage;
  /** Whether sound and pictures have a way, whatever the connection to the server does. */
  mediaPathChanged: { path: MediaPath };
  /** Media of a track arrives: show it with attach(). `peerId` or `componentId` says whose it is. */
  trackSubscribed: Origin & { track: MediaStreamTrack; trackId: string; kind: Kind };
  trackUnsubscribed: { trackId: string };
  /** The layers of a simulcast track that arrive now; null: none. */
  layersChanged: { trackId: string; layers: Layers | null };
  /** Who speaks; null: nobody. */
  activeSpeaker: { peerId: string | null };
  /** A message of sendData(); `from` is the peer, or null for the server. */
  data: { from: string | null; label: string; payload: Json };
  /** So many messages were lost, since this client did not read them in time. */
  dataDropped: { messages: number };
  /** Another peer opened a data channel. */
  dataChannel: { channel: RemoteDataChannel };
  /** A published track ended otherwise than by unpublish(). */
  localTrackEnded: { track: LocalTrack; reason: LocalTrackEnd };
  /** The server muted or unmuted a published track; a new session that publishes it again may find that it did meanwhile. */
  localTrackMuted: { track: LocalTrack; muted: boolean };
  permissionsUpdated: { permissions: Permissions };
  /** Rooms of the node end at this time at the latest; null: they do not, after all. */
  draining: { deadline: Date | null };
  /** It is over, for the reason given; nothing follows. */
  closed: Closing;
};
