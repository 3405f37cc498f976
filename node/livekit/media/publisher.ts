// Publisher connection of a LiveKit client, perhaps its only one: its tracks, from their announcement to their section in an offer of the client.
import { Encryption_Type, SessionDescription, TrackInfo, TrackPublishedResponse, TrackType } from '@livekit/protocol';
import { ServiceError } from '../../../api/errors.ts';
import type { Metadata } from '../../../api/json.ts';
import { transportOptionsSchema } from '../../../api/media-objects.ts';
import { newId } from '../../rooms/ids.ts';
import type { RoomSession } from '../../rooms/peers/room-session.ts';
import type { Track } from '../../rooms/track.ts';
import { type AnswerSection, newSessionId, type TransportOptions, writeAnswer } from '../../sdp/answer.ts';
import { codecsOf, nameOf, type RtpCapabilities, type RtpParameters } from '../../sdp/codecs.ts';
import { renegotiationLimits } from '../../sdp/description.ts';
import { type DataSection, type IceCredentials, type MediaSection, type Offer, parseOffer } from '../../sdp/offer.ts';
import { producerParameters } from '../../sdp/producer-parameters.ts';
import { trackSid } from '../ids.ts';
import type { Message } from '../messages.ts';
import { sourceName } from '../participants.ts';
import type { RequestData } from '../requests.ts';
import { trackReceivedMessage } from '../room-view.ts';
import { Dynacast, type DynacastOptions, type SentVideo } from './dynacast.ts';
import { isReceiving, type SectionReceiver } from './section-receiver.ts';
import { withSpatialLayers } from './spatial-layers.ts';

/** Announced tracks without a section. */
const maxAnnounced = 64;

/** `isBackup`: it is a published track, `trackId`, in another codec. */
type Announced = RequestData<'addTrack'> & { trackId: string; isBackup: boolean };
/** What a section sent last. `trackId`: undefined while it sends nothing; `codec`: as the client names it, if it does. */
type Sent = { parameters: RtpParameters; trackId: string | undefined; codec: string; isBackup: boolean };
/** Another codec of a track. `id`: in the media of the room. */
type BackupCodec = { id: string; codec: string };

export type PublisherOptions = Pick<DynacastOptions, 'pauseDelay' | 'send'> & {
  room: RoomSession;
  transport: TransportOptions;
  /** Of the room. */
  capabilities: RtpCapabilities;
  /** What the client receives in the same connection, if it has no other one. */
  receiver?: SectionReceiver;
  /** Answers wait for it: the client may open data channels then. */
  opened?: Promise<void>;
  /** A track of a section, or its backup, could not be published. */
  rejected: (trackSid: string, error: ServiceError, isBackup: boolean) => void;
};

export class Publisher {
  readonly dynacast: Dynacast;
  readonly #options: PublisherOptions;
  readonly #sessionId = newSessionId();
  /** By cid, which the client chooses. */
  readonly #announced = new Map<string, Announced>();
  /** Tracks that a peer has received. */
  readonly #received = new Set<string>();
  /** Of published tracks that have one. */
  readonly #backups = new Map<string, BackupCodec>();
  /** By mid. */
  readonly #sections = new Map<string, Sent>();
  #transport: TransportOptions;
  /** ICE credentials of the client, once it has offered. */
  #ice: IceCredentials | undefined;
  #version = 0;

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#transport = options.transport;
    const { pauseDelay, send } = options;
    this.dynacast = new Dynacast({ pauseDelay, send, videoOf: (id) => this.#videoOf(id) });
  }

  /** @throws ServiceError `too_many_requests`; `track_not_found` for a backup of a track that does not exist */
  announce(data: RequestData<'addTrack'>): TrackPublishedResponse {
    const { cid, sid } = data;
    if (!this.#announced.has(cid) && this.#announced.size >= maxAnnounced)
      throw new ServiceError('too_many_requests', `More than ${maxAnnounced} tracks are announced and not sent`);
    const trackId = sid === '' ? newId() : this.#published(sid).id;
    const announced = this.#announced.get(cid) ?? { ...data, trackId, isBackup: sid !== '' };
    this.#announced.set(cid, announced);
    if (announced.isBackup) this.dynacast.backupAnnounced(announced.trackId);
    return announcedResponse(announced);
  }

  /** What a client that resumes may have missed about its tracks. */
  missed(): Message[] {
    const announced = [...this.#announced.values()].map((each): Message => ({ case: 'trackPublished', value: announcedResponse(each) }));
    return [...announced, ...[...this.#received].map((trackId) => trackReceivedMessage(trackSid(trackId)))];
  }

  /** Publishes and ends tracks as offered. @throws ServiceError `offer_rejected` and others */
  async offered({ sdp, id }: RequestData<'offer'>): Promise<SessionDescription> {
    const offer = parseOffer(sdp, renegotiationLimits);
    await this.#connect(offer);
    const { receiver, opened } = this.#options;
    const media = offer.sections.filter((section) => section.kind !== 'application');
    const answers = new Map<string, AnswerSection>();
    for (const section of media) if (!receiver || !isReceiving(section)) answers.set(section.mid, await this.#answer(section));
    await Promise.all([receiver?.offered(media), opened]);
    // From here on without a pause, so that the answer states what is sent now.
    for (const section of media) if (receiver && isReceiving(section)) answers.set(section.mid, receiver.answer(section));
    const sections = offer.sections.map(({ kind, mid }) => answers.get(mid) ?? { kind: kind as DataSection['kind'], mid });
    this.#version += 1;
    const answer = writeAnswer({ offer, transport: this.#transport, sections, sessionId: this.#sessionId, version: this.#version });
    return new SessionDescription({ type: 'answer', sdp: answer, id, midToTrackId: receiver?.trackSids ?? {} });
  }

  /** The client got the answer. */
  async answerSent(): Promise<void> {
    await this.#options.receiver?.answerSent();
  }

  /** @throws ServiceError `track_not_found` */
  async mute({ sid, muted }: RequestData<'mute'>): Promise<void> {
    const { publications } = this.#options.room;
    const announced = [...this.#announced.values()].find(({ trackId, isBackup }) => trackSid(trackId) === sid && !isBackup);
    if (announced) {
      announced.muted = muted;
      return;
    }
    await publications.setPaused(this.#published(sid).id, muted);
  }

  /** @throws ServiceError `track_not_found` */
  #published(sid: string): Track {
    const track = [...this.#options.room.publications.tracks].find(({ id }) => trackSid(id) === sid);
    if (!track) throw new ServiceError('track_not_found', `Track ${sid} does not exist`);
    return track;
  }

  /** Ids of announced and published tracks. */
  trackIds(sids: readonly string[]): string[] {
    const announced = [...this.#announced.values()].map(({ trackId }) => trackId);
    const published = [...this.#options.room.publications.tracks].map(({ id }) => id);
    return [...announced, ...published].filter((id) => sids.includes(trackSid(id)));
  }

  /** @returns true if no peer received the track before */
  received(trackId: string): boolean {
    const isFirst = !this.#received.has(trackId);
    this.#received.add(trackId);
    return isFirst;
  }

  /** The server removed a track. */
  removed(trackId: string): void {
    this.#forget(trackId);
    for (const section of this.#sections.values()) if (section.trackId === trackId) section.trackId = undefined;
  }

  /** The first offer connects the transport; new credentials of the client restart ICE. */
  async #connect({ dtls, ice }: Offer): Promise<void> {
    const { media } = this.#options.room;
    const { id } = this.#transport;
    if (!this.#ice) {
      await media.connectTransport(id, dtls);
    } else if (this.#ice.usernameFragment !== ice.usernameFragment) {
      const iceParameters = transportOptionsSchema.shape.iceParameters.parse(await media.restartIce(id));
      this.#transport = { ...this.#transport, iceParameters: { ...this.#transport.iceParameters, ...iceParameters } };
    }
    this.#ice = ice;
  }

  async #answer(section: MediaSection): Promise<AnswerSection> {
    const { kind, mid, rids, codecs } = section;
    const rejected: AnswerSection = { kind, mid, direction: 'inactive', codecs };
    const known = this.#sections.get(mid);
    const sends = section.direction === 'sendonly' || section.direction === 'sendrecv';
    if (!sends) {
      if (known) this.#end(known);
      const parameters = section.rejected ? undefined : (known?.parameters ?? this.#parametersOf(section));
      return parameters ? { kind, mid, direction: 'inactive', parameters, rids } : rejected;
    }
    const sent = known?.trackId === undefined ? await this.#publish(section) : known;
    return sent ? { kind, mid, direction: 'recvonly', parameters: sent.parameters, rids } : rejected;
  }

  /** @returns undefined if the track is rejected; the client is notified */
  async #publish(section: MediaSection): Promise<Sent | undefined> {
    const announced = this.#take(section);
    if (!announced) return undefined;
    const { trackId, isBackup } = announced;
    try {
      const codec = announced.simulcastCodecs[0]?.codec ?? '';
      // Clients offer all codecs, and send the one of the answer.
      const parameters = withSpatialLayers(producerParameters(section, this.#options.capabilities, codec), announced.layers.length);
      const sent = { parameters, trackId, codec, isBackup };
      const published = { transportId: this.#transport.id, trackId, kind: section.kind, rtpParameters: parameters };
      const { publications } = this.#options.room;
      if (isBackup) await publications.publishBackup(published);
      else await publications.publish({ ...published, ...this.#describe(announced) });
      this.#sections.set(section.mid, sent);
      return sent;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (!isBackup) this.#backups.delete(trackId);
      this.#options.rejected(trackSid(trackId), error, isBackup);
      return undefined;
    }
  }

  #describe(announced: Announced) {
    const { trackId, encryption, muted, simulcastCodecs } = announced;
    const encrypted = encryption !== Encryption_Type.NONE;
    const codec = simulcastCodecs[1]?.codec ?? '';
    const backup =
      !encrypted && this.#supports(codec) ? { id: newId(), codec, request: () => this.dynacast.needBackup(trackId) } : undefined;
    if (backup) this.#backups.set(trackId, backup);
    return { metadata: metadataOf(announced), paused: muted, encrypted, backup };
  }

  /** True if the room has a codec. */
  #supports(codec: string): boolean {
    return codecsOf(this.#options.capabilities, 'video').some((each) => nameOf(each).toLowerCase() === codec.toLowerCase());
  }

  /**
   * Of a section that sends nothing; undefined if the room has no codec of it. Native clients offer such sections first: if they were
   * rejected, the client would use them again for another transport, which this connection does not have.
   */
  #parametersOf(section: MediaSection): RtpParameters | undefined {
    try {
      return producerParameters(section, this.#options.capabilities);
    } catch (error) {
      if (error instanceof ServiceError) return undefined;
      throw error;
    }
  }

  /** The announcement of what a section sends: by the id of its track, which some browsers change, else the first of its kind. */
  #take({ trackId, kind }: MediaSection): Announced | undefined {
    const type = kind === 'audio' ? TrackType.AUDIO : TrackType.VIDEO;
    const all = [...this.#announced.values()];
    const isNamed = ({ cid, simulcastCodecs }: Announced) => cid === trackId || simulcastCodecs.some((codec) => codec.cid === trackId);
    const announced = all.find((each) => isNamed(each)) ?? all.find((each) => each.type === type);
    if (announced) this.#announced.delete(announced.cid);
    return announced;
  }

  /** @param id of the track, or of its backup */
  #videoOf(id: string): SentVideo | undefined {
    const [trackId = id] = [...this.#backups].find(([, backup]) => backup.id === id) ?? [];
    const sections = [...this.#sections.values()].filter((section) => section.trackId === trackId);
    const first = sections.find(({ isBackup }) => !isBackup);
    if (!first) return undefined;
    const [, name = ''] = first.parameters.codecs[0]?.mimeType.toLowerCase().split('/') ?? [];
    const codec = { id: trackId, codec: first.codec || name, rids: ridsOf(first) };
    const backup = this.#backups.get(trackId);
    const sent = sections.find(({ isBackup }) => isBackup);
    return { trackId, codecs: backup ? [codec, { id: backup.id, codec: backup.codec, rids: sent ? ridsOf(sent) : [] }] : [codec] };
  }

  /** The track ended. */
  #forget(trackId: string): void {
    this.#received.delete(trackId);
    const backup = this.#backups.get(trackId);
    this.#backups.delete(trackId);
    for (const id of [trackId, backup?.id]) if (id !== undefined) this.dynacast.forget(id);
  }

  #end(section: Sent): void {
    const { publications } = this.#options.room;
    const { trackId } = section;
    section.trackId = undefined;
    // A backup ends with its track.
    if (trackId === undefined || section.isBackup) return;
    if ([...publications.tracks].some(({ id }) => id === trackId)) publications.removeTrack(trackId, 'publisher');
    this.#forget(trackId);
  }
}

function ridsOf({ parameters: { encodings = [] } }: Sent): string[] {
  return encodings.flatMap(({ rid }) => rid ?? []);
}

function announcedResponse(announced: Announced): TrackPublishedResponse {
  const { cid, name, source, type, width, height, muted, stereo, disableDtx, stream, encryption, layers, trackId } = announced;
  const track = new TrackInfo({
    ...{ sid: trackSid(trackId), name, source, type, width, height, muted, stereo, disableDtx, stream, disableRed: true },
    simulcast: layers.length > 1,
    encryption,
    layers,
  });
  return new TrackPublishedResponse({ cid, track });
}

function metadataOf({ source, name, width, height, stream, encryption }: Announced): Metadata {
  const known = sourceName(source);
  return {
    ...(known !== undefined && { source: known }),
    ...(name !== '' && { name }),
    ...(width > 0 && height > 0 && { width, height }),
    ...(stream !== '' && { stream }),
    ...(encryption === Encryption_Type.GCM && { encryption: 'gcm' }),
  };
}
