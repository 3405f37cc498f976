// The rooms of the whole cluster, live: fetched whenever the notification socket opens, kept up to date by events that are shown a few times a second.
import type { RoomEvent } from '../../../server-sdk/src/generated/schemas.ts';
import { Notifications } from '../api/notifications.ts';
import { type Api, ApiError } from '../api/rest.ts';
import { Store } from '../hooks/store.ts';
import { RoomList, type RoomRow } from './room-list.ts';

export type LiveRoomsState = {
  /** By id; undefined until the first answer. */
  rows: readonly RoomRow[] | undefined;
  /** Nodes that did not answer: their rooms are missing. */
  incomplete: readonly string[];
  connected: boolean;
};

/** Time in which events are gathered before the page changes. */
const showIntervalMs = 250;
/** Shortest time between two fetches of the whole list, and longest while it fails or nodes do not answer. */
const fetchDelay = 3_000;
const maxFetchDelay = 30_000;
/** New rooms that are asked for one by one in the time of one fetch of the list; with more than that the whole list is fetched. */
const maxProbes = 4;

export class LiveRooms extends Store<LiveRoomsState> {
  readonly #api: Api;
  readonly #notifications: Notifications;
  readonly #closing = new AbortController();
  #list = new RoomList();
  /** Events that came while the list was fetched: they are applied to its answer, too. */
  #during: RoomEvent[] | undefined;
  #again = false;
  #fetchDelay = fetchDelay;
  /** New rooms by id, each with the events that came since: they are applied to what REST says of it, too. */
  readonly #new = new Map<string, RoomEvent[]>();
  /** Those of them that are not asked for yet. */
  #unasked: string[] = [];
  /** When rooms were asked for one by one, in the last `fetchDelay`. */
  #asked: number[] = [];
  #showTimer: ReturnType<typeof setTimeout> | undefined;
  #fetchTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(api: Api) {
    super({ rows: undefined, incomplete: [], connected: true });
    this.#api = api;
    this.#notifications = new Notifications({
      base: api.base,
      token: api.token,
      onOpen: () => {
        this.update({ connected: true });
        void this.#fetch();
      },
      onEvent: (event) => this.#receive(event),
      onLost: () => this.#lost(),
    });
    void this.#fetch();
  }

  /** Ends the socket, the timers and what is under way. Idempotent. */
  close(): void {
    this.#closing.abort();
    this.#notifications.close();
    clearTimeout(this.#showTimer);
    clearTimeout(this.#fetchTimer);
  }

  #receive(event: RoomEvent): void {
    this.#during?.push(event);
    this.#list.apply(event);
    this.#new.get(event.roomId)?.push(event);
    if (event.type === 'RoomCreated' && !this.#list.has(event) && !this.#new.has(event.roomId)) this.#askFor(event.roomId);
    this.#showTimer ??= setTimeout(() => this.#show(), showIntervalMs);
  }

  #show(): void {
    this.#showTimer = undefined;
    const fresh = this.#unasked.splice(0);
    const now = Date.now();
    this.#asked = this.#asked.filter((time) => now - time < fetchDelay);
    if (fresh.length + this.#asked.length > maxProbes) {
      for (const roomId of fresh) this.#new.delete(roomId);
      this.#fetchLater();
    } else {
      for (const roomId of fresh) void this.#fetchOne(roomId);
    }
    if (this.state.rows) this.update({ rows: this.#list.rows() });
  }

  /** A token that is not accepted any more closes the socket as well: only REST says which of both it was. */
  #lost(): void {
    this.update({ connected: false });
    this.#api.check(this.#closing.signal).catch(() => undefined);
  }

  async #fetchOne(roomId: string): Promise<void> {
    this.#asked.push(Date.now());
    try {
      const room = await this.#api.getRoom(roomId, this.#closing.signal);
      if (this.#closing.signal.aborted) return;
      this.#list.put(room);
      for (const event of this.#new.get(roomId) ?? []) this.#list.apply(event);
      // A list that is under way may have been made before this room.
      if (this.#during) this.#again = true;
      this.#showTimer ??= setTimeout(() => this.#show(), showIntervalMs);
    } catch (error) {
      // Gone already; all else comes with the next fetch of the list.
      if (!(error instanceof ApiError && error.status === 404)) this.#fetchLater();
    } finally {
      const since = this.#new.get(roomId) ?? [];
      this.#new.delete(roomId);
      // It was made again meanwhile: the answer was about the one before, or about none.
      if (since.some((event) => event.type === 'RoomCreated' && !this.#list.has(event))) this.#askFor(roomId);
    }
  }

  #askFor(roomId: string): void {
    if (this.#closing.signal.aborted) return;
    this.#new.set(roomId, []);
    this.#unasked.push(roomId);
    this.#showTimer ??= setTimeout(() => this.#show(), showIntervalMs);
  }

  #fetchLater(): void {
    if (this.#closing.signal.aborted) return;
    this.#fetchTimer ??= setTimeout(() => {
      this.#fetchTimer = undefined;
      void this.#fetch();
    }, this.#fetchDelay);
  }

  async #fetch(): Promise<void> {
    if (this.#during) {
      this.#again = true;
      return;
    }
    const during: RoomEvent[] = [];
    this.#during = during;
    this.#again = false;
    try {
      const { rooms, incomplete } = await this.#api.listRooms(this.#closing.signal);
      if (this.#closing.signal.aborted) return;
      const list = new RoomList(rooms);
      for (const event of during) list.apply(event);
      this.#list = list;
      this.update({ rows: list.rows(), incomplete });
      this.#fetchDelay = incomplete.length === 0 ? fetchDelay : Math.min(maxFetchDelay, this.#fetchDelay * 2);
      // Rooms made meanwhile, and those of nodes that did not answer, may be there the next time.
      this.#again ||= incomplete.length > 0 || during.some((event) => event.type === 'RoomCreated' && !list.has(event));
    } catch (error) {
      // The session hears of a token that is not accepted; everything else passes.
      this.#again = !(error instanceof ApiError && error.status === 401);
      this.#fetchDelay = Math.min(maxFetchDelay, this.#fetchDelay * 2);
    } finally {
      this.#during = undefined;
    }
    if (this.#again) this.#fetchLater();
  }
}
