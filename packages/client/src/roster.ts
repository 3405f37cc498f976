// Roster: peers, components, their tracks and the active speaker as known to this client; each change is reported once.
import type {
  EventData,
  JoinResponse,
  Json,
  Kind,
  Origin,
  ServerEvent,
  Track,
  RemoteComponent as WireComponent,
  RemotePeer as WirePeer,
} from './generated/protocol.ts';

/** A track of another peer or of a component. */
export type RemoteTrack = {
  readonly id: string;
  readonly kind: Kind;
  readonly metadata: Json;
  readonly encoding: string | null;
  readonly simulcast: boolean;
  /** Paused by its publisher. */
  readonly paused: boolean;
  /** Muted by the server. */
  readonly muted: boolean;
  /** End to end, by its publisher: only clients with the key can decode it. */
  readonly encrypted: boolean;
} & Readonly<Origin>;
export type RemotePeer = {
  readonly id: string;
  readonly metadata: Json;
  readonly attributes: Readonly<Record<string, string>>;
  readonly tracks: readonly RemoteTrack[];
};
export type RemoteComponent = {
  readonly id: string;
  readonly type: WireComponent['type'];
  readonly state: WireComponent['state'];
  readonly tracks: readonly RemoteTrack[];
};

export type RosterEvents = {
  /** The metadata of the room changed. */
  roomUpdated: { metadata: Json };
  peerJoined: { peer: RemotePeer };
  peerLeft: { peerId: string };
  /** Its metadata or attributes changed. */
  peerUpdated: { peer: RemotePeer };
  componentAdded: { component: RemoteComponent };
  /** Its state changed. */
  componentUpdated: { component: RemoteComponent };
  componentRemoved: { componentId: string };
  trackAdded: { track: RemoteTrack };
  trackRemoved: { track: RemoteTrack };
  /** Its metadata changed, or it was paused, resumed, muted or unmuted. */
  trackUpdated: { track: RemoteTrack };
  /** The active speaker changed; null: none. */
  activeSpeaker: { peerId: string | null };
};
type Present = Pick<JoinResponse, 'peers' | 'components' | 'roomMetadata' | 'activeSpeaker'>;
type Emit = <Name extends keyof RosterEvents>(name: Name, data: RosterEvents[Name]) => void;

export class Roster {
  readonly #emit: Emit;
  readonly #peers = new Map<string, Omit<WirePeer, 'tracks'>>();
  readonly #components = new Map<string, Omit<WireComponent, 'tracks'>>();
  readonly #tracks = new Map<string, RemoteTrack>();
  #roomMetadata: Json = null;
  #activeSpeaker: string | null = null;

  constructor(emit: Emit) {
    this.#emit = emit;
  }

  get peers(): ReadonlyMap<string, RemotePeer> {
    return new Map([...this.#peers.keys()].map((id) => [id, this.#peer(id)]));
  }

  get components(): ReadonlyMap<string, RemoteComponent> {
    return new Map([...this.#components.keys()].map((id) => [id, this.#component(id)]));
  }

  get roomMetadata(): Json {
    return this.#roomMetadata;
  }

  get activeSpeaker(): string | null {
    return this.#activeSpeaker;
  }

  track(trackId: string): RemoteTrack | undefined {
    return this.#tracks.get(trackId);
  }

  /** Replaces the state with that of a new session, and reports the differences. */
  replace({ peers, components, roomMetadata = null, activeSpeaker }: Present): void {
    this.#updateRoom(roomMetadata);
    const tracks = new Set([...peers, ...components].flatMap((each) => each.tracks.map(({ id }) => id)));
    for (const id of [...this.#tracks.keys()]) if (!tracks.has(id)) this.#removeTrack(id);
    for (const id of [...this.#peers.keys()]) if (!peers.some((peer) => peer.id === id)) this.#removePeer(id);
    for (const id of [...this.#components.keys()]) if (!components.some((each) => each.id === id)) this.#removeComponent(id);
    for (const peer of peers) this.#addPeer(peer);
    for (const component of components) this.#addComponent(component);
    // Older servers do not send it.
    this.#setActiveSpeaker(activeSpeaker ?? null);
  }

  /** @returns true if the event concerned the roster and was handled */
  take({ event, data }: ServerEvent): boolean {
    switch (event) {
      case 'peerJoined':
        this.#addPeer(data.peer);
        return true;
      case 'peerLeft':
        this.#removePeer(data.peerId);
        return true;
      case 'peerMetadataUpdated':
        return this.#updatePeer(data.peerId, { metadata: data.metadata });
      case 'peerAttributesUpdated':
        return this.#updatePeer(data.peerId, { attributes: data.attributes });
      case 'activeSpeaker':
        this.#setActiveSpeaker(data.peerId);
        return true;
      case 'roomMetadataUpdated':
        this.#updateRoom(data.metadata);
        return true;
      case 'componentAdded':
        this.#addComponent(data.component);
        return true;
      case 'componentUpdated':
        this.#updateComponent(data.componentId, data.state);
        return true;
      case 'componentRemoved':
        this.#removeComponent(data.componentId);
        return true;
      case 'trackAdded':
        this.#addTrack(data.track, originOf(data));
        return true;
      case 'trackRemoved':
        return this.#removeTrack(data.trackId);
      case 'trackMetadataUpdated':
        return this.#updateTrack(data.trackId, { metadata: data.metadata });
      case 'trackPaused':
        return this.#updateTrack(data.trackId, pausedBy(data, true));
      case 'trackResumed':
        return this.#updateTrack(data.trackId, pausedBy(data, false));
      default:
        return false;
    }
  }

  #updateRoom(metadata: Json): void {
    if (JSON.stringify(metadata) === JSON.stringify(this.#roomMetadata)) return;
    this.#roomMetadata = metadata;
    this.#emit('roomUpdated', { metadata });
  }

  #setActiveSpeaker(peerId: string | null): void {
    if (this.#activeSpeaker === peerId) return;
    this.#activeSpeaker = peerId;
    this.#emit('activeSpeaker', { peerId });
  }

  #addPeer({ id, metadata, attributes = {}, tracks }: WirePeer): void {
    const known = this.#peers.has(id);
    if (known) this.#updatePeer(id, { metadata, attributes });
    else {
      this.#peers.set(id, { id, metadata, attributes });
      this.#emit('peerJoined', { peer: this.#peer(id) });
    }
    for (const track of tracks) this.#addTrack(track, { peerId: id });
  }

  /** @returns false if there is no such peer: the event concerns this one */
  #updatePeer(id: string, change: Partial<Pick<WirePeer, 'metadata' | 'attributes'>>): boolean {
    const peer = this.#peers.get(id);
    if (!peer) return false;
    const changed = { ...peer, ...change };
    if (JSON.stringify(peer) === JSON.stringify(changed)) return true;
    this.#peers.set(id, changed);
    this.#emit('peerUpdated', { peer: this.#peer(id) });
    return true;
  }

  #removePeer(peerId: string): void {
    if (!this.#peers.has(peerId)) return;
    for (const track of this.#tracksOf({ peerId })) this.#removeTrack(track.id);
    this.#peers.delete(peerId);
    this.#emit('peerLeft', { peerId });
  }

  #addComponent({ tracks, ...component }: WireComponent): void {
    if (this.#components.has(component.id)) this.#updateComponent(component.id, component.state);
    else {
      this.#components.set(component.id, component);
      this.#emit('componentAdded', { component: this.#component(component.id) });
    }
    for (const track of tracks) this.#addTrack(track, { componentId: component.id });
  }

  #updateComponent(id: string, state: WireComponent['state']): void {
    const component = this.#components.get(id);
    if (!component || component.state === state) return;
    component.state = state;
    this.#emit('componentUpdated', { component: this.#component(id) });
  }

  #removeComponent(componentId: string): void {
    if (!this.#components.has(componentId)) return;
    for (const track of this.#tracksOf({ componentId })) this.#removeTrack(track.id);
    this.#components.delete(componentId);
    this.#emit('componentRemoved', { componentId });
  }

  #addTrack({ type, encrypted = false, ...view }: Track, origin: Origin): void {
    const track: RemoteTrack = { ...view, encrypted, kind: type, ...origin };
    const known = this.#tracks.get(track.id);
    if (JSON.stringify(known) === JSON.stringify(track)) return;
    this.#tracks.set(track.id, track);
    this.#emit(known ? 'trackUpdated' : 'trackAdded', { track });
  }

  #updateTrack(trackId: string, change: Partial<RemoteTrack>): boolean {
    const known = this.#tracks.get(trackId);
    if (!known) return false;
    const track = { ...known, ...change };
    this.#tracks.set(trackId, track);
    this.#emit('trackUpdated', { track });
    return true;
  }

  #removeTrack(trackId: string): boolean {
    const track = this.#tracks.get(trackId);
    if (!track) return false;
    this.#tracks.delete(trackId);
    this.#emit('trackRemoved', { track });
    return true;
  }

  #peer(id: string): RemotePeer {
    const { metadata = null, attributes = {} } = this.#peers.get(id) ?? {};
    return { id, metadata, attributes, tracks: this.#tracksOf({ peerId: id }) };
  }

  #component(id: string): RemoteComponent {
    const { type, state } = this.#components.get(id) ?? { type: 'file', state: 'starting' };
    return { id, type, state, tracks: this.#tracksOf({ componentId: id }) };
  }

  #tracksOf({ peerId, componentId }: Origin): RemoteTrack[] {
    return [...this.#tracks.values()].filter((track) => track.peerId === peerId && track.componentId === componentId);
  }
}

/** The publisher of a track, with only the applicable key. */
export function originOf({ peerId, componentId }: Origin): Origin {
  return { ...(peerId !== undefined && { peerId }), ...(componentId !== undefined && { componentId }) };
}

function pausedBy({ by }: EventData['trackPaused'], paused: boolean): Partial<RemoteTrack> {
  return by === 'server' ? { muted: paused } : { paused };
}
