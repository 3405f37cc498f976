// Webhooks of rooms that were lost with their node: one of those that are left tells them, and the next one where it is lost as well.
import type { RoomEvent } from '../rooms/shapes/events.ts';
import type { ClusterTransport, NodeName } from './cluster-transport.ts';

/** How long after a loss it may turn out that who was to tell it is lost, too, in milliseconds: longer than a silent node is believed in. */
const lostRoomRetentionMs = 5 * 60_000;
/** Beyond, the oldest are left to whoever was to tell them. */
const maxWaiting = 100_000;

/** An event of a room that was lost. `webhookUrl`: the room's own receiver. */
export type LostRoom = { event: RoomEvent; webhookUrl: string | null };

export type LostRoomsOptions = {
  links: Pick<ClusterTransport, 'self' | 'nodes'>;
  tell: (room: LostRoom) => void;
  /** Milliseconds on a clock that never goes back. */
  now?: () => number;
};

export class LostRoomNotifier {
  readonly #options: LostRoomsOptions;
  readonly #now: () => number;
  /** What another node is to tell, oldest first. */
  #waiting: { teller: NodeName; at: number; room: LostRoom }[] = [];

  constructor(options: LostRoomsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Rooms were lost with their node, which is not connected any more: their events, in order. */
  lost(rooms: readonly LostRoom[]): void {
    const at = this.#now();
    this.#waiting = this.#waiting.filter((each) => at - each.at < lostRoomRetentionMs);
    this.#assign(rooms.map((room) => ({ at, room })));
  }

  /** What this node told of others may not have left it: the next one tells it, perhaps once more. The event's id is the same. */
  nodeDown(node: NodeName): void {
    const at = this.#now();
    const orphans = this.#waiting.filter(({ teller }) => teller === node);
    if (orphans.length === 0) return;
    this.#waiting = this.#waiting.filter(({ teller }) => teller !== node);
    this.#assign(orphans.filter((each) => at - each.at < lostRoomRetentionMs));
  }

  /** The first by name of those that are left tells. */
  #assign(rooms: readonly { at: number; room: LostRoom }[]): void {
    const { links, tell } = this.#options;
    const teller = [links.self, ...links.nodes()].sort()[0] ?? links.self;
    if (teller === links.self) for (const { room } of rooms) tell(room);
    else this.#waiting = [...this.#waiting, ...rooms.map((each) => ({ ...each, teller }))].slice(-maxWaiting);
  }
}
