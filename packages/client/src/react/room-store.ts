// Room store: slices of room state that stay the same object until they change, independent of the room client.
import type { Closing } from '../closing.ts';
import type { LocalTrack } from '../media/local-track.ts';
import type { RoomClientOptions } from '../options.ts';
import { RoomClient } from '../room-client.ts';
import type { RoomEvents, RoomState } from '../room-events.ts';
import type { RemoteComponent, RemotePeer, RemoteTrack } from '../roster.ts';

export type ConnectionState = { state: RoomState; closing: Closing | undefined };
/** A track of another peer or a component; `mediaStreamTrack` is set while it is received. */
export type RoomTrack = RemoteTrack & { readonly mediaStreamTrack: MediaStreamTrack | undefined };

export type RoomSlices = {
  room: RoomClient | undefined;
  connection: ConnectionState;
  peers: readonly RemotePeer[];
  components: readonly RemoteComponent[];
  tracks: readonly RoomTrack[];
  localTracks: readonly LocalTrack[];
  activeSpeaker: string | null;
};
type PartName = keyof RoomSlices;

const nothing: RoomSlices = {
  room: undefined,
  connection: { state: 'new', closing: undefined },
  peers: [],
  components: [],
  tracks: [],
  localTracks: [],
  activeSpeaker: null,
};
const everything = Object.keys(nothing) as PartName[];

/** Slices that each event changes. */
const changes: Partial<Record<keyof RoomEvents, readonly PartName[]>> = {
  stateChanged: everything,
  closed: everything,
  peerJoined: ['peers', 'tracks'],
  peerLeft: ['peers', 'tracks'],
  peerUpdated: ['peers'],
  componentAdded: ['components', 'tracks'],
  componentUpdated: ['components'],
  componentRemoved: ['components', 'tracks'],
  trackAdded: ['peers', 'components', 'tracks'],
  trackRemoved: ['peers', 'components', 'tracks'],
  trackUpdated: ['peers', 'components', 'tracks'],
  trackSubscribed: ['tracks'],
  trackUnsubscribed: ['tracks'],
  trackReplaced: ['tracks'],
  localTrackEnded: ['localTracks'],
  localTrackMuted: ['localTracks'],
  activeSpeaker: ['activeSpeaker'],
};

export class RoomStore {
  readonly #listeners = new Set<() => void>();
  #room: RoomClient | undefined;
  /** Cached slices; changed ones are removed. */
  #shown: Partial<RoomSlices> = {};

  /** Joins the room. @returns a function that leaves it */
  open(options: RoomClientOptions): () => void {
    const room = new RoomClient(options);
    const offs = Object.entries(changes).map(([name, parts]) => room.on(name as keyof RoomEvents, () => this.changed(parts)));
    this.#room = room;
    this.changed(everything);
    // `closed` reports the same failure.
    room.join().catch(() => {});
    return () => {
      for (const off of offs) off();
      if (this.#room === room) this.#room = undefined;
      this.changed(everything);
      void room.leave();
    };
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  part<Name extends PartName>(name: Name): RoomSlices[Name] {
    const shown = this.#shown[name] as RoomSlices[Name] | undefined;
    if (shown !== undefined) return shown;
    const fresh = this.#room ? read(this.#room, name) : nothing[name];
    this.#shown[name] = fresh;
    return fresh;
  }

  changed(parts: readonly PartName[]): void {
    for (const name of parts) delete this.#shown[name];
    for (const listener of [...this.#listeners]) listener();
  }
}

function read<Name extends PartName>(room: RoomClient, name: Name): RoomSlices[Name] {
  const readers: { [Part in PartName]: () => RoomSlices[Part] } = {
    room: () => room,
    connection: () => ({ state: room.state, closing: room.closing }),
    peers: () => [...room.peers.values()],
    components: () => [...room.components.values()],
    tracks: () =>
      [...room.peers.values(), ...room.components.values()].flatMap(({ tracks }) =>
        tracks.map((track) => ({ ...track, mediaStreamTrack: room.mediaStreamTrack(track.id) })),
      ),
    localTracks: () => room.localTracks,
    activeSpeaker: () => room.activeSpeaker,
  };
  return readers[name]();
}
