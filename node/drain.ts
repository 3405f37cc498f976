// Drain: rejects new rooms, ends rooms that are not busy at once and the others at their end or at the deadline. Cancellable until shutdown.
import { ServiceError } from '../api/errors.ts';
import type { DrainView, NodeState } from '../api/node.ts';
import { operations } from '../api/operations/table.ts';
import type { FeatureContext } from './common/feature-context.ts';
import type { Log } from './common/log.ts';
import { Timer } from './common/timer.ts';
import { busyOf } from './rooms/busy.ts';
import type { LocalRooms } from './rooms/local-rooms.ts';

export type DrainOptions = {
  rooms: { drain(): Promise<void>; cancelDrain(): void; close(reason: string): void; readonly size: number };
  /** Notifies every peer of the deadline; null: the drain was cancelled. */
  notifyPeers: (deadline: Date | null) => void;
  stateChanged: (state: NodeState) => void;
  log: Log;
};

export class Drain {
  readonly #options: DrainOptions;
  #state: NodeState = 'accepting';
  #deadline: Timer | undefined;
  #until: Date | null = null;

  constructor(options: DrainOptions) {
    this.#options = options;
  }

  /** When the remaining rooms end; null while the node accepts rooms. */
  get deadline(): Date | null {
    return this.#state === 'accepting' ? null : this.#until;
  }

  get state(): NodeState {
    return this.#state;
  }

  /** @param timeout milliseconds until busy rooms end @throws ServiceError `terminating` */
  start(timeout: number): void {
    this.#assertNotTerminating();
    void this.#begin('draining', timeout);
  }

  /** @throws ServiceError `terminating` */
  cancel(): void {
    this.#assertNotTerminating();
    if (this.#state === 'accepting') return;
    this.#deadline?.stop();
    this.#options.rooms.cancelDrain();
    this.#set('accepting');
    this.#options.notifyPeers(null);
    this.#options.log.info('drain cancelled');
  }

  /** Final drain: resolves when no room is left, at the latest at the deadline. */
  async terminate(timeout: number): Promise<void> {
    await this.#begin('terminating', timeout);
    this.#deadline?.stop();
  }

  async #begin(state: NodeState, timeout: number): Promise<void> {
    const { rooms, notifyPeers, log } = this.#options;
    const deadline = new Date(Date.now() + timeout);
    this.#deadline?.stop();
    this.#until = deadline;
    this.#set(state);
    log.info({ state, rooms: rooms.size, deadline }, 'draining');
    if (timeout === 0) rooms.close(state === 'terminating' ? 'shutdown' : 'draining');
    const empty = rooms.drain();
    if (rooms.size > 0) notifyPeers(deadline);
    if (rooms.size > 0) this.#deadline = new Timer(timeout, () => rooms.close('draining'));
    await empty;
  }

  #set(state: NodeState): void {
    this.#state = state;
    this.#options.stateChanged(state);
  }

  #assertNotTerminating(): void {
    if (this.#state === 'terminating') throw new ServiceError('terminating', 'This node is shutting down; its drain cannot be cancelled');
  }
}

export type DrainContext = Pick<FeatureContext, 'log' | 'registry'> & {
  rooms: LocalRooms;
  peerSockets: { drainingNotice(deadline: Date | null): void };
  membership: { stateChanged(state: NodeState): void };
  /** Milliseconds, if a request has none. */
  config: { drainTimeout: number };
};

/** The end of the node terminates the drain. */
export function createDrain({ log, registry, rooms, peerSockets, membership, config: { drainTimeout } }: DrainContext): Drain {
  const drain = new Drain({
    log,
    rooms,
    notifyPeers: (deadline) => peerSockets.drainingNotice(deadline),
    stateChanged: (state) => membership.stateChanged(state),
  });
  registry.serve(operations, {
    getDrain: () => viewOf(drain, rooms, drainTimeout),
    drainNode: ({ body: { deadline } }) => drain.start(deadline === undefined ? drainTimeout : deadline * 1000),
    cancelDrain: () => drain.cancel(),
  });
  return drain;
}

function viewOf({ state, deadline }: Drain, rooms: LocalRooms, drainTimeout: number): DrainView {
  return {
    state,
    deadline: deadline?.toISOString() ?? null,
    defaultDeadline: Math.floor(drainTimeout / 1000),
    rooms: rooms.size,
    roomsWithPeers: [...rooms.all()].filter((room) => room.peers.connectedCount > 0).length,
    connectedPeers: rooms.connectedPeers,
    busy: busyOf(rooms.all()),
  };
}
