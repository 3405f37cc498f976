// Room session: connects the client library with the devices of this page and exposes the state for the page.
import {
  type Closing,
  type LocalTrack,
  type RemotePeer,
  RequestError,
  RoomClient,
  type RemoteTrack as RoomTrack,
} from '@mediarooms/client';
import { socketPath } from '../../../client/src/generated/protocol.ts';
import { errorMessage } from '../api/rest.ts';
import { nameOf, typeName } from '../api/types.ts';
import { Captions } from '../captions/captions.ts';
import { Chat, chatLabel } from '../chat/chat.ts';
import { Store } from '../hooks/store.ts';
import type { LocalMedia } from './local-media.ts';
import { withMediaPath } from './outage.ts';
import {
  type RemoteParticipant,
  type RemoteTrack,
  type RoomSessionPhase,
  type RoomSessionState,
  type SessionEnd,
  type Source,
  sourceOf,
  sources,
} from './session-state.ts';

/** `url`: the `peer_websocket_url` of the peer if known; the server of the page is tried as well. */
export type RoomSessionOptions = { url: string | null; token: string; base: string; name: string; media: LocalMedia };

type Published = { source: MediaStreamTrack; track: LocalTrack; muted: boolean };

/** Joins when created; ended once `ending` is set. Everything that is on in `media` is published. */
export class RoomSession extends Store<RoomSessionState> {
  readonly chat: Chat;
  readonly captions = new Captions();
  readonly #client: RoomClient;
  readonly #media: LocalMedia;
  readonly #published = new Map<Source, Published>();
  readonly #stops: (() => void)[] = [];
  #publishing = false;
  #publishAgain = false;

  constructor({ url, token, base, name, media }: RoomSessionOptions) {
    super({
      phase: 'joining',
      ending: undefined,
      selfId: undefined,
      participants: [],
      components: [],
      activeSpeaker: undefined,
      problem: undefined,
      mutedByServer: false,
      endsAt: undefined,
      link: { outage: undefined, mediaPath: 'idle', mediaSince: new Date() },
      mayWrite: true,
    });
    this.#media = media;
    const own = new URL(socketPath.slice(1), base).href;
    this.#client = new RoomClient({ url: url ?? own, fallbackUrls: [own], token, metadata: { name }, takeover: true });
    this.chat = new Chat({ send: (payload) => this.#client.sendData(chatLabel, payload) });
    this.#listen();
    // The event `closed` reports a failure as well.
    this.#client.join().catch(() => undefined);
  }

  /** Shows a track on the element, in the layer that fits its size, until the returned function is called. */
  attachVideo(trackId: string, element: HTMLVideoElement): () => void {
    return this.#client.attach(trackId, element);
  }

  /** Leaves the room; other participants are notified immediately. */
  async leave(): Promise<void> {
    const left = this.#client.leave();
    this.#end({ reason: 'left', message: 'You left the room.' });
    await left;
  }

  /** Ends the session if it is still running. Idempotent. */
  close(): void {
    for (const stop of this.#stops.splice(0)) stop();
    this.captions.close();
    this.#client.leave().catch(() => undefined);
  }

  #listen(): void {
    const client = this.#client;
    const refresh = () => this.#refresh();
    this.#stops.push(
      client.on('stateChanged', () => {
        this.#refresh();
        this.#publish();
      }),
      client.on('peerJoined', refresh),
      client.on('peerLeft', refresh),
      client.on('peerUpdated', refresh),
      client.on('componentAdded', refresh),
      client.on('componentRemoved', refresh),
      client.on('trackAdded', refresh),
      client.on('trackRemoved', refresh),
      client.on('trackUpdated', refresh),
      client.on('trackSubscribed', refresh),
      client.on('trackUnsubscribed', refresh),
      client.on('trackReplaced', refresh),
      client.on('layersChanged', refresh),
      client.on('activeSpeaker', refresh),
      client.on('permissionsUpdated', refresh),
      client.on('reconnecting', refresh),
      client.on('mediaPathChanged', ({ path }) => this.#setLink(withMediaPath(this.state.link, path, new Date()))),
      client.on('data', ({ from, label, payload }) => {
        if (label === chatLabel) this.chat.receive(from, this.#nameOf(from), payload);
      }),
      client.on('transcriptAdded', ({ transcript }) => this.captions.add(transcript, this.#nameOf(transcript.speakerId))),
      client.on('draining', ({ deadline }) => this.update({ endsAt: deadline ?? undefined })),
      client.on('localTrackEnded', ({ track, reason }) => this.#localEnded(track, reason !== 'ended')),
      client.on('localTrackMuted', ({ track, muted }) => this.#localMuted(track, muted)),
      client.on('closed', (closing) => this.#end(endingOf(closing))),
      this.#media.subscribe(() => this.#publish()),
    );
  }

  #refresh(): void {
    if (this.state.ending) return;
    const client = this.#client;
    this.update({
      phase: phases[client.state],
      selfId: client.peerId || undefined,
      participants: [...client.peers.values()].map((peer) => participantOf(peer, client)),
      components: [...client.components.values()].map((component) => ({
        id: component.id,
        name: typeName(component.type),
        tracks: component.tracks.map((track) => trackOf(track, client)),
      })),
      activeSpeaker: client.activeSpeaker ?? undefined,
      mayWrite: client.permissions?.data ?? true,
    });
    this.#setLink({ outage: client.outage });
  }

  #setLink(change: Partial<RoomSessionState['link']>): void {
    if (!this.state.ending) this.update({ link: { ...this.state.link, ...change } });
  }

  #nameOf(peerId: string | null): string {
    if (peerId === null) return 'The server';
    if (peerId === this.state.selfId) return 'You';
    return nameOf(this.#client.peers.get(peerId)?.metadata) ?? 'Guest';
  }

  #end(ending: SessionEnd): void {
    if (!this.state.ending) this.update({ phase: 'over', ending });
  }

  #localEnded(track: LocalTrack, byServer: boolean): void {
    for (const [source, known] of this.#published) {
      if (known.track !== track) continue;
      this.#published.delete(source);
      if (!byServer) continue;
      this.#media.turnOff(source);
      this.update({ problem: `${labels[source]} was turned off by the server.` });
    }
  }

  #localMuted(track: LocalTrack, muted: boolean): void {
    const source = [...this.#published].find(([, known]) => known.track === track)?.[0];
    if (!source) return;
    if (source === 'microphone') this.update({ mutedByServer: muted });
    this.update({ problem: muted ? `${labels[source]} was muted by the server.` : undefined });
  }

  /** Publishes what is on and unpublishes the rest; a change during a round starts another round. */
  #publish(): void {
    this.#publishAgain = true;
    if (this.#publishing) return;
    this.#publishing = true;
    void this.#publishRounds();
  }

  async #publishRounds(): Promise<void> {
    try {
      while (this.#publishAgain && (this.state.phase === 'joined' || this.state.phase === 'reconnecting')) {
        this.#publishAgain = false;
        await this.#publishAll();
      }
    } finally {
      // In the same step as the last check: a change in between would start no round.
      this.#publishing = false;
    }
  }

  /** All sources concurrently: a slow or denied camera must not delay the microphone. */
  async #publishAll(): Promise<void> {
    await Promise.all(
      sources.map((source) =>
        this.#publishSource(source).catch((error: unknown) => {
          // Turned off or disconnected while it was being published: LocalMedia reports that.
          if (error instanceof RequestError && error.code === 'ended') return;
          if (!this.state.ending) this.update({ problem: `${labels[source]} could not be shared. ${errorMessage(error)}` });
        }),
      ),
    );
  }

  async #publishSource(source: Source): Promise<void> {
    const { microphoneOn, ...tracks } = this.#media.state;
    const wanted = tracks[source];
    const muted = source === 'microphone' && !microphoneOn;
    const known = this.#published.get(source);
    if (known && (!wanted || known.track.kind !== wanted.kind)) {
      this.#published.delete(source);
      return known.track.unpublish();
    }
    if (!wanted || wanted.readyState === 'ended') return;
    if (!known) {
      const track = await this.#client.publish(wanted, { metadata: { source }, paused: muted });
      this.#published.set(source, { source: wanted, track, muted });
      // The server may have muted it from the start, before this session knew the track.
      if (track.muted) this.#localMuted(track, true);
      else if (source === 'microphone') this.update({ mutedByServer: false });
      return;
    }
    if (known.source !== wanted) {
      known.source = wanted;
      await known.track.replaceTrack(wanted);
    }
    if (known.muted === muted) return;
    known.muted = muted;
    await (muted ? known.track.pause() : known.track.resume());
  }
}

const labels: Record<Source, string> = {
  camera: 'The camera',
  microphone: 'The microphone',
  screen: 'The screen',
  screenSound: 'The screen audio',
};

const phases: Record<RoomClient['state'], RoomSessionPhase> = {
  new: 'joining',
  connecting: 'joining',
  waiting: 'waiting',
  joined: 'joined',
  reconnecting: 'reconnecting',
  closed: 'over',
};

const reasons: Record<Closing['reason'], SessionEnd['reason']> = {
  left: 'left',
  roomStopped: 'roomStopped',
  peerRemoved: 'removed',
  denied: 'denied',
  takenOver: 'takenOver',
  conflict: 'takenOver',
  notFound: 'refused',
  unauthorized: 'refused',
  serverError: 'failed',
  unreachable: 'failed',
  unsupported: 'failed',
};

function endingOf(closing: Closing): SessionEnd {
  return { reason: reasons[closing.reason], message: errorMessage(closing) };
}

function participantOf(peer: RemotePeer, client: RoomClient): RemoteParticipant {
  return {
    id: peer.id,
    name: nameOf(peer.metadata) ?? 'Guest',
    tracks: peer.tracks.map((track) => trackOf(track, client)),
  };
}

function trackOf(track: RoomTrack, client: RoomClient): RemoteTrack {
  return {
    id: track.id,
    kind: track.kind,
    source: sourceOf(track.metadata, track.kind),
    track: client.mediaStreamTrack(track.id),
    muted: track.paused || track.muted,
    layers: client.receivedLayers(track.id),
  };
}
