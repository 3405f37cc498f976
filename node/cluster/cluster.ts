// Cluster facade: combines membership, room directory and RPC as seen by one node.
import { z } from 'zod';
import { ServiceError } from '../../api/errors.ts';
import type { RoomEvent } from '../../api/events.ts';
import type { Log } from '../common/log.ts';
import { ClusterAdmin, type ControlOptions } from './cluster-admin.ts';
import { ClusterRooms, type LocalRoomService } from './cluster-rooms.ts';
import type { ClusterTransport, NodeName } from './cluster-transport.ts';
import type { LostEntry } from './connected-peers.ts';
import type { DirectoryEntry } from './directory.ts';
import { type LocalNodeDescription, Membership } from './membership.ts';
import type { NodeLoad } from './placement.ts';

/**
 * Timeout for RPCs to the owner of an older room with the same id, in milliseconds. Longer than the failure detector needs for a lost node.
 */
const duplicateTimeoutMs = 20_000;

const namesSchema = z.array(z.string().max(512)).max(1_000);

export type ClusterOptions = {
  links: ClusterTransport;
  local: LocalRoomService;
  log: Log;
  load: () => NodeLoad;
  describe: () => LocalNodeDescription;
  drain: ControlOptions['drain'];
  drainView: ControlOptions['drainView'];
  config: ControlOptions['config'];
  /** Default drain timeout in milliseconds. */
  drainTimeout: () => number;
  /** Another node sent the names of the nodes it is connected to. */
  onNodes: (from: NodeName, names: readonly string[]) => void;
  traffic: NodeRequests;
};

/** RPC between nodes for everything except rooms (inter-node-services.ts). */
export interface NodeRequests {
  nodeUp(node: NodeName): void;
  nodeDown(node: NodeName): void;
  roomsLost(node: NodeName, entries: readonly LostEntry[]): void;
  answer(from: NodeName, method: string, data: unknown): Promise<unknown> | undefined;
  receive(from: NodeName, method: string, data: unknown): boolean;
}

export class Cluster {
  readonly rooms: ClusterRooms;
  readonly membership: Membership;
  readonly control: ClusterAdmin;
  readonly links: ClusterTransport;
  readonly #local: LocalRoomService;

  constructor(options: ClusterOptions) {
    const { links, log, traffic } = options;
    this.links = links;
    this.#local = options.local;
    this.membership = new Membership({
      links,
      log,
      describe: options.describe,
      onDuplicate: (entry, older) => void this.#endDuplicate(entry, older.owner),
      onEnded: (roomId, reason) => options.local.endedElsewhere(roomId, reason),
      onMade: (roomId) => options.local.madeElsewhere(roomId),
      onLost: (node, entries) => traffic.roomsLost(node, entries),
    });
    this.rooms = new ClusterRooms({
      links,
      log,
      membership: this.membership,
      local: options.local,
      load: options.load,
      address: () => options.describe().address,
    });
    this.control = new ClusterAdmin({
      links,
      membership: this.membership,
      describe: options.describe,
      load: options.load,
      drain: options.drain,
      drainView: options.drainView,
      config: options.config,
      defaultTimeout: options.drainTimeout,
    });
    links.handle({
      call: async (from, method, data) => {
        const answer = this.rooms.answer(from, method, data) ?? this.control.answer(method, data) ?? traffic.answer(from, method, data);
        if (!answer) throw new ServiceError('bad_request', `Node ${links.self} does not support the method ${method.slice(0, 64)}`);
        return answer;
      },
      cast: (from, method, data) => {
        try {
          if (method === 'nodes') options.onNodes(from, namesSchema.parse(data));
          else if (!this.membership.receive(from, method, data) && !this.rooms.receive(method, data)) traffic.receive(from, method, data);
        } catch (error) {
          log.warn({ node: from, method: method.slice(0, 64), err: error }, 'invalid message from remote node');
        }
      },
    });
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
