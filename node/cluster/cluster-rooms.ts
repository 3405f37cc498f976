// Cluster rooms: creates rooms on the least loaded node, and lists the rooms of all nodes.
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../api/errors.ts';
import { type CreatedRoom, nameReservationSchema, nodeRpcs, type RoomList } from '../../api/operations/node-rpcs.ts';
import { operations } from '../../api/operations/table.ts';
import type { RoomOptions } from '../../api/room.ts';
import type { Log } from '../common/log.ts';
import type { LocalRooms } from '../rooms/local-rooms.ts';
import { Arbiter } from './arbiter.ts';
import type { ClusterTransport, NodeName } from './cluster-transport.ts';
import type { Directory } from './directory.ts';
import { LoadPoll } from './load-poll.ts';
import type { Members } from './nodes.ts';
import type { NodeLoad } from './placement.ts';
import { RoomCreator } from './room-creator.ts';
import type { Dispatcher } from './rpc/dispatcher.ts';

export type ClusterRoomsOptions = {
  links: ClusterTransport;
  dispatcher: Dispatcher;
  members: Pick<Members, 'get'>;
  directory: Directory;
  local: LocalRooms;
  log: Log;
  load: () => NodeLoad;
  address: () => string;
};

export class ClusterRooms {
  readonly #options: ClusterRoomsOptions;
  readonly #arbiter: Arbiter;
  readonly #loads: LoadPoll;
  readonly #roomCreator: RoomCreator;
  #rejected = 0;

  constructor(options: ClusterRoomsOptions) {
    this.#options = options;
    const { links, dispatcher, directory, log } = options;
    this.#arbiter = new Arbiter(
      ({ space, name }) => (space === 'id' ? directory.find(name) : directory.findByExternalId(name)) !== undefined,
    );
    this.#loads = new LoadPoll({ links, dispatcher, own: options.load });
    this.#roomCreator = new RoomCreator({
      links,
      dispatcher,
      log,
      arbiter: this.#arbiter,
      loads: this.#loads,
      findByExternalId: (externalId) => this.#findByExternalId(externalId),
      sleep: async (milliseconds) => void (await sleep(milliseconds)),
      now: () => performance.now(),
    });
    this.#serve();
  }

  #serve(): void {
    const { dispatcher, local } = this.#options;
    dispatcher.serve(operations, {
      createRoom: async ({ body }) => {
        const { created, room, address } = await this.createRoom(body);
        return { created, data: { room, svc_address: address } };
      },
      listRooms: async ({ query }) => {
        const { rooms: data, ...rest } = await this.listRooms(query);
        return { data, ...rest };
      },
    });
    dispatcher.serve(nodeRpcs, {
      load: () => this.#loads.answer(),
      has: (roomId) => local.has(roomId),
      reserve: ({ names, ticket }, { from }) => this.#arbiter.reserve(names, from, ticket),
      createLocalRoom: async ({ options, reservation }, { from }) => {
        this.#loads.received(from);
        const created = await local.createRoom(options);
        // The room is announced during creation, so the end of the reservation follows the announcement to every node.
        if (reservation) this.#roomCreator.release(reservation);
        return created;
      },
      listLocalRooms: (page) => local.listRooms(page),
    });
    dispatcher.receive('release', nameReservationSchema, (_, { names, ticket }) => this.#arbiter.release(names, ticket));
  }

  /** Rooms rejected since the start, because no node accepted rooms. */
  get rejected(): number {
    return this.#rejected;
  }

  async createRoom(options: RoomOptions): Promise<CreatedRoom> {
    try {
      return await this.#roomCreator.create(options);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'no_node_accepts_rooms') this.#rejected += 1;
      throw error;
    }
  }

  async listRooms(page: { limit?: number | undefined; cursor?: string | undefined }): Promise<RoomList> {
    const { dispatcher, local, log } = this.#options;
    const [own, others] = await Promise.all([local.listRooms(page), dispatcher.others(nodeRpcs.listLocalRooms, page)]);
    const pages = [own];
    for (const each of others) {
      if ('error' in each) log.info({ node: each.node, err: each.error }, 'could not list rooms of remote node');
      pages.push('result' in each ? each.result : { rooms: [], incomplete: [each.node] });
    }
    const rooms = pages.flatMap((each) => each.rooms).sort((a, b) => (a.incarnation < b.incarnation ? -1 : 1));
    const shown = page.limit === undefined ? rooms : rooms.slice(0, page.limit);
    const last = shown.at(-1);
    const more = last !== undefined && (shown.length < rooms.length || pages.some((each) => each.cursor !== undefined));
    const incomplete = pages.flatMap((each) => each.incomplete).sort();
    return { rooms: shown, incomplete, ...(more ? { cursor: last.incarnation } : {}) };
  }

  nodeDown(node: NodeName): void {
    this.#arbiter.releaseAll(node);
    this.#loads.nodeDown(node);
  }

  async #findByExternalId(externalId: string): Promise<CreatedRoom | undefined> {
    const { dispatcher, members, directory, links, address } = this.#options;
    const entry = directory.findByExternalId(externalId);
    if (!entry) return undefined;
    const room = await dispatcher
      .at(entry.owner, operations.getRoom, { params: { roomId: entry.id }, body: undefined, query: undefined })
      .catch(ignoreMissing);
    if (room?.externalId !== externalId) return undefined;
    return { created: false, room, address: entry.owner === links.self ? address() : (members.get(entry.owner)?.address ?? '') };
  }
}

/** The room ended after it was announced. */
function ignoreMissing(error: unknown): undefined {
  if (error instanceof ServiceError && (error.code === 'room_not_found' || error.code === 'room_ended')) return undefined;
  throw error;
}
