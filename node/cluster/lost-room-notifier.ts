// Lost-room notifier: one remaining node sends the webhooks of rooms that were lost with their node. The next one does if that node is lost
// too.
import type { RoomEvent } from '../../api/events.ts';
import type { ClusterTransport, NodeName } from './cluster-transport.ts';

/** Retention in milliseconds, in case the notifying node is lost too. Longer than the failure detector needs for a silent node. */
const lostRoomRetentionMs = 5 * 60_000;
/** Beyond this number the oldest events are left to the notifying node. */
const maxWaiting = 100_000;

/** An event of a lost room. `webhookUrl`: the receiver of the room. */
export type LostRoom = { event: RoomEvent; webhookUrl: string | null };

export type LostRoomsOptions = {
  links: Pick<ClusterTransport, 'self' | 'nodes'>;
  tell: (room: LostRoom) => void;
  /** Monotonic clock in milliseconds. */
  now?: () => number;
};

export class LostRoomNotifier {
  readonly #options: LostRoomsOptions;
  readonly #now: () => number;
  /** Events that other nodes send, oldest first. */
  #waiting: { teller: NodeName; at: number; room: LostRoom }[] = [];

  constructor(options: LostRoomsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Rooms were lost with their node, which is not connected any more. `rooms`: their events in order. */
  lost(rooms: readonly LostRoom[]): void {
    const at = this.#now();
    this.#waiting = this.#waiting.filter((each) => at - each.at < lostRoomRetentionMs);
    this.#assign(rooms.map((room) => ({ at, room })));
  }

  /** The lost node may not have sent its notifications. The next node sends them, possibly again, with the same event id. */
  nodeDown(node: NodeName): void {
    const at = this.#now();
    const orphans = this.#waiting.filter(({ teller }) => teller === node);
    if (orphans.length === 0) return;
    this.#waiting = this.#waiting.filter(({ teller }) => teller !== node);
    this.#assign(orphans.filter((each) => at - each.at < lostRoomRetentionMs));
  }

  /** The first remaining node by name sends the notification. */
  #assign(rooms: readonly { at: number; room: LostRoom }[]): void {
    const { links, tell } = this.#options;
    const teller = [links.self, ...links.nodes()].sort()[0] ?? links.self;
    if (teller === links.self) for (const { room } of rooms) tell(room);
    else this.#waiting = [...this.#waiting, ...rooms.map((each) => ({ ...each, teller }))].slice(-maxWaiting);
  }
}
