// Page script of tests with LiveKit's client, unmodified, next to the instruments of client-page.ts.
import './client-page.ts';
import {
  type ConnectionState,
  ExternalE2EEKeyProvider,
  type RemoteTrack,
  Room,
  RoomEvent,
  type RoomOptions,
  Track,
  VideoQuality,
} from 'livekit-client';
import type { FrameProbe } from './client-page.ts';

type Note = { at: number; name: string; detail?: unknown };

/** A room of LiveKit's client: shows and plays all received media. */
class LiveKitRoom {
  readonly room: Room;
  readonly notes: Note[] = [];

  constructor(options: RoomOptions = {}) {
    this.room = new Room(options);
    const note = (name: string, detail?: unknown) => this.note(name, detail);
    this.room.on(RoomEvent.TrackSubscribed, (track, _, participant) => {
      note('trackSubscribed', [participant.identity, track.kind]);
      const element = track.attach();
      element.muted = true;
      if (element instanceof HTMLVideoElement) element.style.cssText = 'width:640px;height:360px';
      document.body.append(element);
    });
    this.room.on(RoomEvent.TrackUnsubscribed, (track, _, participant) => {
      note('trackUnsubscribed', [participant.identity, track.kind]);
      for (const element of track.detach()) element.remove();
    });
    this.room.on(RoomEvent.TrackSubscriptionFailed, (sid) => note('trackSubscriptionFailed', sid));
    this.room.on(RoomEvent.ParticipantConnected, ({ identity }) => note('participantConnected', identity));
    this.room.on(RoomEvent.ParticipantDisconnected, ({ identity }) => note('participantDisconnected', identity));
    this.room.on(RoomEvent.ParticipantMetadataChanged, (_, { identity, metadata }) => note('metadata', [identity, metadata]));
    this.room.on(RoomEvent.ParticipantNameChanged, (name, { identity }) => note('name', [identity, name]));
    this.room.on(RoomEvent.ParticipantAttributesChanged, (changed, { identity }) => note('attributes', [identity, changed]));
    this.room.on(RoomEvent.ParticipantPermissionsChanged, (_, { identity, permissions }) =>
      note('permissions', [identity, permissions?.canPublish, permissions?.canSubscribe]),
    );
    this.room.on(RoomEvent.RoomMetadataChanged, (metadata) => note('roomMetadata', metadata));
    this.room.on(RoomEvent.TrackMuted, ({ kind }, { identity }) => note('muted', [identity, kind]));
    this.room.on(RoomEvent.TrackUnmuted, ({ kind }, { identity }) => note('unmuted', [identity, kind]));
    this.room.on(RoomEvent.ActiveSpeakersChanged, (speakers) =>
      note(
        'speakers',
        speakers.map(({ identity }) => identity),
      ),
    );
    this.room.on(RoomEvent.ConnectionStateChanged, (state: ConnectionState) => note(state));
    this.room.on(RoomEvent.LocalTrackSubscribed, ({ kind }) => note('localTrackSubscribed', kind));
    this.room.on(RoomEvent.ConnectionQualityChanged, (quality, { identity }) => note('quality', [identity, quality]));
    this.room.on(RoomEvent.TrackSubscriptionPermissionChanged, (_, status, { identity }) => note('permitted', [identity, status]));
    this.room.on(RoomEvent.LocalTrackUnpublished, ({ kind }) => note('localTrackUnpublished', kind));
    this.room.on(RoomEvent.DataReceived, (bytes, participant, _, topic) =>
      note('data', [participant?.identity, topic, new TextDecoder().decode(bytes)]),
    );
    this.room.on(RoomEvent.Disconnected, (reason) => note('reason', reason));
  }

  /** A room whose frames and data are encrypted with this key. `worker`: source of LiveKit's worker. */
  static async encrypted(key: string, worker: string): Promise<LiveKitRoom> {
    const url = URL.createObjectURL(new Blob([worker], { type: 'text/javascript' }));
    const keyProvider = new ExternalE2EEKeyProvider();
    await keyProvider.setKey(key);
    const made = new LiveKitRoom({ encryption: { keyProvider, worker: new Worker(url, { type: 'module' }) } });
    made.room.on(RoomEvent.EncryptionError, (_, participant) => made.note('encryptionError', participant?.identity));
    await made.room.setE2EEEnabled(true);
    return made;
  }

  note(name: string, detail?: unknown): void {
    this.notes.push({ at: performance.now(), name, detail });
  }

  async frameOf(identity: string): Promise<FrameProbe | undefined> {
    const video = this.trackOf(identity, Track.Kind.Video)?.attachedElements[0];
    return video instanceof HTMLVideoElement && video.videoWidth > 0 ? kit.probe(video) : undefined;
  }

  /** Packets that arrived of a track, and decoded frames of a video. */
  async arrivedOf(identity: string, kind: Track.Kind): Promise<{ packets: number; frames: number }> {
    const reports = await this.trackOf(identity, kind)?.receiver?.getStats();
    const inbound = [...(reports?.values() ?? [])].find(({ type }) => type === 'inbound-rtp');
    return { packets: inbound?.packetsReceived ?? 0, frames: inbound?.framesDecoded ?? 0 };
  }

  /** The codec in which a video arrives. */
  async codecOf(identity: string): Promise<string | undefined> {
    const reports = await this.trackOf(identity, Track.Kind.Video)?.receiver?.getStats();
    const inbound = [...(reports?.values() ?? [])].find(({ type }) => type === 'inbound-rtp');
    return reports?.get(inbound?.codecId)?.mimeType;
  }

  async toneOf(identity: string): Promise<number | undefined> {
    const track = this.trackOf(identity, Track.Kind.Audio);
    return track && kit.loudest(track.mediaStreamTrack);
  }

  trackOf(identity: string, kind: Track.Kind): RemoteTrack | undefined {
    const publications = [...(this.room.remoteParticipants.get(identity)?.trackPublications.values() ?? [])];
    return publications.find((publication) => publication.kind === kind)?.track;
  }
}

/** The browser rejects sections of offers that have this codec, as those do that do not have it. */
function forgetCodec(name: string): void {
  const { prototype } = RTCPeerConnection;
  const setRemoteDescription: (this: RTCPeerConnection, to: RTCSessionDescriptionInit) => Promise<void> = prototype.setRemoteDescription;
  prototype.setRemoteDescription = function (description) {
    const { type, sdp = '' } = description;
    const known = type === 'offer' ? sdp.replaceAll(` ${name}/90000`, ' unknown/90000') : sdp;
    return setRemoteDescription.call(this, { type, sdp: known });
  };
  const { addTransceiver } = prototype;
  prototype.addTransceiver = function (...given) {
    const transceiver = addTransceiver.apply(this, given);
    if (given[0] === 'video') {
      const { codecs = [] } = RTCRtpReceiver.getCapabilities('video') ?? {};
      transceiver.setCodecPreferences(codecs.filter(({ mimeType }) => mimeType.toLowerCase() !== `video/${name.toLowerCase()}`));
    }
    return transceiver;
  };
}

const livekitKit = { LiveKitRoom, Track, VideoQuality, forgetCodec, rooms: {} as Record<string, LiveKitRoom> };
declare global {
  var livekit: typeof livekitKit;
}
globalThis.livekit = livekitKit;
