// Roster of a LiveKit client: the other participants of its room, kept current by the events of the room.
import type { PeerEvent, RemoteComponent, RemotePeer } from '../../api/socket/peer-events.ts';
import type { TrackView } from '../../api/track.ts';
import { trackSid } from './ids.ts';
import { componentParticipant, type Participant, peerParticipant } from './participants.ts';

type EventOf<Name extends PeerEvent['event']> = Extract<PeerEvent, { event: Name }>;
type Present = { peers: readonly RemotePeer[]; components: readonly RemoteComponent[] };
/** `left`: the participant is not in the room any more. */
export type RosterChange = { participant: Participant; left: boolean };

export class Roster {
  /** Name of a peer for clients. */
  readonly #identityOf: (peerId: string) => string;
  readonly #isAgent: (peerId: string) => boolean;
  /** By id of the peer or component. */
  readonly #participants = new Map<string, Participant>();
  /** Recordings and streams. */
  readonly #outputs = new Set<string>();

  constructor(identityOf: (peerId: string) => string, isAgent: (peerId: string) => boolean = () => false) {
    this.#identityOf = identityOf;
    this.#isAgent = isAgent;
  }

  get all(): Participant[] {
    return [...this.#participants.values()];
  }

  /** The state of the room; later events may repeat a part of it. */
  fill({ peers, components }: Present): void {
    for (const peer of peers) this.#setPeer(peer);
    for (const component of components) this.#addComponent(component);
  }

  /** True if the room is recorded or streamed. */
  get recorded(): boolean {
    return this.#outputs.size > 0;
  }

  participant(id: string): Participant | undefined {
    return this.#participants.get(id);
  }

  identity(sid: string): string | undefined {
    return this.all.find((participant) => participant.sid === sid)?.identity;
  }

  trackId(sid: string): string | undefined {
    return this.#tracks().find(({ id }) => trackSid(id) === sid)?.id;
  }

  /** Of several SIDs, each once; unknown ones are left out. */
  trackIds(sids: readonly string[]): string[] {
    const known = new Map(this.#tracks().map(({ id }) => [trackSid(id), id]));
    return [...new Set(sids)].flatMap((sid) => known.get(sid) ?? []);
  }

  track(trackId: string): TrackView | undefined {
    return this.#tracks().find(({ id }) => id === trackId);
  }

  /** @returns the change; undefined if the event does not concern participants */
  apply(event: PeerEvent): RosterChange | undefined {
    switch (event.event) {
      case 'peerJoined':
        return this.#setPeer(event.data.peer);
      case 'peerLeft':
        return this.#delete(event.data.peerId);
      case 'peerMetadataUpdated':
        return this.#update(event.data.peerId, () => ({ metadata: event.data.metadata }));
      case 'peerAttributesUpdated':
        return this.#update(event.data.peerId, () => ({ attributes: event.data.attributes }));
      case 'componentAdded':
        return this.#addComponent(event.data.component);
      case 'componentRemoved':
        this.#outputs.delete(event.data.componentId);
        return this.#delete(event.data.componentId);
      case 'trackAdded':
        return this.#addTrack(event.data);
      case 'trackRemoved':
        return this.#update(event.data.peerId ?? event.data.componentId ?? '', ({ tracks }) => ({
          tracks: tracks.filter(({ id }) => id !== event.data.trackId),
        }));
      case 'trackMetadataUpdated':
        return this.#updateTrack(event.data.trackId, () => ({ metadata: event.data.metadata }));
      case 'trackPaused':
      case 'trackResumed':
        return this.#pauseTrack(event);
      default:
        return undefined;
    }
  }

  #pauseTrack({ event, data: { trackId, by } }: EventOf<'trackPaused' | 'trackResumed'>): RosterChange | undefined {
    const silent = event === 'trackPaused';
    return this.#updateTrack(trackId, () => (by === 'server' ? { muted: silent } : { paused: silent }));
  }

  #addTrack({ peerId, componentId, track }: EventOf<'trackAdded'>['data']): RosterChange | undefined {
    return this.#update(peerId ?? componentId ?? '', ({ tracks }) => ({ tracks: [...tracks.filter(({ id }) => id !== track.id), track] }));
  }

  #updateTrack(trackId: string, change: () => Partial<TrackView>): RosterChange | undefined {
    const owner = this.all.find(({ tracks }) => tracks.some(({ id }) => id === trackId));
    if (!owner) return undefined;
    return this.#update(owner.id, ({ tracks }) => ({
      tracks: tracks.map((track) => (track.id === trackId ? { ...track, ...change() } : track)),
    }));
  }

  #update(id: string, change: (participant: Participant) => Partial<Participant>): RosterChange | undefined {
    const participant = this.#participants.get(id);
    return participant && this.#set({ ...participant, ...change(participant) });
  }

  #addComponent(component: RemoteComponent): RosterChange | undefined {
    const participant = componentParticipant(component);
    if (participant) return this.#set(participant);
    this.#outputs.add(component.id);
    return undefined;
  }

  #setPeer(peer: RemotePeer): RosterChange {
    return this.#set(peerParticipant(peer, this.#identityOf(peer.id), this.#isAgent(peer.id)));
  }

  #set(participant: Participant): RosterChange {
    this.#participants.set(participant.id, participant);
    return { participant, left: false };
  }

  #delete(id: string): RosterChange | undefined {
    const participant = this.#participants.get(id);
    if (!participant) return undefined;
    this.#participants.delete(id);
    return { participant, left: true };
  }

  #tracks(): TrackView[] {
    return this.all.flatMap(({ tracks }) => tracks);
  }
}
