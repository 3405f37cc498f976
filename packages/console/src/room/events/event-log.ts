// What happened in one room: from what the nodes still know on, live, bounded, and filled up after each loss of the connection.
import type { RoomEvent } from '../../../../server-sdk/src/generated/schemas.ts';
import { Notifications } from '../../api/notifications.ts';
import type { Api } from '../../api/rest.ts';
import { Store } from '../../hooks/store.ts';

/** Events that are kept; older ones are forgotten. */
export const maxEvents = 1_000;
/** Events come in bursts: the page is told of each burst once. */
const settleTime = 80;

export type EventLogState = {
  /** The newest last. */
  events: readonly RoomEvent[];
  /** Whether events come in now. Undefined until it is known. */
  connected: boolean | undefined;
  /** Some were told while nobody listened and are gone, or more came than are kept. */
  incomplete: boolean;
};

export class EventLog extends Store<EventLogState> {
  readonly #notifications: Notifications;
  readonly #known = new Set<string>();
  #fresh: RoomEvent[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(api: Api, roomId: string) {
    super({ events: [], connected: undefined, incomplete: false });
    this.#notifications = new Notifications({
      base: api.base,
      token: api.token,
      room: roomId,
      history: true,
      onOpen: (gap) => this.update({ connected: true, incomplete: this.state.incomplete || gap }),
      onEvent: (event) => this.#take(event as RoomEvent),
      onLost: () => this.update({ connected: false }),
    });
  }

  /** Ends the connection. Idempotent. */
  close(): void {
    clearTimeout(this.#timer);
    this.#notifications.close();
  }

  #take(event: RoomEvent): void {
    // Of a room that was lost with its node several nodes may tell.
    if (this.#known.has(event.id)) return;
    this.#known.add(event.id);
    this.#fresh.push(event);
    this.#timer ??= setTimeout(() => this.#flush(), settleTime);
  }

  #flush(): void {
    this.#timer = undefined;
    const all = [...this.state.events, ...this.#fresh];
    this.#fresh = [];
    for (const { id } of all.slice(0, -maxEvents)) this.#known.delete(id);
    this.update({ events: all.slice(-maxEvents), incomplete: this.state.incomplete || all.length > maxEvents });
  }
}
