// Media of one session: a transport to send over, one to receive over, and what goes over them.
import type { types } from 'mediasoup-client';
import type { Devices } from './device.ts';
import { SessionLostError } from './errors.ts';
import { IceKeeper } from './ice-keeper.ts';
import { type MediaPath, mediaPathOf } from './media-path.ts';
import type { Logger, RoomClientOptions, Timing } from './options.ts';
import { deferred } from './pending.ts';
import type { Answers, EventData, Json, Method, Requests, Welcome, WireObject } from './protocol.ts';

export type Request = <M extends Method>(method: M, data: Requests[M], portable?: boolean) => Promise<Answers[M]>;
type Direction = 'send' | 'recv';
/** Asked for right behind the authentication: the answers come with the welcome. */
export type EarlyTransports = Record<Direction, Promise<WireObject>>;

export type MediaSessionOptions = {
  request: Request;
  devices: Devices;
  settings: Pick<RoomClientOptions, 'iceProtocols' | 'iceTransportPolicy'>;
  timing: Timing;
  logger: Logger;
  subscribed: (origin: EventData['trackSubscribed'], consumer: types.Consumer) => void;
  unsubscribed: (trackId: string) => void;
  dataSubscribed: (origin: EventData['dataTrackSubscribed'], consumer: types.DataConsumer) => void;
  pathChanged: () => void;
};

export type ProduceOptions = {
  track: MediaStreamTrack;
  encodings: types.RtpEncodingParameters[] | undefined;
  codec: string | undefined;
  streamId: string;
  codecOptions: types.ProducerCodecOptions;
  metadata: Json;
  paused: boolean;
  /** The same in every session. */
  key: string;
};
/** `muted`: by the server, from its start. */
export type Produced = { producer: types.Producer; muted: boolean };
/** What travels with a publication, and back. */
type Publication = Pick<ProduceOptions, 'metadata' | 'paused' | 'key'> & { muted: boolean };

/** What is being received; `consumer` once it is there, `gone` where it ended before. */
type Received<Consumer> = { consumer: Consumer | undefined; gone: boolean };

export function requestTransports(request: Request, sctp: boolean): EarlyTransports {
  const early = {
    recv: request('createTransport', { direction: 'recv', sctp }),
    send: request('createTransport', { direction: 'send', sctp }),
  };
  // Whoever uses them sees the failure; before that it is nobody's.
  for (const answer of Object.values(early)) answer.catch(() => {});
  return early;
}

/** Milliseconds that the first tracks wait for the others. */
const gatherTime = 20;

/** Lives as long as a session of the server: load() and open() once, then close(). */
export class MediaSession {
  readonly #options: MediaSessionOptions;
  readonly #recv = deferred<types.Transport>();
  readonly #keepers: IceKeeper[] = [];
  readonly #received = new Map<string, Received<types.Consumer>>();
  readonly #receivedData = new Map<string, Received<types.DataConsumer>>();
  readonly #gathered = deferred<void>();
  #gatherTimer: ReturnType<typeof setTimeout> | undefined;
  #expected = 0;
  #device: types.Device | undefined;
  #send: types.Transport | undefined;
  #sendsData = false;
  #transports: types.Transport[] = [];
  #closed = false;

  constructor(options: MediaSessionOptions) {
    this.#options = options;
    this.#recv.promise.catch(() => {});
  }

  get closed(): boolean {
    return this.#closed;
  }

  get path(): MediaPath {
    return mediaPathOf(this.#transports.map(({ connectionState }) => connectionState));
  }

  /** @returns what this environment can receive, for `join`. */
  async load({ rtpCapabilities, peers, components }: Welcome): Promise<WireObject> {
    this.#expected = [...peers, ...components].reduce((count, { tracks }) => count + tracks.length, 0);
    const device = await this.#options.devices.load(rtpCapabilities);
    if (this.#closed) throw new SessionLostError();
    this.#device = device;
    return device.recvRtpCapabilities as unknown as WireObject;
  }

  /** Opens the transports; after load(). */
  async open({ iceServers }: Welcome, early: EarlyTransports): Promise<void> {
    try {
      const recv = await early.recv;
      this.#recv.resolve(this.#open(this.#live().createRecvTransport(this.#transportOptions(recv, iceServers))));
      const send = await early.send;
      this.#sendsData = 'sctpParameters' in send;
      this.#send = this.#open(this.#live().createSendTransport(this.#transportOptions(send, iceServers)));
      this.#answerSendTransport(this.#send);
    } catch (error) {
      this.#recv.reject(new SessionLostError());
      throw error;
    }
  }

  async produce(options: ProduceOptions): Promise<Produced> {
    const { track, encodings, codec, streamId, codecOptions, metadata, paused, key } = options;
    const chosen = codec === undefined ? undefined : this.#codec(codec);
    if (codec !== undefined && !chosen) throw new TypeError(`This environment cannot send ${codec}`);
    const publication: Publication = { metadata, paused, key, muted: false };
    const producer = await this.#sender().produce({
      track,
      streamId,
      codecOptions,
      ...(encodings && { encodings }),
      ...(chosen && { codec: chosen }),
      // The track stays the application's: it is sent again after a reconnect.
      stopTracks: false,
      appData: publication,
    });
    return { producer, muted: publication.muted };
  }

  async produceData(options: types.DataProducerOptions): Promise<types.DataProducer> {
    const sender = this.#sender();
    if (!this.#sendsData)
      throw new TypeError('There are no data channels here: set the option dataChannels, and the peer needs the permission data');
    return sender.produceData(options);
  }

  async receive(event: EventData['trackSubscribed']): Promise<void> {
    const entry: Received<types.Consumer> = { consumer: undefined, gone: false };
    this.#received.set(event.trackId, entry);
    await this.#gather();
    const transport = await this.#receiver(event.transportId);
    if (!transport || entry.gone) return;
    const consumer = await transport.consume({
      id: event.trackId,
      producerId: event.trackId,
      kind: event.kind,
      rtpParameters: event.rtpParameters as unknown as types.RtpParameters,
    });
    if (entry.gone || this.#closed) {
      consumer.close();
      return;
    }
    entry.consumer = consumer;
    this.#run(this.#options.request('trackReady', { trackId: event.trackId }), 'trackReady');
    this.#options.subscribed(event, consumer);
  }

  unreceive(trackId: string): void {
    const entry = this.#received.get(trackId);
    if (!entry) return;
    this.#received.delete(trackId);
    entry.gone = true;
    if (!entry.consumer) return;
    entry.consumer.close();
    this.#options.unsubscribed(trackId);
  }

  async receiveData(event: EventData['dataTrackSubscribed']): Promise<void> {
    const entry: Received<types.DataConsumer> = { consumer: undefined, gone: false };
    this.#receivedData.set(event.dataTrackId, entry);
    const transport = await this.#receiver(event.transportId);
    if (!transport) return;
    const consumer = await transport.consumeData({
      id: event.dataTrackId,
      dataProducerId: event.dataTrackId,
      sctpStreamParameters: event.sctpStreamParameters as unknown as types.SctpStreamParameters,
      label: event.label,
      protocol: event.protocol,
    });
    if (entry.gone || this.#closed) {
      consumer.close();
      return;
    }
    entry.consumer = consumer;
    this.#options.dataSubscribed(event, consumer);
  }

  unreceiveData(dataTrackId: string): void {
    const entry = this.#receivedData.get(dataTrackId);
    if (!entry) return;
    this.#receivedData.delete(dataTrackId);
    entry.gone = true;
    entry.consumer?.close();
  }

  consumer(trackId: string): types.Consumer | undefined {
    return this.#received.get(trackId)?.consumer;
  }

  /** The websocket is back: paths that broke meanwhile are mended. */
  checkPaths(): void {
    for (const keeper of this.#keepers) keeper.check();
  }

  updateIceServers(iceServers: WireObject[]): void {
    for (const transport of this.#transports) {
      this.#run(transport.updateIceServers({ iceServers: iceServers as unknown as RTCIceServer[] }), 'updateIceServers');
    }
  }

  async stats(): Promise<Record<Direction, RTCStatsReport | undefined>> {
    const [recv, send] = await Promise.all(this.#transports.map((transport) => transport.getStats()));
    return { send, recv };
  }

  /** Ends all media of the session; tracks that were received are told as unsubscribed. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#gatherTimer);
    this.#gathered.resolve();
    this.#recv.reject(new SessionLostError());
    for (const keeper of this.#keepers) keeper.stop();
    for (const trackId of [...this.#received.keys()]) this.unreceive(trackId);
    for (const id of [...this.#receivedData.keys()]) this.unreceiveData(id);
    for (const transport of this.#transports) transport.close();
  }

  /** Tracks that were there at the welcome come one by one; negotiating them together is what makes the last one fast. */
  #gather(): Promise<void> | undefined {
    if (this.#received.size >= this.#expected) this.#gathered.resolve();
    else this.#gatherTimer ??= setTimeout(() => this.#gathered.resolve(), gatherTime);
    return this.#gathered.promise;
  }

  #live(): types.Device {
    if (!this.#device || this.#closed) throw new SessionLostError();
    return this.#device;
  }

  #sender(): types.Transport {
    if (!this.#send || this.#closed) throw new SessionLostError();
    return this.#send;
  }

  /** The transport to receive over, where it is the one that the server means. */
  async #receiver(transportId: string): Promise<types.Transport | undefined> {
    const transport = await this.#recv.promise;
    return !this.#closed && transport.id === transportId ? transport : undefined;
  }

  #codec(name: string): types.RtpCodecCapability | undefined {
    return this.#device?.sendRtpCapabilities.codecs?.find(({ mimeType }) => mimeType.split('/')[1]?.toLowerCase() === name.toLowerCase());
  }

  #transportOptions(answer: WireObject, iceServers: WireObject[]): types.TransportOptions {
    const { iceProtocols, iceTransportPolicy } = this.#options.settings;
    const options = answer as unknown as types.TransportOptions;
    return {
      ...options,
      iceCandidates: options.iceCandidates.filter(({ protocol }) => !iceProtocols || iceProtocols.includes(protocol)),
      iceServers: iceServers as unknown as RTCIceServer[],
      ...(iceTransportPolicy && { iceTransportPolicy }),
    };
  }

  #open(transport: types.Transport): types.Transport {
    const { request, timing, logger } = this.#options;
    this.#transports.push(transport);
    transport.on('connect', ({ dtlsParameters }, callback) => {
      // Requests are handled in order: there is nothing to wait for, and DTLS tries again by itself.
      callback();
      const data = { transportId: transport.id, dtlsParameters: dtlsParameters as unknown as WireObject };
      this.#run(request('connectTransport', data), 'connectTransport');
    });
    transport.on('connectionstatechange', () => this.#options.pathChanged());
    const restart = async () => {
      const { iceParameters } = await request('restartIce', { transportId: transport.id });
      return iceParameters as unknown as types.IceParameters;
    };
    this.#keepers.push(new IceKeeper({ transport, timing, logger, restart }));
    return transport;
  }

  #answerSendTransport(transport: types.Transport): void {
    const { request } = this.#options;
    transport.on('produce', ({ kind, rtpParameters, appData }, callback, errback) => {
      const publication = appData as Publication;
      const { metadata, paused, key } = publication;
      const parameters = rtpParameters as unknown as WireObject;
      request('publish', { transportId: transport.id, kind, rtpParameters: parameters, metadata, paused, key })
        .then(({ trackId, muted }) => {
          publication.muted = muted === true;
          callback({ id: trackId });
        })
        .catch(errback);
    });
    transport.on('producedata', ({ sctpStreamParameters, label = '', protocol = '' }, callback, errback) => {
      const parameters = sctpStreamParameters as unknown as WireObject;
      request('publishData', { transportId: transport.id, sctpStreamParameters: parameters, label, protocol })
        .then(({ dataTrackId }) => callback({ id: dataTrackId }))
        .catch(errback);
    });
  }

  /** Nobody waits for it: a failure is worth a line while the session lives. */
  #run(work: Promise<unknown>, what: string): void {
    work.catch((error: unknown) => {
      if (!this.#closed) this.#options.logger.warn?.(`${what} failed`, error);
    });
  }
}
