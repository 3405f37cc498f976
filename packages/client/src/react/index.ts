// Entry point of @mediarooms/client/react: a provider of a room, and hooks.
// biome-ignore lint/performance/noBarrelFile: a sub-path of a package has one entry.
export {
  type DataMessage,
  useActiveSpeaker,
  useComponents,
  useConnectionState,
  useData,
  useLocalTracks,
  usePeers,
  useRoom,
  useTrack,
  useTracks,
} from './hooks.ts';
export { RoomProvider, type RoomProviderProps } from './room-provider.ts';
export type { ConnectionState, RoomTrack } from './room-store.ts';
export { type LocalMedia, type LocalMediaOptions, useLocalMedia } from './use-local-media.ts';
