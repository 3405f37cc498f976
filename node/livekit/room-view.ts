// Room view of a LiveKit client: what it knows of the room and of itself, and the messages that keep it current.
import {
  MuteTrackRequest,
  ParticipantUpdate,
  RoomUpdate,
  StreamState,
  StreamStateUpdate,
  SubscriptionError,
  SubscriptionPermissionUpdate,
  SubscriptionResponse,
  TrackSubscribed,
  TrackUnpublishedResponse,
} from '@livekit/protocol';
import type { Metadata } from '../../api/json.ts';
import type { Attributes, AttributesPatch } from '../../api/peer.ts';
import type { AudioLevel, PeerEvent } from '../../api/socket/peer-events.ts';
import type { Quality } from '../../api/stats.ts';
import type { Peer, Welcome } from '../rooms/peers/peer.ts';
import type { RtpCapabilities } from '../sdp/codecs.ts';
import { qualityMessage, type RatedPeer, type Rating } from './connection-quality.ts';
import { participantSid, trackSid } from './ids.ts';
import { joinMessage, type Message, roomMessage, speakersMessage, updateMessage } from './messages.ts';
import { kindOf, type Participant, participantInfo } from './participants.ts';
import { Roster, type RosterChange } from './roster.ts';

export type RoomViewOptions = {
  peer: Peer;
  /** Of the session: the client presents it to resume. */
  sid: string;
  identityOf: (peerId: string) => string;
  isAgent?: (peerId: string) => boolean;
  /** True if the peer may receive a track. */
  mayReceive: (publisherId: string, trackId: string) => boolean;
  iceServers: () => readonly Record<string, unknown>[];
  fastPublish: boolean;
  single: boolean;
};

/** Maximum number of participants that left of which a client is notified again when it resumes. */
const maxLeft = 1_000;

export class RoomView {
  readonly roster: Roster;
  readonly #options: RoomViewOptions;
  /** Participants that left, the latest last: what was sent before a socket was lost may not have arrived. */
  readonly #left = new Map<string, RosterChange>();
  /** Tracks that their publishers did not permit this peer to receive; true if they do now. */
  readonly #permitted = new Map<string, boolean>();
  /** Tracks for which the available bandwidth was too small; true if they are sent now. */
  readonly #streams = new Map<string, boolean>();
  #own: { metadata: Metadata | null; attributes: Attributes };
  #room: { incarnation: string; metadata: Metadata | null; capabilities: RtpCapabilities } | undefined;
  #speakers = new Set<string>();
  #ratings = new Map<string, Quality>();
  #version = 0;

  constructor(options: RoomViewOptions) {
    this.#options = options;
    const { metadata, attributes } = options.peer.profile;
    this.#own = { metadata, attributes };
    this.roster = new Roster(options.identityOf, options.isAgent);
  }

  join(welcome: Welcome, capabilities: RtpCapabilities): Message[] {
    const { incarnation, roomMetadata: metadata, peers, components } = welcome;
    this.#room = { incarnation, metadata, capabilities };
    this.roster.fill({ peers, components });
    const others = this.roster.all;
    const { fastPublish, single } = this.#options;
    const iceServers = this.#options.iceServers();
    const room = this.#roomState(others.length + 1);
    const message = joinMessage({ room, self: this.#self(), others, version: this.#next, iceServers, fastPublish, single });
    return [message, ...others.flatMap(({ id }) => this.permissionMessages(id))];
  }

  /** What a client that resumes may have missed. */
  missed(): Message[] {
    this.#ratings.clear();
    const changes = [...this.#left.values(), ...this.roster.all.map((participant) => ({ participant, left: false }))];
    const permissions = this.roster.all.flatMap(({ id }) => this.permissionMessages(id, { repeat: true }));
    const updates = changes.length > 0 ? [updateMessage(changes, this.#next)] : [];
    const streams = this.#streams.size > 0 ? [this.#streamStates(this.#streams.keys())] : [];
    // A client that unmuted itself since stays muted by the server.
    const mutes = this.#ownTracks().flatMap(({ id, muted, paused }) => (muted && !paused ? [muteMessage(trackSid(id))] : []));
    return [...mutes, this.ownUpdate(), ...updates, ...permissions, ...streams, this.#roomUpdate()];
  }

  /** Which tracks of a participant the client may receive, as far as that changed. `repeat`: also what was sent before. */
  permissionMessages(id: string, { repeat = false } = {}): Message[] {
    const { sid: participantSid = '', tracks = [] } = this.roster.participant(id) ?? {};
    return tracks.flatMap(({ id: trackId }) => {
      const allowed = this.#options.mayReceive(id, trackId);
      const known = this.#permitted.get(trackId);
      if (allowed === (known ?? true) && !(repeat && known !== undefined)) return [];
      this.#permitted.set(trackId, allowed);
      return {
        case: 'subscriptionPermissionUpdate',
        value: new SubscriptionPermissionUpdate({ participantSid, trackSid: trackSid(trackId), allowed }),
      };
    });
  }

  /** The available bandwidth is too small for a track, or suffices again; undefined if that did not change. */
  streamMessage(trackId: string, sent: boolean): Message | undefined {
    const track = this.roster.track(trackId);
    if (!track || sent === (this.#streams.get(trackId) ?? true)) return undefined;
    // Nothing is sent of a track that is muted.
    if (!sent && (track.paused || track.muted)) return undefined;
    this.#streams.set(trackId, sent);
    return this.#streamStates([trackId]);
  }

  #streamStates(trackIds: Iterable<string>): Message {
    const streamStates = [...trackIds].map((trackId) => {
      const participant = this.roster.all.find(({ tracks }) => tracks.some(({ id }) => id === trackId));
      const state = this.#streams.get(trackId) === false ? StreamState.PAUSED : StreamState.ACTIVE;
      return { participantSid: participant?.sid ?? '', trackSid: trackSid(trackId), state };
    });
    return { case: 'streamStateUpdate', value: new StreamStateUpdate({ streamStates }) };
  }

  /** Ratings that changed, of the peers that the client sees. */
  qualityMessage(peers: readonly RatedPeer[]): Message | undefined {
    const { peer, sid: own } = this.#options;
    const seen = peers.flatMap(({ id, quality }): Rating[] => {
      const sid = id === peer.id ? own : this.roster.participant(id)?.sid;
      return sid === undefined ? [] : [{ sid, quality }];
    });
    const changed = seen.filter(({ sid, quality }) => this.#ratings.get(sid) !== quality);
    this.#ratings = new Map(seen.map(({ sid, quality }) => [sid, quality]));
    return qualityMessage(changed);
  }

  /** The client changed its metadata or attributes: it waits until it sees that. */
  changedOwn(metadata: Metadata | null, patch: AttributesPatch): Message {
    const attributes = Object.entries({ ...this.#own.attributes, ...patch }).filter(
      (entry): entry is [string, string] => entry[1] !== null,
    );
    this.#own = { metadata, attributes: Object.fromEntries(attributes) };
    return this.ownUpdate();
  }

  ownUpdate(): Message {
    return { case: 'update', value: new ParticipantUpdate({ participants: [this.#self()] }) };
  }

  /** The messages of an event; those about media are not among them. */
  messagesOf(event: PeerEvent): Message[] {
    const own = this.#ownMessages(event);
    if (own) return own;
    switch (event.event) {
      case 'roomMetadataUpdated':
        if (this.#room) this.#room.metadata = event.data.metadata;
        return [this.#roomUpdate()];
      case 'permissionsUpdated':
        return [this.ownUpdate()];
      case 'audioLevels':
        return [this.#levels(event.data.levels)];
      case 'trackNotSupported':
        return [unsupportedMessage(trackSid(event.data.trackId))];
      default: {
        const { recorded } = this.roster;
        const change = this.roster.apply(event);
        if (recorded !== this.roster.recorded) return [this.#roomUpdate()];
        if (!change) return [];
        this.#remember(change);
        if (event.event === 'trackRemoved') for (const tracks of [this.#permitted, this.#streams]) tracks.delete(event.data.trackId);
        const update = updateMessage([change], this.#next);
        return event.event === 'trackAdded' ? [update, ...this.permissionMessages(change.participant.id)] : [update];
      }
    }
  }

  /** Events about the peer itself; undefined: the event is about others. */
  #ownMessages(event: PeerEvent): Message[] | undefined {
    const { peer } = this.#options;
    switch (event.event) {
      case 'peerMetadataUpdated':
        if (event.data.peerId !== peer.id) return undefined;
        this.#own = { ...this.#own, metadata: event.data.metadata };
        return [this.ownUpdate()];
      case 'peerAttributesUpdated':
        if (event.data.peerId !== peer.id) return undefined;
        this.#own = { ...this.#own, attributes: event.data.attributes };
        return [this.ownUpdate()];
      case 'trackRemoved':
        return event.data.peerId === peer.id ? [unpublishedMessage(trackSid(event.data.trackId)), this.ownUpdate()] : undefined;
      case 'trackPaused':
      case 'trackResumed': {
        const { trackId } = event.data;
        if (!this.#ownTracks().some(({ id }) => id === trackId)) return undefined;
        // As in LiveKit, the server mutes, and only the client unmutes itself.
        return event.event === 'trackPaused' ? [muteMessage(trackSid(trackId))] : [this.ownUpdate()];
      }
      default:
        return undefined;
    }
  }

  #levels(levels: readonly AudioLevel[]): Message {
    const named = levels.map((level) => ({
      ...level,
      sid: level.peerId === this.#options.peer.id ? this.#options.sid : participantSid(level.peerId),
    }));
    const now = new Set(named.map(({ sid }) => sid));
    const silent = [...this.#speakers].filter((sid) => !now.has(sid));
    this.#speakers = now;
    return speakersMessage(named, silent);
  }

  #remember(change: RosterChange): void {
    const { id } = change.participant;
    this.#left.delete(id);
    if (change.left) this.#left.set(id, change);
    const [oldest] = this.#left.keys();
    if (this.#left.size > maxLeft && oldest !== undefined) this.#left.delete(oldest);
  }

  #roomUpdate(): Message {
    return { case: 'roomUpdate', value: new RoomUpdate({ room: roomMessage(this.#roomState(this.roster.all.length + 1)) }) };
  }

  #roomState(participants: number) {
    const { incarnation = '', metadata = null, capabilities = {} } = this.#room ?? {};
    return { roomId: this.#options.peer.roomId, incarnation, metadata, participants, recorded: this.roster.recorded, capabilities };
  }

  #self() {
    const { peer, sid, identityOf } = this.#options;
    const participant: Participant = {
      ...{ id: peer.id, sid, identity: identityOf(peer.id), kind: kindOf(peer.rights.agent) },
      ...this.#own,
      tracks: this.#ownTracks(),
    };
    return participantInfo(participant, this.#next(), peer.rights.permissions, peer.rights.hidden);
  }

  #ownTracks() {
    const { peer } = this.#options;
    return peer.connected ? [...peer.session.publications.tracks].map((track) => track.view()) : [];
  }

  readonly #next = (): number => {
    this.#version += 1;
    return this.#version;
  };
}

function unsupportedMessage(sid: string): Message {
  return { case: 'subscriptionResponse', value: new SubscriptionResponse({ trackSid: sid, err: SubscriptionError.SE_CODEC_UNSUPPORTED }) };
}

export function trackReceivedMessage(sid: string): Message {
  return { case: 'trackSubscribed', value: new TrackSubscribed({ trackSid: sid }) };
}

export function unpublishedMessage(sid: string): Message {
  return { case: 'trackUnpublished', value: new TrackUnpublishedResponse({ trackSid: sid }) };
}

function muteMessage(sid: string): Message {
  return { case: 'mute', value: new MuteTrackRequest({ sid, muted: true }) };
}
