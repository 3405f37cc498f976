// Entry point of @mediarooms/client.
/// <reference lib="dom" preserve="true" />
export type { ClosedReason, Closing } from './closing.ts';
export type { Outage } from './connection.ts';
// biome-ignore lint/performance/noBarrelFile: a package has one entry.
export {
  type ConnectionCheckOptions,
  type ConnectionReport,
  checkConnection,
  type ServerResult,
  type Way,
  type WayResult,
} from './connection-check.ts';
export type { DataChannel, DataChannelMessage, DataChannelOptions, RemoteDataChannel } from './data-channel.ts';
export type { Unsubscribe } from './emitter.ts';
export { RequestError, RoomClosedError } from './errors.ts';
export type { Json, Kind, Layers, Permissions, ServerStats } from './generated/protocol.ts';
export type { LocalTrack, LocalTrackEnd, PublishOptions } from './media/local-track.ts';
export type { MediaPath } from './media/media-path.ts';
export type { ReceivedLayers } from './media/received-tracks.ts';
export type { Logger, RoomClientOptions, Timing, WebSocketConstructor, WebSocketLike } from './options.ts';
export type { Attributes, AttributesPatch } from './own-profile.ts';
export type { PeerRpc, RpcHandler, RpcRequest } from './peer-rpc.ts';
export { RoomClient } from './room-client.ts';
export type { RoomEvents, RoomState, RoomStats } from './room-events.ts';
export type { RemoteComponent, RemotePeer, RemoteTrack } from './roster.ts';
