// Cluster room service: creates rooms on the least loaded node and routes every request to the owning node.
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallOptions, CallView } from '../../api/call.ts';
import type { ComponentOptions, ComponentView } from '../../api/component/component.ts';
import { ServiceError } from '../../api/errors.ts';
import type { PeerOptions, PeerPatch } from '../../api/peer.ts';
import type { RoomData, RoomOptions, RoomPatch, RoomView } from '../../api/room.ts';
import type { RoomStats } from '../../api/stats.ts';
import type { Log } from '../common/log.ts';
import type { CreatedComponent, CreatedPeer, CreatedRoom, FoundPeer, RoomPage, RoomService } from '../rooms/services/room-service.ts';
import { Arbiter } from './arbiter.ts';
import type { ClusterTransport, NodeName } from './cluster-transport.ts';
import { LoadPoll } from './load-poll.ts';
import type { Membership } from './membership.ts';
import type { NodeLoad } from './placement.ts';
import { type NameReservation, nameReservationSchema, RoomCreator } from './room-creator.ts';
import { type RoomRpc, type RoomRpcArgs, type RoomRpcResult, roomRpc, roomRpcPrefix } from './room-rpc.ts';

/** Timeout of RPCs in milliseconds. Lists leave out nodes that exceed it. */
const rpcTimeoutMs = 5_000;
/** Timeout if a process starts or ends, in milliseconds. Longer, so that an operation in progress is not reported as failed. */
const processTimeoutMs = 20_000;
const withProcess: readonly RoomRpc[] = ['addComponent', 'deleteComponent'];
const listTimeoutMs = 2_000;
const searchTimeoutMs = 1_000;
/** Maximum number of concurrent searches. Beyond it an unknown room is reported as not found without a search. */
const maxSearches = 100;

/** Room service of this node with the methods that the cluster needs. */
export interface LocalRoomService extends RoomService {
  has(roomId: string): boolean;
  /** A room of another node ended, as that node reports. */
  endedElsewhere(roomId: string, reason: string): void;
  madeElsewhere(roomId: string): void;
  find(
    roomId: string,
  ): { incarnation: string; externalId: string | null; config: { webhookUrl: string | null }; close(reason: string): void } | undefined;
}

export type ClusterRoomsOptions = {
  links: ClusterTransport;
  membership: Membership;
  local: LocalRoomService;
  log: Log;
  load: () => NodeLoad;
  address: () => string;
};

export class ClusterRooms implements RoomService {
  readonly #options: ClusterRoomsOptions;
  readonly #arbiter: Arbiter;
  readonly #loads: LoadPoll;
  readonly #roomCreator: RoomCreator;
  readonly #searches = new Map<string, Promise<NodeName | undefined>>();

  constructor(options: ClusterRoomsOptions) {
    this.#options = options;
    const { links, log } = options;
    const { directory } = options.membership;
    this.#arbiter = new Arbiter(
      ({ space, name }) => (space === 'id' ? directory.find(name) : directory.findByExternalId(name)) !== undefined,
    );
    this.#loads = new LoadPoll({ links, own: options.load });
    this.#roomCreator = new RoomCreator({
      links,
      log,
      arbiter: this.#arbiter,
      loads: this.#loads,
      createAt: (node, room, reservation) => this.#at(node, 'createRoom', [room, reservation]),
      findByExternalId: (externalId) => this.#findByExternalId(externalId),
      sleep: async (milliseconds) => void (await sleep(milliseconds)),
    });
  }

  createRoom(options: RoomOptions): Promise<CreatedRoom> {
    return this.#roomCreator.create(options);
  }

  async listRooms(page: { limit?: number; cursor?: string }): Promise<RoomPage> {
    const { links, local, log } = this.#options;
    const others = links.nodes().map(async (node) => {
      try {
        return await this.#call(node, 'listRooms', [page], listTimeoutMs);
      } catch (error) {
        log.info({ node, err: error }, 'could not list rooms of remote node');
        return { rooms: [], incomplete: [node] } satisfies RoomPage;
      }
    });
    const pages: RoomPage[] = await Promise.all([local.listRooms(page), ...others]);
    const rooms = pages.flatMap((each) => each.rooms).sort((a, b) => (a.incarnation < b.incarnation ? -1 : 1));
    const shown = page.limit === undefined ? rooms : rooms.slice(0, page.limit);
    const last = shown.at(-1);
    const more = last !== undefined && (shown.length < rooms.length || pages.some((each) => each.cursor !== undefined));
    const incomplete = pages.flatMap((each) => each.incomplete).sort();
    return { rooms: shown, incomplete, ...(more ? { cursor: last.incarnation } : {}) };
  }

  getRoom(roomId: string): Promise<RoomView> {
    return this.#route('getRoom', [roomId]);
  }

  getRoomStats(roomId: string): Promise<RoomStats> {
    return this.#route('getRoomStats', [roomId]);
  }

  patchRoom(roomId: string, patch: RoomPatch): Promise<RoomView> {
    return this.#route('patchRoom', [roomId, patch]);
  }

  async deleteRoom(roomId: string): Promise<void> {
    await this.#route('deleteRoom', [roomId]);
  }

  addPeer(roomId: string, options: PeerOptions): Promise<CreatedPeer> {
    return this.#route('addPeer', [roomId, options]);
  }

  getPeer(roomId: string, peerId: string): Promise<FoundPeer> {
    return this.#route('getPeer', [roomId, peerId]);
  }

  patchPeer(roomId: string, peerId: string, patch: PeerPatch): Promise<FoundPeer> {
    return this.#route('patchPeer', [roomId, peerId, patch]);
  }

  async deletePeer(roomId: string, peerId: string): Promise<void> {
    await this.#route('deletePeer', [roomId, peerId]);
  }

  renewPeerToken(roomId: string, peerId: string): Promise<string> {
    return this.#route('renewPeerToken', [roomId, peerId]);
  }

  async removeTrack(roomId: string, trackId: string): Promise<void> {
    await this.#route('removeTrack', [roomId, trackId]);
  }

  async setTrackMuted(roomId: string, trackId: string, muted: boolean): Promise<void> {
    await this.#route('setTrackMuted', [roomId, trackId, muted]);
  }

  async sendData(roomId: string, data: RoomData): Promise<void> {
    await this.#route('sendData', [roomId, data]);
  }

  addComponent(roomId: string, options: ComponentOptions): Promise<CreatedComponent> {
    return this.#route('addComponent', [roomId, options]);
  }

  getComponent(roomId: string, componentId: string): Promise<ComponentView> {
    return this.#route('getComponent', [roomId, componentId]);
  }

  async deleteComponent(roomId: string, componentId: string): Promise<void> {
    await this.#route('deleteComponent', [roomId, componentId]);
  }

  async subscribeComponent(roomId: string, componentId: string, origins: readonly string[]): Promise<void> {
    await this.#route('subscribeComponent', [roomId, componentId, [...origins]]);
  }

  startCall(roomId: string, componentId: string, options: CallOptions): Promise<CallView> {
    return this.#route('startCall', [roomId, componentId, options]);
  }

  async endCalls(roomId: string, componentId: string, callId: string | null): Promise<void> {
    await this.#route('endCalls', [roomId, componentId, callId]);
  }

  async sendDigits(roomId: string, componentId: string, callId: string, digits: string): Promise<void> {
    await this.#route('sendDigits', [roomId, componentId, callId, digits]);
  }

  /** The owning node of a room, from the directory of this node. */
  ownerOf(roomId: string): NodeName | undefined {
    return this.#options.local.has(roomId) ? this.#options.links.self : this.#options.membership.directory.find(roomId)?.owner;
  }

  /** Like ownerOf, but asks the other nodes if the directory has no entry. */
  async locate(roomId: string): Promise<NodeName | undefined> {
    return this.ownerOf(roomId) ?? this.#search(roomId);
  }

  nodeDown(node: NodeName): void {
    this.#arbiter.releaseAll(node);
    this.#loads.nodeDown(node);
  }

  /** Handles a request of another node. @returns undefined if the method is not handled here. */
  answer(from: NodeName, method: string, data: unknown): Promise<unknown> | undefined {
    if (method === 'load') return Promise.resolve(this.#loads.answer());
    if (method === 'has') return Promise.resolve(typeof data === 'string' && this.#options.local.has(data));
    if (method === 'reserve') return this.#reserve(from, data);
    const name = method.startsWith(roomRpcPrefix) ? method.slice(roomRpcPrefix.length) : '';
    return Object.hasOwn(roomRpc, name) ? this.#callLocal(from, name as RoomRpc, data) : undefined;
  }

  /** @returns true if the message was handled here. */
  receive(method: string, data: unknown): boolean {
    if (method !== 'release') return false;
    const { names, ticket } = nameReservationSchema.parse(data);
    this.#arbiter.release(names, ticket);
    return true;
  }

  async #reserve(from: NodeName, data: unknown): Promise<unknown> {
    const { names, ticket } = nameReservationSchema.parse(data);
    return this.#arbiter.reserve(names, from, ticket);
  }

  async #callLocal(from: NodeName, method: RoomRpc, data: unknown): Promise<unknown> {
    if (method === 'createRoom') this.#loads.received(from);
    const args = roomRpc[method].args.safeParse(data);
    if (!args.success) throw new ServiceError('bad_request', `Invalid arguments for ${method} from another node`);
    const { local } = this.#options;
    if (method === 'createRoom') return this.#createLocal(...(args.data as RoomRpcArgs<'createRoom'>));
    return ((await (local[method] as (...args: unknown[]) => Promise<unknown>).apply(local, args.data)) ?? null) satisfies unknown;
  }

  /** The room is announced during creation, so the end of the reservation follows the announcement to every node. */
  async #createLocal(options: RoomOptions, reservation: NameReservation | null): Promise<CreatedRoom> {
    const created = await this.#options.local.createRoom(options);
    if (reservation) this.#roomCreator.release(reservation);
    return created;
  }

  async #findByExternalId(externalId: string): Promise<CreatedRoom | undefined> {
    const { membership, links, address } = this.#options;
    const entry = membership.directory.findByExternalId(externalId);
    if (!entry) return undefined;
    const room = await this.#at(entry.owner, 'getRoom', [entry.id]).catch(ignoreMissing);
    if (room?.externalId !== externalId) return undefined;
    return { created: false, room, address: entry.owner === links.self ? address() : (membership.members.get(entry.owner)?.address ?? '') };
  }

  /**
   * Routes to the owning node. Requests for rooms without an owner are handled locally, because every node remembers ended rooms of all
   * nodes.
   */
  async #route<C extends RoomRpc>(method: C, args: RoomRpcArgs<C>): Promise<RoomRpcResult<C>> {
    const roomId = args[0] as string;
    return this.#at((await this.locate(roomId)) ?? this.#options.links.self, method, args);
  }

  /** The announcement of a new room may not have arrived yet. A client that has just received the room id must still find it. */
  #search(roomId: string): Promise<NodeName | undefined> {
    const running = this.#searches.get(roomId);
    if (running) return running;
    const { links } = this.#options;
    if (links.nodes().length === 0 || this.#searches.size >= maxSearches) return Promise.resolve(undefined);
    const asked = links.nodes().map(async (node) => {
      if ((await links.call(node, 'has', roomId, searchTimeoutMs)) !== true) throw new Error('not found');
      return node;
    });
    const search = Promise.any(asked)
      .catch(() => undefined)
      .finally(() => this.#searches.delete(roomId));
    this.#searches.set(roomId, search);
    return search;
  }

  async #at<C extends RoomRpc>(node: NodeName, method: C, args: RoomRpcArgs<C>): Promise<RoomRpcResult<C>> {
    if (node !== this.#options.links.self)
      return this.#call(node, method, args, withProcess.includes(method) ? processTimeoutMs : rpcTimeoutMs);
    return (await this.#callLocal(node, method, args)) as RoomRpcResult<C>;
  }

  async #call<C extends RoomRpc>(node: NodeName, method: C, args: RoomRpcArgs<C>, deadline: number): Promise<RoomRpcResult<C>> {
    const answer = await this.#options.links.call(node, `${roomRpcPrefix}${method}`, args, deadline);
    const parsed = roomRpc[method].result.safeParse(answer);
    if (!parsed.success) throw new ServiceError('node_unreachable', `Invalid response from node ${node}`);
    return parsed.data as RoomRpcResult<C>;
  }
}

/** The room ended after it was announced. */
function ignoreMissing(error: unknown): undefined {
  if (error instanceof ServiceError && (error.code === 'room_not_found' || error.code === 'room_ended')) return undefined;
  throw error;
}
