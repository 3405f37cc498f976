// Leg of a room: its router on one media worker, created on first use.
import type { DataProducer, DirectTransport, Router, RouterRtpCodecCapability } from 'mediasoup/types';
import { mediaClosedError, toWorkerError } from '../media-error.ts';
import type { WorkerProcess } from '../worker/worker-process.ts';
import type { WorkerAssignment } from '../worker/worker-slot.ts';

/** Limit of a message that passes the node, as of one of a data channel. */
const maxMessageBytes = 256 * 1024;

/** Passes messages between the node and a media worker. */
export type DirectMessages = { direct: DirectTransport; source: DataProducer };

export type LegOptions = {
  place: WorkerAssignment;
  codecs: RouterRtpCodecCapability[];
};

export class Leg {
  readonly #options: LegOptions;
  #router: Promise<Router> | undefined;
  #direct: Promise<DirectMessages> | undefined;
  #opened: Router | undefined;
  #forwarded = 0;
  #closed = false;

  constructor(options: LegOptions) {
    this.#options = options;
  }

  get worker(): WorkerProcess {
    return this.#options.place.worker;
  }

  /** Index of its media worker. */
  get workerIndex(): number {
    return this.#options.place.index;
  }

  /** Tracks that the room forwards on it. */
  get forwardedTracks(): number {
    return this.#forwarded;
  }

  /** Tracks that all rooms forward on its media worker. */
  get workerLoad(): number {
    return this.#options.place.forwardedTracks();
  }

  /** Id of its router, also after it closed; undefined if there was none. */
  get routerId(): string | undefined {
    return this.#opened?.id;
  }

  countForwarded(change: 1 | -1): void {
    this.#forwarded += change;
    this.#options.place.countForwarded(change);
  }

  router(): Promise<Router> {
    if (this.#closed) return Promise.reject(mediaClosedError());
    if (!this.#router) {
      const router = this.#createRouter();
      // Allows a retry by the next call.
      router.catch(() => {
        this.#router = undefined;
      });
      this.#router = router;
    }
    return this.#router;
  }

  /** Created for the first peer whose data channels end at the node. */
  direct(): Promise<DirectMessages> {
    this.#direct ??= this.#createDirect().catch((error: unknown) => {
      this.#direct = undefined;
      throw error;
    });
    return this.#direct;
  }

  /** Ends all media on it with one message. A router that is still being created closes itself. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#opened) this.worker.closeRouter(this.#opened);
    this.#options.place.release();
  }

  async #createRouter(): Promise<Router> {
    const router = await this.worker.createRouter(this.#options.codecs).catch((error: unknown) => {
      throw toWorkerError(error, mediaClosedError);
    });
    if (this.#closed) {
      router.close();
      throw mediaClosedError();
    }
    this.#opened = router;
    return router;
  }

  async #createDirect(): Promise<DirectMessages> {
    const { worker } = this;
    const router = await this.router();
    try {
      const direct = await worker.call('create direct transport', router.createDirectTransport({ maxSendMessageSize: maxMessageBytes }));
      return { direct, source: await worker.call('create message source', direct.produceData({ label: 'node' })) };
    } catch (error) {
      throw toWorkerError(error, mediaClosedError);
    }
  }
}
