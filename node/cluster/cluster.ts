// The cluster as one node sees it: membership, the rooms of all nodes, and the messages between them.
import { z } from 'zod';
import { ServiceError } from '../common/errors.ts';
import type { Log } from '../common/log.ts';
import type { RoomEvent } from '../rooms/shapes/events.ts';
import { ClusterAdmin, type ControlOptions } from './cluster-admin.ts';
import { ClusterRooms, type LocalRoomService } from './cluster-rooms.ts';
import type { ClusterTransport, NodeName } from './cluster-transport.ts';
import type { LostEntry } from './connected-peers.ts';
import type { DirectoryEntry } from './directory.ts';
import { type LocalNodeDescription, Membership } from './membership.ts';
import type { NodeLoad } from './placement.ts';

/** How long the owner of an older room of the same id may take to say something, in milliseconds: longer than one that is gone is believed in. */
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
  /** Milliseconds that a drain takes at most where nobody says otherwise. */
  drainTimeout: () => number;
  /** Another node says whom it knows. */
  onNodes: (from: NodeName, names: readonly string[]) => void;
  traffic: NodeRequests;
};

/** What goes between nodes beside rooms (inter-node-services.ts). */
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
        if (!answer) throw new ServiceError('bad_request', `Node ${links.self} does not know the call ${method.slice(0, 64)}`);
        return answer;
      },
      cast: (from, method, data) => {
        try {
          if (method === 'nodes') options.onNodes(from, namesSchema.parse(data));
          else if (!this.membership.receive(from, method, data) && !this.rooms.receive(method, data)) traffic.receive(from, method, data);
        } catch (error) {
          log.warn({ node: from, method: method.slice(0, 64), err: error }, 'a message of another node was not understood');
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

  /** Whether another node is connected that has not said yet who it is: what it has cannot be reached before. */
  get meets(): boolean {
    return this.links.nodes().length > this.membership.members.size;
  }

  /** Whether there is another node that stays, or that still has rooms: this one is a way to them. */
  get hasActiveNodes(): boolean {
    const { members, directory } = this.membership;
    return [...members.values()].some(({ name, state }) => state !== 'terminating' || directory.ownedBy(name).length > 0);
  }

  /** Something happened in a room of this node: the other nodes hear of what they must know if this one is lost. */
  roomEvent({ type, roomId, incarnation, peerId, reason }: Pick<RoomEvent, 'type' | 'roomId' | 'incarnation' | 'peerId' | 'reason'>): void {
    if (type === 'RoomCreated') this.roomChanged(roomId);
    if (peerId !== undefined && (type === 'PeerConnected' || type === 'PeerDisconnected'))
      this.membership.presenceChanged({ incarnation, peerId, connected: type === 'PeerConnected' });
    if (type === 'RoomDeleted') this.membership.retract(roomId, incarnation, reason ?? 'deleted');
    if (type === 'RoomCrashed') this.membership.retract(roomId, incarnation, 'crashed');
  }

  /** A room of this node is new or has other properties that the directory shows. */
  roomChanged(roomId: string): void {
    const room = this.#local.find(roomId);
    if (!room) return;
    const { incarnation, externalId, config } = room;
    this.membership.announce({ id: roomId, incarnation, externalId, webhookUrl: config.webhookUrl });
  }

  /** The older room may have ended, as where one of its id was made again: then its owner told so before it answers anything. */
  async #endDuplicate({ id, incarnation }: DirectoryEntry, owner: NodeName): Promise<void> {
    await this.links.call(owner, 'has', id, duplicateTimeoutMs).catch(() => {});
    const stays = this.membership.directory.find(id)?.incarnation === incarnation;
    const room = this.#local.find(id);
    if (!stays && room?.incarnation === incarnation) room.close('duplicate');
  }
}
