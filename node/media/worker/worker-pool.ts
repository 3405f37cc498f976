// Media worker pool: one worker per core, with rooms distributed over them.
import { workerBin as mediasoupWorkerBin, setLogEventListeners } from 'mediasoup';
import { ServiceError } from '../../../api/errors.ts';
import type { nodeMetrics, Readings } from '../../../api/metrics.ts';
import type { LegView } from '../../../api/room.ts';
import type { Log } from '../../common/log.ts';
import type { MediaEngine, RoomMedia, RoomMediaOptions } from '../../rooms/interfaces.ts';
import { clientAddresses } from '../addresses.ts';
import { PipeMeter } from '../legs/pipe-meter.ts';
import { receiverNumbersPatch } from '../receivers/receiver-numbers.ts';
import { type AssignedLeg, type LegLimit, MediaRoom } from '../room-media.ts';
import { type PeerTraffic, StatTotals } from '../stat-totals.ts';
import { findFreePortRange, firstPort, lastPort } from './free-ports.ts';
import { recordLastPacket } from './last-words.ts';
import { maxExtraWorkers, Quarantine } from './quarantine.ts';
import { tellSmallBuffers } from './socket-buffers.ts';
import { Suspects } from './suspects.ts';
import { isPortInUse, leastLoaded, workerFor } from './worker-load.ts';
import { missingPatches } from './worker-patches.ts';
import type { WorkerSending } from './worker-process.ts';
import { type SlotView, WorkerSlot } from './worker-slot.ts';
import { warn } from './worker-warnings.ts';

export type MediaWorkerPoolOptions = {
  log: Log;
  /** Listen address of media; IPv4 or IPv6, may be a wildcard. */
  listenIp: string;
  /** Addresses for clients, the preferred first; read for every transport. Empty: the listen address. */
  announced: () => readonly string[];
  /** Worker i uses UDP and TCP of port base + i. Undefined: the first free block starting at 50000. */
  basePort: number | undefined;
  workers: number;
  /** Maximum bit/s that a peer may send; read for every transport. */
  maxIncomingBitrate: () => number | undefined;
  /** Forwarded tracks of a worker from which new peers of a room get another leg; read for every peer. Omitted: a room has one leg. */
  maxWorkerTracks?: () => number | undefined;
  /** Source address of the TURN server of this node, as media sees it. Undefined if there is none, or if it is not distinguishable. */
  relayIp?: string | undefined;
  /** Undefined: both. */
  sending?: WorkerSending | undefined;
  /** Path of the worker binary; undefined: as mediasoup finds it (MEDIASOUP_WORKER_BIN). */
  workerBin?: string | undefined;
  /** True if other nodes accept rooms. */
  elsewhere?: () => boolean;
};

/**
 * Starts the workers. Resolves when all of them listen.
 * @throws Error with a readable message if workers cannot be started or ports are in use; all processes have ended then.
 */
export async function startMediaWorkerPool(options: MediaWorkerPoolOptions): Promise<MediaWorkerPool> {
  logMediasoup(options.log);
  const { log, listenIp, workerBin, sending } = options;
  const missing = await missingPatches(workerBin ?? mediasoupWorkerBin);
  if (missing.length > 0) log.warn({ missing }, 'media worker has missing patches, peers can crash it');
  await tellSmallBuffers(log);
  const traffic: PeerTraffic = new StatTotals(['bytesReceived', 'bytesSent']);
  const pipes = new PipeMeter();
  const slot = (index: number, extra = false) => new WorkerSlot({ index, log, listenIp, workerBin, sending, traffic, pipes, extra });
  const slots = Array.from({ length: options.workers }, (_, index) => slot(index));
  try {
    await startAll(slots);
    const base = await listenAll(slots, options);
    log.info({ workers: slots.length, listenIp, ports: `${base}-${base + slots.length - 1}` }, 'media workers listening');
    const suspects = new Suspects();
    const most = options.basePort === undefined ? maxExtraWorkers : 0;
    const quarantine = new Quarantine({
      log,
      suspects,
      listenIp,
      firstPort: base + slots.length,
      most,
      slot: (index) => slot(slots.length + index, true),
    });
    const receiverNumbers = !missing.includes(receiverNumbersPatch);
    return new MediaWorkerPool({ slots, traffic, pipes, suspects, quarantine, receiverNumbers }, options);
  } catch (error) {
    await Promise.all(slots.map((slot) => slot.close()));
    throw error;
  }
}

type EngineParts = {
  slots: readonly WorkerSlot[];
  traffic: PeerTraffic;
  pipes: PipeMeter;
  suspects: Suspects;
  quarantine: Quarantine;
  receiverNumbers: boolean;
};

/** Implements MediaEngine. close() is final. */
export class MediaWorkerPool implements MediaEngine {
  readonly #parts: EngineParts;
  readonly #options: MediaWorkerPoolOptions;
  readonly #rooms = new Set<MediaRoom>();
  #closed: Promise<void> | undefined;

  constructor(parts: EngineParts, options: MediaWorkerPoolOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  get #slots(): readonly WorkerSlot[] {
    return [...this.#parts.slots, ...this.#parts.quarantine.slots];
  }

  get receiverNumbers(): boolean {
    return this.#parts.receiverNumbers;
  }

  openRoom(options: RoomMediaOptions): RoomMedia {
    const { roomId } = options;
    const { log, listenIp, announced, maxIncomingBitrate, maxWorkerTracks, relayIp } = this.#options;
    const { suspects, quarantine } = this.#parts;
    const on = (slot: WorkerSlot, { routerId, lost }: AssignedLeg) => {
      const crash = (reason: string) => {
        suspects.note(roomId, reason);
        lost(reason);
        quarantine.roomsCrashed();
      };
      return slot.take({ roomId, routerId, crash });
    };
    const room: MediaRoom = new MediaRoom({
      ...options,
      log: log.child({ room: roomId }),
      place: (leg) => on(this.#slotFor(roomId), leg),
      another: (leg, used, limit) => {
        const slot = this.#otherSlotFor(roomId, used, limit);
        return slot && on(slot, leg);
      },
      maxWorkerTracks: maxWorkerTracks ?? (() => undefined),
      addresses: () => clientAddresses(listenIp, announced()),
      maxIncomingBitrate,
      relayIp,
      receiverNumbers: this.#parts.receiverNumbers,
      onClosed: () => {
        this.#rooms.delete(room);
        if (quarantine.slots.length > 0) quarantine.settle();
      },
    });
    this.#rooms.add(room);
    return room;
  }

  /** A room of another node crashed and may be recreated here. `reason`: as in `RoomCrashed`. */
  roomCrashedElsewhere(roomId: string, reason: string): void {
    this.#parts.suspects.note(roomId, reason);
  }

  /** @throws ServiceError `unavailable` */
  #slotFor(roomId: string): WorkerSlot {
    if (this.#closed) throw new ServiceError('unavailable', 'No media worker is running', { retryAfter: 1 });
    const { suspects, quarantine } = this.#parts;
    const suspect = suspects.has(roomId);
    // Usually there are no suspects, and a worker may have thousands of rooms.
    const some = suspects.view().count > 0;
    const workers = this.#slots.map((slot) => {
      const { isRunning, extra, forwardedTracks, rooms } = slot;
      return { slot, isRunning, extra, forwardedTracks, rooms, quarantined: some && slot.roomIds.some((each) => suspects.has(each)) };
    });
    const context = { more: quarantine.canGrow, elsewhere: this.#options.elsewhere?.() ?? false };
    const choice = workerFor(suspect, workers, context);
    if (choice) return choice.slot;
    if (!suspect) throw new ServiceError('unavailable', 'No media worker is running', { retryAfter: 1 });
    quarantine.wantMore();
    const message = 'No media worker is available for a room whose worker died twice within ten minutes';
    throw new ServiceError('unavailable', message, { retryAfter: 1 });
  }

  /** A worker for another leg of a room: regular, not used by it yet, and without rooms whose worker died. */
  #otherSlotFor(roomId: string, used: readonly number[], { maxTracks, worker }: LegLimit): WorkerSlot | undefined {
    const { slots, suspects } = this.#parts;
    if (this.#closed || suspects.has(roomId)) return undefined;
    return leastLoaded(
      slots.filter(({ isRunning, index, forwardedTracks, roomIds }) => {
        const suitable = isRunning && !used.includes(index) && forwardedTracks <= maxTracks && index === (worker ?? index);
        return suitable && !(suspects.view().count > 0 && roomIds.some((each) => suspects.has(each)));
      }),
    );
  }

  /** `forwardedTracks`: active subscriptions on all workers. */
  load(): { forwardedTracks: number } {
    return { forwardedTracks: this.#slots.reduce((sum, slot) => sum + slot.forwardedTracks, 0) };
  }

  /** One entry per core, followed by the quarantine workers; for health and metrics. */
  workers(): SlotView[] {
    return this.#slots.map((slot) => slot.view());
  }

  /** The legs of each room. */
  legs(): LegView[][] {
    return [...this.#rooms].map((room) => room.legs());
  }

  /** Bytes over WebRTC since the start, as counted by the workers. Never rejects; takes at most 2 s. */
  async traffic(): Promise<Readings<typeof nodeMetrics.mediaTraffic>> {
    const { bytesReceived, bytesSent } = await this.#parts.traffic.read();
    return { received: bytesReceived, sent: bytesSent };
  }

  /** What the workers send to each other. */
  get pipes(): PipeMeter {
    return this.#parts.pipes;
  }

  /** Number of routers on all workers, for leak detection. */
  async countRouters(): Promise<number> {
    const counts = await Promise.all(this.#slots.map((slot) => slot.countRouters()));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Ends all rooms and workers; resolves when all processes have ended. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    for (const room of [...this.#rooms]) room.close();
    const { slots, quarantine } = this.#parts;
    await Promise.all([...slots.map((slot) => slot.close()), quarantine.close()]);
  }
}

async function startAll(slots: readonly WorkerSlot[]): Promise<void> {
  const results = await Promise.allSettled(slots.map((slot) => slot.start()));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw new Error(`The media worker could not be started: ${reasonOf(failed.reason)}`, { cause: failed.reason });
}

/** Binds worker i to base + i and returns the base. */
async function listenAll(slots: readonly WorkerSlot[], { basePort, listenIp }: MediaWorkerPoolOptions): Promise<number> {
  const count = slots.length;
  if (basePort !== undefined) {
    if (basePort + count - 1 > lastPort)
      throw new Error(`${count} media workers need ports ${basePort} to ${basePort + count - 1}, but the last port is ${lastPort}.`);
    const taken = await listenFrom(slots, basePort);
    if (taken === undefined) return basePort;
    throw new Error(
      `Port ${taken} (UDP and TCP) at ${listenIp} is in use, but ${count} media workers need ports ${basePort} to ${basePort + count - 1}.`,
    );
  }
  for (let from = firstPort; ; ) {
    const base = await findFreePortRange(listenIp, count, from).catch((error: unknown) => {
      throw new Error(`Media cannot listen at ${listenIp}: ${reasonOf(error)}`, { cause: error });
    });
    if (base === undefined) throw new Error(`No ${count} consecutive ports are free at ${listenIp} from ${firstPort} on.`);
    const taken = await listenFrom(slots, base);
    if (taken === undefined) return base;
    from = taken + 1;
  }
}

/** Undefined if all workers listen, else the port that is in use; no worker listens then. */
async function listenFrom(slots: readonly WorkerSlot[], base: number): Promise<number | undefined> {
  for (const [index, slot] of slots.entries()) {
    try {
      await slot.listen(base + index);
    } catch (error) {
      for (const other of slots) other.unlisten();
      if (isPortInUse(error)) return base + index;
      throw new Error(`Media cannot listen at port ${base + index}: ${reasonOf(error)}`, { cause: error });
    }
  }
  return undefined;
}

function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.?$/, '.');
}

/** mediasoup logs per process: its lines go to the pool that started last. */
function logMediasoup(log: Log): void {
  setLogEventListeners({
    ondebug: undefined,
    onwarn: (namespace, text) => {
      if (!warn(text)) log.debug({ namespace }, text);
    },
    onerror: (namespace, text, error) => {
      recordLastPacket(text);
      if (warn(text)) return;
      // The worker slot logs an unexpected death itself.
      const level = /^worker process died unexpectedly/.test(text) ? 'debug' : 'warn';
      log[level]({ namespace, err: error }, text);
    },
  });
}
