// What React shows of a room: parts that stay the same object until they change, whichever room client is underneath.
import type { Closing } from '../closing.ts';
import type { LocalTrack } from '../media/local-track.ts';
import type { RoomClientOptions } from '../options.ts';
import { RoomClient } from '../room-client.ts';
import type { RoomEvents, RoomState } from '../room-events.ts';
import type { RemoteComponent, RemotePeer, RemoteTrack } from '../roster.ts';

export type ConnectionState = { state: RoomState; closing: Closing | undefined };
/** A track of another; `mediaStreamTrack` while it arrives. */
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

/** Which parts each event changes. */
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
  localTrackEnded: ['localTracks'],
  localTrackMuted: ['localTracks'],
  activeSpeaker: ['activeSpeaker'],
};

export class RoomStore {
  readonly #listeners = new Set<() => void>();
  #room: RoomClient | undefined;
  /** Parts as they were last shown; what changed since is missing. */
  #shown: Partial<RoomSlices> = {};

  /** Enters the room. @returns what leaves it. */
  open(options: RoomClientOptions): () => void {
    const room = new RoomClient(options);
    const offs = Object.entries(changes).map(([name, parts]) => room.on(name as keyof RoomEvents, () => this.changed(parts)));
    this.#room = room;
    this.changed(everything);
    // `closed` tells the same.
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
