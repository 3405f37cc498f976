// Media of one room: a leg on one media worker, and more of them when that worker forwards too many tracks.
import type { DataProducer, Producer } from 'mediasoup/types';
import type { LegView } from '../../api/room.ts';
import type { Log } from '../common/log.ts';
import type { PeerMedia, PeerMediaListener, RoomMedia, RoomMediaOptions, RtpEgress, RtpIngress, WireObject } from '../rooms/interfaces.ts';
import { LegAudioObserver } from './active-speaker-observer.ts';
import { clientCapabilities, roomCodecs } from './codecs.ts';
import { noDataTrack } from './data/peer-data.ts';
import { Leg } from './legs/leg.ts';
import { LegSpeakers } from './legs/leg-speakers.ts';
import { LegTracks, RoomTracks } from './legs/room-tracks.ts';
import { mediaClosedError, trackNotFoundError } from './media-error.ts';
import { MediaPeer } from './peer-media.ts';
import { RtpEgressTransport } from './rtp-egress.ts';
import { RtpIngressTransport } from './rtp-ingress.ts';
import type { WorkerAssignment } from './worker/worker-slot.ts';

export type MediaRoomOptions = RoomMediaOptions & {
  log: Log;
  /** Its first media worker. `leg`: what the worker needs to know of the leg. */
  place: (leg: AssignedLeg) => WorkerAssignment;
  /** Another media worker that forwards at most `maxTracks`, none of `used`; undefined if there is none. */
  another: (leg: AssignedLeg, used: readonly number[], maxTracks: number) => WorkerAssignment | undefined;
  /** Forwarded tracks of a media worker from which new peers get another leg; undefined: a room has one leg. */
  maxWorkerTracks: () => number | undefined;
  /** Addresses for clients. @throws ServiceError if none is known yet */
  addresses: () => readonly string[];
  maxIncomingBitrate: () => number | undefined;
  relayIp: string | undefined;
  receiverNumbers: boolean;
  onClosed: () => void;
};

/** A leg as its media worker sees it. */
export type AssignedLeg = { routerId: () => string | undefined };

type RoomLeg = {
  leg: Leg;
  tracks: LegTracks<Producer>;
  dataTracks: LegTracks<DataProducer>;
  audio: LegAudioObserver;
  peers: Set<MediaPeer>;
};

export class MediaRoom implements RoomMedia {
  readonly #options: MediaRoomOptions;
  readonly #speakers: LegSpeakers;
  readonly #legs: RoomLeg[] = [];
  readonly #components = new Set<RtpIngressTransport | RtpEgressTransport>();
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
    const { log, addresses, maxIncomingBitrate, relayIp, receiverNumbers } = this.#options;
    const { leg, tracks, dataTracks, audio, peers } = this.#legForPeer();
    const peer: MediaPeer = new MediaPeer({
      log: log.child({ peer: peerId }),
      leg,
      listener,
      tracks,
      dataTracks,
      addresses,
      maxIncomingBitrate,
      relayIp,
      receiverNumbers,
      onAudio: (router, producer) => void audio.add(router, producer, peerId),
      onClosed: () => peers.delete(peer),
    });
    peers.add(peer);
    return peer;
  }

  openInput(): RtpIngress {
    if (this.#closed) throw mediaClosedError();
    const { leg, tracks } = this.#least;
    const input: RtpIngressTransport = new RtpIngressTransport({ leg, tracks, onClosed: () => this.#components.delete(input) });
    this.#components.add(input);
    return input;
  }

  openOutput(): RtpEgress {
    if (this.#closed) throw mediaClosedError();
    const { leg, tracks } = this.#least;
    const output: RtpEgressTransport = new RtpEgressTransport({ leg, tracks, onClosed: () => this.#components.delete(output) });
    this.#components.add(output);
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
    this.#speakers.close();
    // Closing the routers first ends all media of peers in one message for each leg.
    for (const { leg } of this.#legs) leg.close();
    for (const { peers, tracks, dataTracks } of this.#legs) {
      for (const peer of [...peers]) peer.close();
      tracks.close();
      dataTracks.close();
    }
    for (const component of [...this.#components]) component.close();
    this.#options.onClosed();
  }

  /** A worker died. */
  crash(reason: string): void {
    if (this.#closed) return;
    this.close();
    this.#options.onCrashed(reason);
  }

  /** The leg whose worker forwards the fewest tracks. */
  get #least(): RoomLeg {
    return this.#legs.reduce((best, each) => (loadOf(each) < loadOf(best) ? each : best));
  }

  /** A new peer will receive the tracks of the room. If its worker would have too many then, the room gets another leg. */
  #legForPeer(): RoomLeg {
    const least = this.#least;
    const most = this.#options.maxWorkerTracks();
    if (most === undefined || loadOf(least) + this.#tracks.size < most) return least;
    const used = this.#legs.map(({ leg }) => leg.workerIndex);
    return this.#add((leg) => this.#options.another(leg, used, loadOf(least))) ?? least;
  }

  #add(assign: (leg: AssignedLeg) => WorkerAssignment): RoomLeg;
  #add(assign: (leg: AssignedLeg) => WorkerAssignment | undefined): RoomLeg | undefined;
  #add(assign: (leg: AssignedLeg) => WorkerAssignment | undefined): RoomLeg | undefined {
    const { log, videoCodec } = this.#options;
    const place = assign({ routerId: () => leg.routerId });
    if (!place) return undefined;
    const leg: Leg = new Leg({ place, codecs: roomCodecs(videoCodec) });
    const added = {
      leg,
      tracks: new LegTracks(leg, this.#tracks, { data: false }),
      dataTracks: new LegTracks(leg, this.#dataTracks, { data: true }),
      audio: new LegAudioObserver(leg, log, this.#speakers),
      peers: new Set<MediaPeer>(),
    };
    this.#legs.push(added);
    return added;
  }
}

/** Tracks that its worker forwards. A peer that receives nothing yet counts as one that will. */
function loadOf({ leg, peers }: RoomLeg): number {
  return Math.max(leg.workerLoad, peers.size);
}
