// Local rooms with the operations on a room as methods, for tests.
import type { ComponentOptions, ComponentView } from '../../../api/component/component.ts';
import type { PeerPatch } from '../../../api/peer.ts';
import type { RoomData, RoomPatch, RoomView } from '../../../api/room.ts';
import { LocalRooms } from '../../../node/rooms/local-rooms.ts';
import type { Peer } from '../../../node/rooms/peers/peer.ts';

/** Asynchronous, as for a client: every failure is a rejection. */
export class TestLocalRooms extends LocalRooms {
  async getRoom(roomId: string): Promise<RoomView> {
    return this.room(roomId).view();
  }

  async patchRoom(roomId: string, patch: RoomPatch): Promise<void> {
    this.room(roomId).patch(patch);
  }

  async deleteRoom(roomId: string): Promise<void> {
    this.room(roomId).close('deleted');
  }

  async patchPeer(roomId: string, peerId: string, { permissions, ...profile }: PeerPatch): Promise<Peer> {
    const peer = this.room(roomId).peers.get(peerId);
    if (permissions) peer.rights.change(permissions);
    peer.profile.update(profile);
    return peer;
  }

  async deletePeer(roomId: string, peerId: string): Promise<void> {
    this.room(roomId).peers.delete(peerId);
  }

  async removeTrack(roomId: string, trackId: string): Promise<void> {
    this.room(roomId).publisherOf(trackId).removeTrack(trackId);
  }

  async setTrackMuted(roomId: string, trackId: string, muted: boolean): Promise<void> {
    await this.room(roomId).setTrackMuted(trackId, muted);
  }

  async sendData(roomId: string, data: RoomData): Promise<void> {
    this.room(roomId).sendData(data);
  }

  async addComponent(roomId: string, options: ComponentOptions): Promise<{ created: boolean; component: ComponentView }> {
    const { created, component } = await this.room(roomId).components.add(options);
    return { created, component: component.view() };
  }

  async getComponent(roomId: string, componentId: string): Promise<ComponentView> {
    return this.room(roomId).components.get(componentId).view();
  }

  async deleteComponent(roomId: string, componentId: string): Promise<void> {
    await this.room(roomId).components.get(componentId).remove('removed');
  }

  async subscribeComponent(roomId: string, componentId: string, origins: readonly string[]): Promise<void> {
    this.room(roomId).components.get(componentId).subscribe(origins);
  }
}
