// Room opener: creates the room of an access token unless a node has it. Of concurrent requests at all nodes one creates it.
import { ServiceError } from '../../../api/errors.ts';
import type { RoomOptions } from '../../../api/room.ts';
import type { NodeName } from '../cluster-transport.ts';

export type RoomOpenerOptions = {
  /** The owning node of a room. */
  locate: (roomId: string) => Promise<NodeName | undefined>;
  create: (options: RoomOptions) => Promise<unknown>;
  sleep: (milliseconds: number) => Promise<unknown>;
};
export type OpenRoom = (options: RoomOptions & { roomId: string }) => Promise<void>;

/** Maximum time to wait for a room that another request creates, and the pause between two searches. Milliseconds. */
const timeoutMs = 10_000;
const searchPause = 25;

export class RoomOpener {
  readonly #options: RoomOpenerOptions;
  readonly #running = new Map<string, Promise<void>>();

  constructor(options: RoomOpenerOptions) {
    this.#options = options;
  }

  /** Resolves when a node has the room. @throws ServiceError `no_node_accepts_rooms`, `node_unreachable`, `unavailable` */
  readonly open: OpenRoom = (options) => {
    const { roomId } = options;
    const opening = this.#running.get(roomId) ?? this.#open(options).finally(() => this.#running.delete(roomId));
    this.#running.set(roomId, opening);
    return opening;
  };

  async #open(options: RoomOptions & { roomId: string }): Promise<void> {
    const { locate, create, sleep } = this.#options;
    const deadline = Date.now() + timeoutMs;
    while ((await locate(options.roomId)) === undefined) {
      try {
        await create(options);
        return;
      } catch (error) {
        // Another request creates the room, or its announcement is in transit.
        if (!(error instanceof ServiceError) || error.code !== 'already_exists') throw error;
        if (Date.now() > deadline)
          throw new ServiceError('unavailable', `Room ${options.roomId} is still being created`, { retryAfter: 1 });
        await sleep(searchPause);
      }
    }
  }
}
