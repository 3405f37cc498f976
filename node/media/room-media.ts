// Media of one room: a router on one worker, created on first use.
import type { DataProducer, Producer, Router } from 'mediasoup/types';
import type { Log } from '../common/log.ts';
import type { PeerMedia, PeerMediaListener, RoomMedia, RoomMediaOptions, RtpEgress, RtpIngress, WireObject } from '../rooms/interfaces.ts';
import { RoomActiveSpeaker } from './active-speaker-observer.ts';
import { clientCapabilities, roomCodecs } from './codecs.ts';
import type { DirectMessages } from './data/peer-data.ts';
import { mediaClosedError, toWorkerError } from './media-error.ts';
import { MediaPeer } from './peer-media.ts';
import { RtpEgressTransport } from './rtp-egress.ts';
import { RtpIngressTransport } from './rtp-ingress.ts';
import type { WorkerAssignment } from './worker/worker-slot.ts';

/** Limit of a message that passes the node, as of one of a data channel. */
const maxMessageBytes = 256 * 1024;

export type MediaRoomOptions = RoomMediaOptions & {
  log: Log;
  place: WorkerAssignment;
  /** Addresses for clients. @throws ServiceError if none is known yet */
  addresses: () => readonly string[];
  maxIncomingBitrate: () => number | undefined;
  relayIp: string | undefined;
  receiverNumbers: boolean;
  onClosed: () => void;
};

export class MediaRoom implements RoomMedia {
  readonly #options: MediaRoomOptions;
  readonly #audio: RoomActiveSpeaker;
  readonly #peers = new Set<MediaPeer>();
  readonly #inputs = new Set<RtpIngressTransport>();
  readonly #outputs = new Set<RtpEgressTransport>();
  readonly #tracks = new Map<string, Producer>();
  readonly #dataTracks = new Map<string, DataProducer>();
  #router: Promise<Router> | undefined;
  #direct: Promise<DirectMessages> | undefined;
  #opened: Router | undefined;
  #closed = false;

  constructor(options: MediaRoomOptions) {
    this.#options = options;
    this.#audio = new RoomActiveSpeaker(options.place.worker, options.log, {
      onActiveSpeaker: (peerId) => {
        if (!this.#closed) options.onActiveSpeaker(peerId);
      },
      onAudioLevels: (levels) => {
        if (!this.#closed) options.onAudioLevels(levels);
      },
    });
  }

  async rtpCapabilities(): Promise<WireObject> {
    const router = await this.#getRouter();
    return clientCapabilities(router.rtpCapabilities);
  }

  openPeer(peerId: string, listener: PeerMediaListener): PeerMedia {
    if (this.#closed) throw mediaClosedError();
    const { log, place, addresses, maxIncomingBitrate, relayIp, receiverNumbers } = this.#options;
    const peer: MediaPeer = new MediaPeer({
      log: log.child({ peer: peerId }),
      worker: place.worker,
      listener,
      tracks: this.#tracks,
      dataTracks: this.#dataTracks,
      router: () => this.#getRouter(),
      direct: () => this.#getDirect(),
      addresses,
      maxIncomingBitrate,
      relayIp,
      receiverNumbers,
      countForwarded: place.countForwarded,
      onAudio: (router, producer) => void this.#audio.add(router, producer, peerId),
      onClosed: () => this.#peers.delete(peer),
    });
    this.#peers.add(peer);
    return peer;
  }

  openInput(): RtpIngress {
    if (this.#closed) throw mediaClosedError();
    const input: RtpIngressTransport = new RtpIngressTransport({
      worker: this.#options.place.worker,
      tracks: this.#tracks,
      router: () => this.#getRouter(),
      onClosed: () => this.#inputs.delete(input),
    });
    this.#inputs.add(input);
    return input;
  }

  openOutput(): RtpEgress {
    if (this.#closed) throw mediaClosedError();
    const { place } = this.#options;
    const output: RtpEgressTransport = new RtpEgressTransport({
      worker: place.worker,
      tracks: this.#tracks,
      router: () => this.#getRouter(),
      countForwarded: place.countForwarded,
      onClosed: () => this.#outputs.delete(output),
    });
    this.#outputs.add(output);
    return output;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#audio.close();
    // Closing the router first ends all media of peers in one message. A router that is still being created closes itself.
    if (this.#opened) this.#options.place.worker.closeRouter(this.#opened);
    for (const peer of [...this.#peers]) peer.close();
    for (const input of [...this.#inputs]) input.close();
    for (const output of [...this.#outputs]) output.close();
    this.#options.place.release();
    this.#options.onClosed();
  }

  /** Id of its router, also after it closed; undefined if there was none. */
  get routerId(): string | undefined {
    return this.#opened?.id;
  }

  /** The worker died. */
  crash(reason: string): void {
    if (this.#closed) return;
    this.close();
    this.#options.onCrashed(reason);
  }

  /** Created for the first peer whose data channels end at the node. */
  #getDirect(): Promise<DirectMessages> {
    this.#direct ??= this.#createDirect().catch((error: unknown) => {
      this.#direct = undefined;
      throw error;
    });
    return this.#direct;
  }

  async #createDirect(): Promise<DirectMessages> {
    const { worker } = this.#options.place;
    const router = await this.#getRouter();
    try {
      const direct = await worker.call('create direct transport', router.createDirectTransport({ maxSendMessageSize: maxMessageBytes }));
      return { direct, source: await worker.call('create message source', direct.produceData({ label: 'node' })) };
    } catch (error) {
      throw toWorkerError(error, mediaClosedError);
    }
  }

  #getRouter(): Promise<Router> {
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

  async #createRouter(): Promise<Router> {
    const { place, videoCodec } = this.#options;
    const router = await place.worker.createRouter(roomCodecs(videoCodec)).catch((error: unknown) => {
      throw toWorkerError(error, mediaClosedError);
    });
    if (this.#closed) {
      router.close();
      throw mediaClosedError();
    }
    this.#opened = router;
    return router;
  }
}
