// Room session: what exists only while a peer is connected: its media, publications and subscriptions, and the data that it sends.
import { ServiceError, toServiceError } from '../../../api/errors.ts';
import type { Transcript } from '../../../api/events.ts';
import type { Metadata } from '../../../api/json.ts';
import type { Permissions } from '../../../api/peer.ts';
import type { PeerEvent, Target } from '../../../api/socket/peer-events.ts';
import type { RpcRequest } from '../../../api/socket/rpc.ts';
import type { PeerMediaStats } from '../../../api/stats.ts';
import type { Log } from '../../common/log.ts';
import type { PeerConnection, PeerMedia, PeerMediaListener, ProgrammeTracks, TransportUse, WireObject } from '../interfaces.ts';
import type { RpcOutcome } from '../rpcs.ts';
import type { Track } from '../track.ts';
import { DataSubscriptions } from './data/data-subscriptions.ts';
import type { DataBudget } from './data-budget.ts';
import type { Moderation } from './moderation.ts';
import { MediaPaths } from './paths/media-paths.ts';
import type { PeerContext } from './peer-context.ts';
import { Publications } from './publications.ts';
import { Subscriptions } from './subscriptions.ts';

export type RoomSessionOptions = {
  peerId: string;
  log: Log;
  enableSimulcast: boolean;
  permissions: () => Permissions;
  /** Both outlive the session. */
  moderation: Moderation;
  dataBudget: DataBudget;
  /** The media failed permanently. */
  failed: (reason: string) => void;
  /** The media was lost, and the client cannot create it again in this session. */
  mediaLost: () => void;
  firstFrame: PeerMediaListener['firstFrame'];
};
export type DataRequest = { label: string; payload: Metadata; to?: readonly string[] | undefined };

export type RelayRequest = {
  message: object;
  bytes: number;
  to?: readonly string[] | undefined;
  data?: { label: string; payload: Metadata } | undefined;
  transcripts?: readonly Transcript[];
};

/** Lives from connect to disconnect of its peer. */
export class RoomSession {
  readonly connection: PeerConnection;
  readonly paths: MediaPaths;
  readonly publications: Publications;
  /** True if the peer requested audio levels. */
  audioLevels = false;
  readonly #options: RoomSessionOptions;
  readonly #room: PeerContext;
  #ended = false;

  constructor(connection: PeerConnection, options: RoomSessionOptions, room: PeerContext) {
    const { peerId, log, enableSimulcast, permissions, moderation } = options;
    this.connection = connection;
    this.#options = options;
    this.#room = room;
    this.paths = this.#openPaths(this.#receiveData());
    this.publications = new Publications({
      peerId,
      enableSimulcast,
      log,
      paths: this.paths,
      moderation,
      send: (event) => connection.send(event),
      announce: room.announce,
      permissions,
      dataReceivers: () => room.dataReceivers(peerId),
      audioOnly: room.audioOnly,
      maxTracks: room.maxTracks,
    });
  }

  get media(): PeerMedia {
    return this.paths.media;
  }

  get subscriptions(): Subscriptions {
    return this.paths.subscriptions;
  }

  #receiveData(): DataSubscriptions {
    const { connection } = this;
    const { peerId, log, permissions } = this.#options;
    return new DataSubscriptions({
      log,
      media: () => this.media,
      send: (event) => connection.send(event),
      follows: () => this.paths.supported,
      published: () => this.#room.publishedFor(peerId).dataTracks,
      allowed: () => permissions().subscribe && permissions().data && !connection.dataInNode,
    });
  }

  #openPaths(dataSubscriptions: DataSubscriptions): MediaPaths {
    const { connection } = this;
    const room = this.#room;
    const { peerId, log, permissions, failed, firstFrame } = this.#options;
    return new MediaPaths({
      peerId,
      room: room.media,
      queue: room.moves,
      listener: {
        layersChanged: (trackId, layers) => connection.send({ event: 'layersChanged', data: { trackId, layers } }),
        layerNeeded: (trackId, layer) => {
          connection.layerNeeded?.(trackId, layer);
          this.publications.layerNeeded(trackId, layer);
        },
        ...(connection.transportChanged && { transportChanged: (state) => connection.transportChanged?.(state) }),
        firstFrame,
      },
      subscriptions: (media) =>
        new Subscriptions({
          log,
          media,
          send: (event) => connection.send(event),
          published: () => room.publishedFor(peerId).tracks,
          data: dataSubscriptions,
          received: room.received,
          allowed: () => permissions().subscribe,
          follows: () => this.paths.supported,
        }),
      holdsPath: () => this.publications.holdsPath,
      awaited: () => [...this.publications.tracks].some(({ id, silent }) => !silent && room.awaited(id)),
      dataSubscriptions,
      data: {
        change: () => Promise.all([dataSubscriptions.changePath(), this.publications.data.changePath()]),
        awaited: () => dataSubscriptions.awaits() || this.publications.data.awaited,
      },
      failed,
      lost: () => this.#mediaLost(),
      migrate: (path) => this.send({ event: 'migrate', data: { reason: 'moved', path } }),
      pathUsed: (path, media) => {
        this.publications.succession.finish(() => media.close());
        if (!this.#ended) this.send({ event: 'pathUsed', data: { path } });
      },
      pathClosed: (path) => {
        this.publications.cancelPath();
        if (!this.#ended) this.send({ event: 'pathClosed', data: { path } });
      },
    });
  }

  /** Its tracks are interrupted until the client has published them again; its subscriptions follow its new receive transport. */
  #mediaLost(): void {
    this.paths.cancel('Its media was lost');
    if (!this.publications.client.migrates) {
      this.#options.mediaLost();
      return;
    }
    this.publications.mediaLost();
    this.subscriptions.transportEnded({ again: true });
    this.send({ event: 'migrate', data: { reason: 'lost' } });
  }

  /** Tracks of the others that the peer is permitted to receive. */
  receivableTracks(): Iterable<Track> {
    return this.#options.permissions().subscribe ? this.#room.publishedFor(this.#options.peerId).tracks : [];
  }

  /** The programme of the room, if it is sent, and shows nothing that the peer is not permitted to receive. */
  get programme(): ProgrammeTracks | undefined {
    const permitted = this.#options.permissions().subscribe && this.#room.mayReceiveAll(this.#options.peerId);
    return permitted ? this.#room.programme.tracks : undefined;
  }

  /** The programme is sent until the returned function is called. `changed` is called when its tracks change. */
  watchProgramme(changed: () => void): () => void {
    return this.#room.programme.watch(changed);
  }

  async createTransport(use: TransportUse, { sctp, path }: { sctp: boolean; path?: string | undefined }): Promise<WireObject> {
    if (use !== 'recv' && path === undefined) this.publications.clear();
    const permitted = this.#options.permissions().data || this.connection.dataInNode === true;
    return this.paths.createTransport(use, { sctp: sctp && permitted, path });
  }

  /** @throws ServiceError `forbidden`, `too_large`, `too_many_requests` */
  sendData({ label, payload, to }: DataRequest): void {
    const { peerId } = this.#options;
    this.#chargeData(payload, to ? { to, except: peerId } : { except: peerId });
    this.#room.announce({ kind: 'dataSent', from: peerId, label, payload, to });
  }

  /** @throws ServiceError `forbidden` */
  setRoomMetadata(metadata: Metadata | null): void {
    if (!this.#options.permissions().roomMetadata)
      throw new ServiceError('forbidden', 'This peer is not permitted to set the metadata of the room');
    this.#room.setMetadata(metadata);
  }

  /**
   * Like sendData(), with a message that connections of one protocol exchange. `data`: the same for all other peers; `transcripts`: those that
   * it completes.
   */
  relay({ message, bytes, to, data, transcripts = [] }: RelayRequest): void {
    const { peerId } = this.#options;
    const target = to ? { to, except: peerId } : { except: peerId };
    this.#charge(bytes, target);
    this.#room.relay(message, target);
    if (data) this.#room.announce({ kind: 'dataSent', from: peerId, ...data, to });
    for (const transcript of transcripts) this.#room.announce({ kind: 'transcriptAdded', peerId, transcript, to });
  }

  /** True if this peer may receive a track of another one. */
  mayReceive(publisherId: string, trackId: string): boolean {
    return this.#room.mayReceive(this.#options.peerId, publisherId, trackId);
  }

  receiversChanged(publisherId: string): void {
    this.subscriptions.enforce();
    this.connection.receiversChanged?.(publisherId);
  }

  /** The response follows as an event. @throws ServiceError `forbidden`, `peer_not_found`, `too_large`, `too_many_requests` */
  sendRpc({ rpcId, to, ...request }: RpcRequest & { rpcId: string; to: string }): void {
    this.#chargeData(request.payload, { to: [to] });
    const failed = (error: unknown) => {
      const { code, message } = toServiceError(error);
      this.send({ event: 'rpcFailed', data: { rpcId, code, message } });
    };
    const responded = (payload: Metadata) => this.send({ event: 'rpcResponded', data: { rpcId, payload } });
    this.#room.requestRpc(this.#options.peerId, to, request).then(responded, failed);
  }

  /** Responds to an RPC, also without the permission to send data. @throws ServiceError `not_found`, `too_large` */
  respondRpc({ rpcId, ...outcome }: RpcOutcome & { rpcId: string }): void {
    this.#checkSize(outcome.payload ?? null);
    this.#room.respondRpc(this.#options.peerId, rpcId, outcome);
  }

  #chargeData(payload: Metadata, target: Target): void {
    this.#charge(this.#checkSize(payload), target);
  }

  #charge(bytes: number, target: Target): void {
    const { permissions, dataBudget } = this.#options;
    if (!permissions().data) throw new ServiceError('forbidden', 'This peer is not permitted to send data');
    if (!dataBudget.take(bytes, 1)) throw new ServiceError('too_many_requests', 'This peer exceeds its data rate limit');
    if (!this.#room.mayDeliver(bytes, target)) throw new ServiceError('too_many_requests', 'The room exceeds its data delivery limit');
  }

  /** The size in bytes. */
  #checkSize(payload: Metadata): number {
    const maxBytes = this.#room.dataMaxBytes();
    const bytes = Buffer.byteLength(JSON.stringify(payload));
    if (bytes > maxBytes) throw new ServiceError('too_large', `Expected payload to have at most ${maxBytes} bytes of JSON, got: ${bytes}`);
    return bytes;
  }

  /** Stats of its media, for at most `maxReceived` received tracks; undefined if the session ends meanwhile. */
  async mediaStats(maxReceived: number): Promise<PeerMediaStats | undefined> {
    try {
      return await this.media.mediaStats(maxReceived);
    } catch (error) {
      if (this.#ended) return undefined;
      throw error;
    }
  }

  send(event: PeerEvent): void {
    this.connection.send(event);
  }

  /** Ends its subscriptions, publications and media. */
  end(): void {
    this.#ended = true;
    this.paths.cancel('It disconnected');
    this.subscriptions.close();
    this.paths.data.forget();
    this.publications.close();
    this.media.close();
  }
}
