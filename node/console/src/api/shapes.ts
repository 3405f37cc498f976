// What the console reads of the answers of REST and of room events; see /docs of the node for the whole shapes.
export type Track = { id: string; type: 'audio' | 'video' };
export type Peer = { id: string; status: 'connected' | 'disconnected'; metadata: unknown; tracks: Track[] };
/** In the list of rooms; events say no more of one. */
export type Component = { id: string };
export type ComponentType = 'hls' | 'recording' | 'sip' | 'file';
export type ComponentDetails = Component & {
  type: ComponentType;
  properties: Record<string, unknown>;
  tracks: (Track & { encoding: string | null; muted: boolean })[];
};
export type RoomConfig = {
  maxPeers: number | null;
  videoCodec: string | null;
  webhookUrl: string | null;
  peerlessPurgeTimeout: number | null;
  peerDisconnectedTimeout: number | null;
};
export type Room = {
  id: string;
  incarnation: string;
  externalId: string | null;
  config: RoomConfig;
  peers: Peer[];
  components: Component[];
};
export type RoomOptions = Partial<RoomConfig> & { roomId?: string; externalId?: string };
export type RoomList = { rooms: Room[]; incomplete: string[] };
export type RoomEvent = {
  type: string;
  roomId: string;
  incarnation: string;
  peerId?: string;
  componentId?: string;
  metadata?: unknown;
  track?: Track;
};
export type PeerAccess = { peerId: string; token: string; url: string };

const componentNames: Record<ComponentType, string> = { file: 'File', hls: 'HLS', recording: 'Recording', sip: 'Phone' };

/** Its kind, and of a file which. */
export function componentName({ type, properties }: Pick<ComponentDetails, 'type' | 'properties'>): string {
  const kind = componentNames[type] ?? type;
  return typeof properties.filePath === 'string' ? `${kind}: ${properties.filePath}` : kind;
}

/** The name that a peer's metadata carries, by the console's own convention. */
export function nameOf(metadata: unknown): string | undefined {
  if (typeof metadata !== 'object' || metadata === null || !('name' in metadata)) return undefined;
  return typeof metadata.name === 'string' && metadata.name.trim() !== '' ? metadata.name.trim() : undefined;
}
