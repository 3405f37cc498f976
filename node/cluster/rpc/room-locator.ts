// Room locator: finds the owning node of a room, from the directory or by asking the other nodes.
import { nodeRpcs } from '../../../api/operations/node-rpcs.ts';
import type { ClusterTransport, NodeName } from '../cluster-transport.ts';
import type { Directory } from '../directory.ts';
import type { Dispatcher } from './dispatcher.ts';

/** Maximum number of concurrent searches. Beyond it an unknown room is reported as not found without a search. */
const maxSearches = 100;

export type RoomLocatorOptions = {
  links: Pick<ClusterTransport, 'self' | 'nodes'>;
  dispatcher: Pick<Dispatcher, 'search'>;
  directory: Pick<Directory, 'find'>;
  local: { has(roomId: string): boolean };
};

export class RoomLocator {
  readonly #options: RoomLocatorOptions;
  readonly #searches = new Map<string, Promise<NodeName | undefined>>();

  constructor(options: RoomLocatorOptions) {
    this.#options = options;
  }

  /** The owning node of a room, from the directory of this node. */
  ownerOf(roomId: string): NodeName | undefined {
    const { links, directory, local } = this.#options;
    return local.has(roomId) ? links.self : directory.find(roomId)?.owner;
  }

  /** Like ownerOf, but asks the other nodes if the directory has no entry. */
  async locate(roomId: string): Promise<NodeName | undefined> {
    return this.ownerOf(roomId) ?? this.#search(roomId);
  }

  /** The announcement of a new room may not have arrived yet. A client that has just received the room id must still find it. */
  #search(roomId: string): Promise<NodeName | undefined> {
    const running = this.#searches.get(roomId);
    if (running) return running;
    const { links, dispatcher } = this.#options;
    if (links.nodes().length === 0 || this.#searches.size >= maxSearches) return Promise.resolve(undefined);
    const search = dispatcher
      .search(nodeRpcs.has, roomId)
      .then(({ node }) => node)
      .finally(() => this.#searches.delete(roomId));
    this.#searches.set(roomId, search);
    return search;
  }
}
