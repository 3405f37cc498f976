// Media of one room: a leg on one media worker, and more of them when that worker forwards too many tracks.
import type { DataProducer, Producer } from 'mediasoup/types';
import { ServiceError } from '../../api/errors.ts';
import type { LegView } from '../../api/room.ts';
import type { Log } from '../common/log.ts';
import { LossBudget } from '../common/loss-budget.ts';
import { Timer } from '../common/timer.ts';
import type {
  ComponentMediaListener,
  PeerMedia,
  PeerMediaListener,
  RoomMedia,
  RoomMediaOptions,
  RtpEgress,
  RtpIngress,
  WireObject,
} from '../rooms/interfaces.ts';
import { LegAudioObserver } from './active-speaker-observer.ts';
import { clientCapabilities, roomCodecs } from './codecs.ts';
import { noDataTrack } from './data/peer-data.ts';
import { Leg } from './legs/leg.ts';
import { LegSpeakers } from './legs/leg-speakers.ts';
import type { RoomLeg } from './legs/room-leg.ts';
import { LegTracks, RoomTracks } from './legs/room-tracks.ts';
import { mediaClosedError, trackNotFoundError } from './media-error.ts';
import { MediaPeer } from './peer-media.ts';
import { RtpEgressTransport } from './rtp-egress.ts';
import { RtpIngressTransport } from './rtp-ingress.ts';
import type { WorkerAssignment } from './worker/worker-slot.ts';

/** Lost legs within ten minutes with which a room continues. The next one ends it, because its packets may be the cause. */
const maxLosses = 2;
/** Time in milliseconds to get another leg after the only one was lost, and interval of the attempts. */
const replaceTimeoutMs = 3_000;
const replaceInterval = 100;

export type MediaRoomOptions = RoomMediaOptions & {
  log: Log;
  /** Its only media worker. `leg`: what the worker needs to know of the leg. @throws ServiceError `unavailable` */
  place: (leg: AssignedLeg) => WorkerAssignment;
  /** Another media worker, none of `used`; undefined if there is none. */
  another: (leg: AssignedLeg, used: readonly number[], limit: LegLimit) => WorkerAssignment | undefined;
  /** Forwarded tracks of a media worker from which new peers get another leg; undefined: a room has one leg, and ends with it. */
  maxWorkerTracks: () => number | undefined;
  /** Addresses for clients. @throws ServiceError if none is known yet */
  addresses: () => readonly string[];
  maxIncomingBitrate: () => number | undefined;
  relayIp: string | undefined;
  receiverNumbers: boolean;
  onClosed: () => void;
};

/** A leg as its media worker sees it. `lost`: the worker died. */
export type AssignedLeg = { routerId: () => string | undefined; lost: (reason: string) => void };

/** `maxTracks`: that the media worker forwards; `worker`: its index, any if undefined. */
export type LegLimit = { maxTracks: number; worker?: number | undefined };

/** What continues at another leg if its leg is lost. */
type Member = MediaPeer | RtpIngressTransport | RtpEgressTransport;
type Members = RoomLeg & { peers: Set<MediaPeer>; components: Set<Member> };
const ignoring: ComponentMediaListener = { interrupted: () => {}, restored: () => {}, failed: () => {} };

export class MediaRoom implements RoomMedia {
  readonly #options: MediaRoomOptions;
  readonly #speakers: LegSpeakers;
  readonly #legs: Members[] = [];
  readonly #losses = new LossBudget(maxLosses);
  /** Those whose leg was lost, while there is no other one. */
  readonly #interrupted = new Set<Member>();
  #replacing: Timer | undefined;
  readonly #tracks = new RoomTracks<Producer>(trackNotFoundError);
  readonly #dataTracks = new RoomTracks<DataProducer>(noDataTrack);
  #closed = false;

  constructor(options: MediaRoomOptions) {
    this.#options = options;
    this.#speakers = new LegSpeakers({
      onActiveSpeaker: (peerId) => {
        if (!this.#closed) options.onActiveSpeaker(peerId);
      },
      onAudioLevels: (levels) => {
        if (!this.#closed) options.onAudioLevels(levels);
      },
    });
    this.#add((leg) => options.place(leg));
  }

  async rtpCapabilities(): Promise<WireObject> {
    const router = await this.#least.leg.router();
    return clientCapabilities(router.rtpCapabilities);
  }

  openPeer(peerId: string, listener: PeerMediaListener): PeerMedia {
    if (this.#closed) throw mediaClosedError();
    return this.#openPeerAt(this.#legForPeer(), peerId, listener);
  }

  openPath(peerId: string, listener: PeerMediaListener, { from, worker }: Parameters<RoomMedia['openPath']>[2]): PeerMedia {
    if (this.#closed) throw mediaClosedError();
    const at = this.#otherLeg(from, worker);
    if (!at)
      throw new ServiceError('conflict', `The room can use no other media worker${worker === undefined ? '' : ` with index ${worker}`}`);
    return this.#openPeerAt(at, peerId, listener);
  }

  #openPeerAt(at: Members, peerId: string, listener: PeerMediaListener): PeerMedia {
    const { log, addresses, maxIncomingBitrate, relayIp, receiverNumbers } = this.#options;
    const peer: MediaPeer = new MediaPeer(
      {
        log: log.child({ peer: peerId }),
        peerId,
        listener,
        addresses,
        maxIncomingBitrate,
        relayIp,
        receiverNumbers,
        onClosed: () => this.#forget(peer),
      },
      at,
    );
    at.peers.add(peer);
    return peer;
  }

  openInput(listener: ComponentMediaListener = ignoring): RtpIngress {
    if (this.#closed) throw mediaClosedError();
    const at = this.#least;
    const input: RtpIngressTransport = new RtpIngressTransport({ listener, onClosed: () => this.#forget(input) }, at);
    at.components.add(input);
    return input;
  }

  openOutput(listener: ComponentMediaListener = ignoring): RtpEgress {
    if (this.#closed) throw mediaClosedError();
    const at = this.#least;
    const output: RtpEgressTransport = new RtpEgressTransport({ listener, onClosed: () => this.#forget(output) }, at);
    at.components.add(output);
    return output;
  }

  legs(): LegView[] {
    return this.#legs.map(({ leg, tracks, dataTracks, peers }) => ({
      worker: leg.workerIndex,
      peers: peers.size,
      forwardedTracks: leg.forwardedTracks,
      pipedTracks: tracks.piped + dataTracks.piped,
    }));
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#replacing?.stop();
    this.#speakers.close();
    // Closing the routers first ends all media of peers in one message for each leg.
    for (const { leg } of this.#legs) leg.close();
    for (const { peers, tracks, dataTracks } of this.#legs) {
      for (const peer of [...peers]) peer.close();
      tracks.close();
      dataTracks.close();
    }
    for (const { components } of this.#legs) for (const component of [...components]) component.close();
    for (const member of [...this.#interrupted]) member.close();
    this.#options.onClosed();
  }

  /** The media worker of a leg died: its peers and components continue at another leg, or the room ends. */
  #lost(lost: Members, reason: string): void {
    if (this.#closed) return;
    const { leg, tracks, dataTracks, peers, components } = lost;
    const others = this.#legs.length > 1 || this.#options.maxWorkerTracks() !== undefined;
    if (!others || !this.#losses.take(performance.now())) {
      this.#crash(reason);
      return;
    }
    this.#options.log.warn({ worker: leg.workerIndex, reason, peers: peers.size }, 'room lost a media worker');
    this.#legs.splice(this.#legs.indexOf(lost), 1);
    leg.close();
    tracks.close();
    dataTracks.close();
    this.#speakers.lost(leg);
    for (const member of [...peers, ...components]) this.#interrupted.add(member);
    this.#restore(reason, performance.now() + replaceTimeoutMs);
  }

  #restore(reason: string, deadline: number): void {
    try {
      if (this.#legs.length === 0) this.#add((leg) => this.#options.place(leg));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (performance.now() >= deadline) this.#crash(reason);
      else this.#replacing = new Timer(replaceInterval, () => this.#restore(reason, deadline));
      return;
    }
    for (const member of [...this.#interrupted]) {
      // Another member may have closed it.
      if (!this.#interrupted.delete(member)) continue;
      const isPeer = member instanceof MediaPeer;
      const to = isPeer ? this.#legForPeer() : this.#least;
      if (isPeer) to.peers.add(member);
      else to.components.add(member);
      member.move(to);
    }
  }

  #crash(reason: string): void {
    this.close();
    this.#options.onCrashed(reason);
  }

  #forget(member: Member): void {
    this.#interrupted.delete(member);
    for (const { peers, components } of this.#legs) {
      if (member instanceof MediaPeer) peers.delete(member);
      else components.delete(member);
    }
  }

  /** The leg whose worker forwards the fewest tracks. */
  get #least(): Members {
    const [first, ...others] = this.#legs;
    if (!first) throw new ServiceError('unavailable', 'The media of this room is interrupted', { retryAfter: 1 });
    return others.reduce((best, each) => (loadOf(each) < loadOf(best) ? each : best), first);
  }

  /** A new peer will receive the tracks of the room. If its worker would have too many then, the room gets another leg. */
  #legForPeer(): Members {
    const least = this.#least;
    const most = this.#options.maxWorkerTracks();
    if (most === undefined || loadOf(least) + this.#tracks.size < most) return least;
    const used = this.#legs.map(({ leg }) => leg.workerIndex);
    return this.#add((leg) => this.#options.another(leg, used, { maxTracks: loadOf(least) })) ?? least;
  }

  /** A leg where the peer is not, the one with this worker, or whose worker forwards the fewest tracks. A new one if there is none. */
  #otherLeg(from: PeerMedia, worker: number | undefined): Members | undefined {
    if (this.#options.maxWorkerTracks() === undefined) return undefined;
    const others = this.#legs.filter(({ peers, leg }) => {
      return ![...peers].some((peer) => peer === from) && (worker === undefined || leg.workerIndex === worker);
    });
    const [first, ...more] = others;
    if (first) return more.reduce((best, each) => (loadOf(each) < loadOf(best) ? each : best), first);
    const used = this.#legs.map(({ leg }) => leg.workerIndex);
    return this.#add((leg) => this.#options.another(leg, used, { maxTracks: Number.POSITIVE_INFINITY, worker }));
  }

  #add(assign: (leg: AssignedLeg) => WorkerAssignment): Members;
  #add(assign: (leg: AssignedLeg) => WorkerAssignment | undefined): Members | undefined;
  #add(assign: (leg: AssignedLeg) => WorkerAssignment | undefined): Members | undefined {
    const { log, videoCodec } = this.#options;
    const place = assign({ routerId: () => leg.routerId, lost: (reason) => this.#lost(added, reason) });
    if (!place) return undefined;
    const leg: Leg = new Leg({ place, codecs: roomCodecs(videoCodec) });
    const added: Members = {
      leg,
      tracks: new LegTracks(leg, this.#tracks, { data: false }),
      dataTracks: new LegTracks(leg, this.#dataTracks, { data: true }),
      audio: new LegAudioObserver(leg, log, this.#speakers),
      peers: new Set(),
      components: new Set(),
    };
    this.#legs.push(added);
    return added;
  }
}

/** Tracks that its worker forwards. A peer that receives nothing yet counts as one that will. */
function loadOf({ leg, peers }: Members): number {
  return Math.max(leg.workerLoad, peers.size);
}
