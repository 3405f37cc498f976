// Event log: history and live events of one room, bounded, without gaps after a reconnect.
import type { RoomEvent } from '../../../../server-sdk/src/generated/schemas.ts';
import { Notifications } from '../../api/notifications.ts';
import type { Api } from '../../api/rest.ts';
import { Store } from '../../hooks/store.ts';

/** Maximum number of kept events; older ones are dropped. */
export const maxEvents = 1_000;
/** Milliseconds in which a burst of events is collected into one update. */
const settleTime = 80;

export type EventLogState = {
  /** The newest last. */
  events: readonly RoomEvent[];
  /** True while events are received. Undefined before the first connection. */
  connected: boolean | undefined;
  /** True if events are missing: the nodes or this log have dropped them. */
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
    // Several nodes may report the loss of a room.
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
