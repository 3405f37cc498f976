// Cluster facade: combines membership, placement of rooms and services between nodes as seen by one node.
import type { RoomEvent } from '../../api/events.ts';
import type { Log } from '../common/log.ts';
import type { LocalRooms } from '../rooms/local-rooms.ts';
import { ClusterRooms } from './cluster-rooms.ts';
import type { NodeName } from './cluster-transport.ts';
import type { LostEntry } from './connected-peers.ts';
import type { DirectoryEntry } from './directory.ts';
import { serveListNodes } from './list-nodes.ts';
import { Membership, type NodeDescription } from './membership.ts';
import type { Nodes } from './nodes.ts';
import type { NodeLoad } from './placement.ts';

/**
 * Timeout for RPCs to the owner of an older room with the same id, in milliseconds. Longer than the failure detector needs for a lost node.
 */
const duplicateTimeoutMs = 20_000;

export type ClusterOptions = Nodes & {
  local: LocalRooms;
  log: Log;
  load: () => NodeLoad;
  /** This node, except its state. */
  describe: () => Omit<NodeDescription, 'state'>;
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
  readonly #options: ClusterOptions;

  constructor(options: ClusterOptions) {
    const { links, local, traffic, describe } = options;
    this.#options = options;
    this.membership = new Membership({
      ...options,
      onDuplicate: (entry, older) => void this.#endDuplicate(entry, older.owner),
      onEnded: (roomId, reason) => local.endedElsewhere(roomId, reason),
      onMade: (roomId) => local.createdElsewhere(roomId),
      revoked: local.revoked,
      onLost: (node, entries) => traffic.roomsLost(node, entries),
    });
    this.rooms = new ClusterRooms({ ...options, address: () => describe().address });
    serveListNodes({ ...options, membership: this.membership });
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

  /** True if another node is active or still owns rooms: requests must be proxied to it. */
  get hasActiveNodes(): boolean {
    const { members, directory } = this.#options;
    return members.all().some(({ name, state }) => state !== 'terminating' || directory.ownedBy(name).length > 0);
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
    const room = this.#options.local.find(roomId);
    if (!room) return;
    const { incarnation, externalId, config } = room;
    this.membership.announce({ id: roomId, incarnation, externalId, webhookUrl: config.webhookUrl });
  }

  /** The older room may have ended, for example if its id was reused. Its owner announces that before it responds to a request. */
  async #endDuplicate({ id, incarnation }: DirectoryEntry, owner: NodeName): Promise<void> {
    const { links, directory, local } = this.#options;
    await links.call(owner, 'has', id, duplicateTimeoutMs).catch(() => {});
    const stays = directory.find(id)?.incarnation === incarnation;
    const room = local.find(id);
    if (!stays && room?.incarnation === incarnation) room.close('duplicate');
  }
}
