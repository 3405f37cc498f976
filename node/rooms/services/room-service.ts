// Room service: the operations of the REST API, with one interface for a single node and for a cluster. Every failure is a ServiceError.
import type { CallOptions, CallView } from '../../../api/call.ts';
import type { ComponentOptions, ComponentView } from '../../../api/component/component.ts';
import type { PeerOptions, PeerPatch, PeerView } from '../../../api/peer.ts';
import type { RoomData, RoomOptions, RoomPatch, RoomView } from '../../../api/room.ts';
import type { RoomStats } from '../../../api/stats.ts';

/** `address` is the SVC_HOST of the owning node: `host[:port][/path]`. `created` is false if an `externalId` was repeated. */
export type CreatedRoom = { created: boolean; room: RoomView; address: string };
export type FoundPeer = { peer: PeerView; address: string };
export type CreatedPeer = FoundPeer & { created: boolean; token: string };
export type CreatedComponent = { created: boolean; component: ComponentView };
/** `cursor` is present if more rooms follow. `incomplete` lists nodes that did not respond. */
export type RoomPage = { rooms: RoomView[]; cursor?: string; incomplete: string[] };

export interface RoomService {
  createRoom(options: RoomOptions): Promise<CreatedRoom>;
  listRooms(page: { limit?: number; cursor?: string }): Promise<RoomPage>;
  getRoom(roomId: string): Promise<RoomView>;
  /** Media stats of a room; measured at most once per second. */
  getRoomStats(roomId: string): Promise<RoomStats>;
  patchRoom(roomId: string, patch: RoomPatch): Promise<RoomView>;
  deleteRoom(roomId: string): Promise<void>;
  addPeer(roomId: string, options: PeerOptions): Promise<CreatedPeer>;
  getPeer(roomId: string, peerId: string): Promise<FoundPeer>;
  patchPeer(roomId: string, peerId: string, patch: PeerPatch): Promise<FoundPeer>;
  deletePeer(roomId: string, peerId: string): Promise<void>;
  /** A new token for the peer; older tokens stay valid until they expire. */
  renewPeerToken(roomId: string, peerId: string): Promise<string>;
  removeTrack(roomId: string, trackId: string): Promise<void>;
  setTrackMuted(roomId: string, trackId: string, muted: boolean): Promise<void>;
  sendData(roomId: string, data: RoomData): Promise<void>;
  addComponent(roomId: string, options: ComponentOptions): Promise<CreatedComponent>;
  getComponent(roomId: string, componentId: string): Promise<ComponentView>;
  deleteComponent(roomId: string, componentId: string): Promise<void>;
  /** Adds origins to a component in manual mode. */
  subscribeComponent(roomId: string, componentId: string, origins: readonly string[]): Promise<void>;
  /** Starts a phone call of a component. */
  startCall(roomId: string, componentId: string, options: CallOptions): Promise<CallView>;
  /** Hangs up one call, or all calls of the component if `callId` is null. */
  endCalls(roomId: string, componentId: string, callId: string | null): Promise<void>;
  /** Sends DTMF digits in a call. */
  sendDigits(roomId: string, componentId: string, callId: string, digits: string): Promise<void>;
}
