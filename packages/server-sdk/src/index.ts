// Entry point of @mediarooms/server.

export type { AccessKey, AccessTokenOptions, AccessTokens } from './access-tokens.ts';
export type { Calls } from './calls.ts';
// biome-ignore lint/performance/noBarrelFile: a package has one entry.
export { type ErrorCode, MediaroomsError } from './errors.ts';
export type { EventCursor } from './event-connection.ts';
export type { EventStream, EventStreamOptions } from './event-stream.ts';
export type { RoomEvent, RoomEvents, RoomEventType } from './generated/events.ts';
export type { Cluster, Components, Hls, Peers, Tracks } from './generated/methods.ts';
export type {
  Access,
  Call,
  Component,
  ComponentOptions,
  CreatedPeer,
  CreatedRoom,
  DeadLetter,
  DrainView,
  FoundPeer,
  Health,
  Json,
  Node,
  NodeConfig,
  Peer,
  PeerPatch,
  Permissions,
  RecordedTrack,
  RecordingReport,
  Recordings as RecordingList,
  Render,
  RenderOptions,
  Room,
  RoomConfig,
  RoomOptions,
  RoomPage,
  RoomPatch,
  RoomStats,
  Track,
  ViewerToken,
  WebhookStatus,
} from './generated/schemas.ts';
export { Mediarooms } from './mediarooms.ts';
export type { MediaroomsOptions, RequestOptions, WebSocketConstructor, WebSocketLike } from './options.ts';
export type { Recordings } from './recordings.ts';
export type { NewPeer, Rooms } from './rooms.ts';
export { type Webhook, type WebhookHeaders, WebhookVerifier, type WebhookVerifierOptions } from './webhook-verifier.ts';
export type { Webhooks } from './webhooks.ts';
