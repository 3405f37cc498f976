// The rooms of the whole cluster, live: fetched whenever the notification socket opens, kept up to date by events.
import { useEffect, useState } from 'react';
import { Notifications } from '../api/notifications.ts';
import { type Api, ApiError } from '../api/rest.ts';
import { applyRoomEvent } from '../api/room-changes.ts';
import type { Room, RoomEvent } from '../api/shapes.ts';

export type RoomsState = {
  /** Undefined until the first answer. */
  rooms: readonly Room[] | undefined;
  incomplete: readonly string[];
  connected: boolean;
};

/** Time that the first connection may take before it is called lost, and between two fetches of the list. */
const refetchDelay = 500;

export function useRooms(api: Api): RoomsState {
  const [state, setState] = useState<RoomsState>({ rooms: undefined, incomplete: [], connected: true });
  useEffect(() => {
    const list = new LiveRooms(api, (change) => setState((before) => ({ ...before, ...change(before) })));
    return () => list.close();
  }, [api]);
  return state;
}

type Change = (before: RoomsState) => Partial<RoomsState>;

/** Orders what comes over REST and what comes over the socket: events that arrive during a fetch are applied to its answer as well. */
class LiveRooms {
  readonly #api: Api;
  readonly #update: (change: Change) => void;
  readonly #notifications: Notifications;
  #during: RoomEvent[] | undefined;
  #again = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(api: Api, update: (change: Change) => void) {
    this.#api = api;
    this.#update = update;
    this.#notifications = new Notifications({
      base: api.base,
      token: api.token,
      onOpen: () => {
        update(() => ({ connected: true }));
        this.#fetch();
      },
      onEvent: (event) => this.#apply(event),
      onLost: () => update(() => ({ connected: false })),
    });
    this.#fetch();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#notifications.close();
  }

  #apply(event: RoomEvent): void {
    this.#during?.push(event);
    this.#update(({ rooms }) => ({ rooms: rooms && applyRoomEvent(rooms, event) }));
    if (event.type === 'RoomCreated') this.#fetchSoon();
  }

  #fetchSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#fetch(), refetchDelay / 5);
  }

  #fetch(): void {
    if (this.#during) {
      this.#again = true;
      return;
    }
    const during: RoomEvent[] = [];
    this.#during = during;
    this.#api
      .listRooms()
      .then(
        ({ rooms, incomplete }) => {
          if (!this.#closed) this.#update(() => ({ rooms: during.reduce(applyRoomEvent, rooms as readonly Room[]), incomplete }));
        },
        (error: unknown) => {
          if (this.#closed || (error instanceof ApiError && error.status === 401)) return;
          // The token is checked where it is used; everything else passes, so the list asks again.
          this.#again = true;
        },
      )
      .finally(() => {
        this.#during = undefined;
        if (!this.#again || this.#closed) return;
        this.#again = false;
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#fetch(), refetchDelay);
      });
  }
}
