// Live rooms: the rooms of the cluster, fetched when the event stream opens and updated by events.
import type { RoomEvent } from '../../../server-sdk/src/generated/schemas.ts';
import { Notifications } from '../api/notifications.ts';
import { type Api, ApiError } from '../api/rest.ts';
import { Store } from '../hooks/store.ts';
import { RoomList, type RoomRow } from './room-list.ts';

export type LiveRoomsState = {
  /** Sorted by id; undefined until the first response. */
  rows: readonly RoomRow[] | undefined;
  /** Unreachable nodes, whose rooms are missing. */
  incomplete: readonly string[];
  connected: boolean;
};

/** Milliseconds in which events are collected into one update of the page. */
const showIntervalMs = 250;
/** Minimum delay between two fetches of the list; maximum while fetches fail or nodes are unreachable. */
const fetchDelay = 3_000;
const maxFetchDelay = 30_000;
/** Maximum number of new rooms that are fetched one by one within `fetchDelay`; beyond it the list is fetched. */
const maxProbes = 4;

export class LiveRooms extends Store<LiveRoomsState> {
  readonly #api: Api;
  readonly #notifications: Notifications;
  readonly #closing = new AbortController();
  #list = new RoomList();
  /** Events received while the list is fetched: they are applied to the response as well. */
  #during: RoomEvent[] | undefined;
  #again = false;
  #fetchDelay = fetchDelay;
  /** New rooms by id, with the events received since: they are applied to the fetched room as well. */
  readonly #new = new Map<string, RoomEvent[]>();
  /** New rooms that are not requested yet. */
  #unasked: string[] = [];
  /** Times of single room requests within the last `fetchDelay`. */
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

  /** Closes the socket, clears timers and aborts requests. Idempotent. */
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

  /** A rejected token closes the socket as well: a REST request shows whether it was that or a lost connection. */
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
      // A pending list may be older than this room.
      if (this.#during) this.#again = true;
      this.#showTimer ??= setTimeout(() => this.#show(), showIntervalMs);
    } catch (error) {
      // 404: the room has ended already. Other errors are resolved by the next fetch of the list.
      if (!(error instanceof ApiError && error.status === 404)) this.#fetchLater();
    } finally {
      const since = this.#new.get(roomId) ?? [];
      this.#new.delete(roomId);
      // The room was recreated meanwhile: the response belongs to the previous incarnation, or was a 404.
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
      // Rooms created meanwhile, and rooms of unreachable nodes, need another fetch.
      this.#again ||= incomplete.length > 0 || during.some((event) => event.type === 'RoomCreated' && !list.has(event));
    } catch (error) {
      // The session handles a rejected token; other errors are temporary.
      this.#again = !(error instanceof ApiError && error.status === 401);
      this.#fetchDelay = Math.min(maxFetchDelay, this.#fetchDelay * 2);
    } finally {
      this.#during = undefined;
    }
    if (this.#again) this.#fetchLater();
  }
}
