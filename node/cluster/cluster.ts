// Cluster facade: combines membership, room directory and RPC as seen by one node.
import { z } from 'zod';
import type { RoomEvent } from '../../api/events.ts';
import type { Log } from '../common/log.ts';
import type { LocalRooms } from '../rooms/local-rooms.ts';
import { type AdminOptions, serveAdmin } from './cluster-admin.ts';
import { ClusterRooms } from './cluster-rooms.ts';
import type { ClusterTransport, NodeName } from './cluster-transport.ts';
import type { LostEntry } from './connected-peers.ts';
import type { DirectoryEntry } from './directory.ts';
import { type LocalNodeDescription, Membership } from './membership.ts';
import type { NodeLoad } from './placement.ts';
import type { Dispatcher } from './rpc/dispatcher.ts';

/**
 * Timeout for RPCs to the owner of an older room with the same id, in milliseconds. Longer than the failure detector needs for a lost node.
 */
const duplicateTimeoutMs = 20_000;

const namesSchema = z.array(z.string().max(512)).max(1_000);

export type ClusterOptions = Pick<AdminOptions, 'drain' | 'drainView' | 'config' | 'drainTimeout'> & {
  links: ClusterTransport;
  dispatcher: Dispatcher;
  local: LocalRooms;
  log: Log;
  load: () => NodeLoad;
  describe: () => LocalNodeDescription;
  /** Another node sent the names of the nodes it is connected to. */
  onNodes: (from: NodeName, names: readonly string[]) => void;
  traffic: NodeListener;
};

/** Services between nodes other than rooms, which are notified of connections (inter-node-services.ts). */
export interface NodeListener {
  nodeUp(node: NodeName): void;
  nodeDown(node: NodeName): void;
  roomsLost(node: NodeName, entries: readonly LostEntry[]): void;
}

export class Cluster {
  readonly rooms: ClusterRooms;
  readonly membership: Membership;
  readonly links: ClusterTransport;
  readonly #local: LocalRooms;

  constructor(options: ClusterOptions) {
    const { links, dispatcher, log, traffic } = options;
    this.links = links;
    this.#local = options.local;
    this.membership = new Membership({
      links,
      dispatcher,
      log,
      describe: options.describe,
      onDuplicate: (entry, older) => void this.#endDuplicate(entry, older.owner),
      onEnded: (roomId, reason) => options.local.endedElsewhere(roomId, reason),
      onMade: (roomId) => options.local.madeElsewhere(roomId),
      onLost: (node, entries) => traffic.roomsLost(node, entries),
    });
    this.rooms = new ClusterRooms({
      links,
      dispatcher,
      log,
      membership: this.membership,
      local: options.local,
      load: options.load,
      address: () => options.describe().address,
    });
    serveAdmin({ ...options, membership: this.membership });
    dispatcher.receive('nodes', namesSchema, options.onNodes);
    links.listen({
      up: (node) => {
        this.membership.nodeUp(node);
        traffic.nodeUp(node);
      },
      down: (node) => {
        this.rooms.nodeDown(node);
        traffic.nodeDown(node);
        this.membership.nodeDown(node);
      },
    });
  }

  /** True if a connected node has not sent its snapshot yet. Its rooms cannot be reached before. */
  get meets(): boolean {
    return this.links.nodes().length > this.membership.members.size;
  }

  /** True if another node is active or still owns rooms: requests must be proxied to it. */
  get hasActiveNodes(): boolean {
    const { members, directory } = this.membership;
    return [...members.values()].some(({ name, state }) => state !== 'terminating' || directory.ownedBy(name).length > 0);
  }

  /** An event of a local room: sends the other nodes the data they need if this node is lost. */
  roomEvent({ type, roomId, incarnation, peerId, reason }: Pick<RoomEvent, 'type' | 'roomId' | 'incarnation' | 'peerId' | 'reason'>): void {
    if (type === 'RoomCreated') this.roomChanged(roomId);
    if (peerId !== undefined && (type === 'PeerConnected' || type === 'PeerDisconnected'))
      this.membership.presenceChanged({ incarnation, peerId, connected: type === 'PeerConnected' });
    if (type === 'RoomDeleted') this.membership.retract(roomId, incarnation, reason ?? 'deleted');
    if (type === 'RoomCrashed') this.membership.retract(roomId, incarnation, 'crashed');
  }

  /** A local room was created, or properties shown in the directory changed. */
  roomChanged(roomId: string): void {
    const room = this.#local.find(roomId);
    if (!room) return;
    const { incarnation, externalId, config } = room;
    this.membership.announce({ id: roomId, incarnation, externalId, webhookUrl: config.webhookUrl });
  }

  /** The older room may have ended, for example if its id was reused. Its owner announces that before it responds to a request. */
  async #endDuplicate({ id, incarnation }: DirectoryEntry, owner: NodeName): Promise<void> {
    await this.links.call(owner, 'has', id, duplicateTimeoutMs).catch(() => {});
    const stays = this.membership.directory.find(id)?.incarnation === incarnation;
    const room = this.#local.find(id);
    if (!stays && room?.incarnation === incarnation) room.close('duplicate');
  }
}
