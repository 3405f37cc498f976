// Local media publisher: publishes and switches camera and microphone of a page, and reports what other peers no longer receive.
import { RoomClosedError } from '../errors.ts';
import type { Json, Kind } from '../generated/protocol.ts';
import type { LocalTrack, LocalTrackEnd } from '../media/local-track.ts';
import type { RoomClient } from '../room-client.ts';

/** True per media kind if it shall be sent. */
export type MediaEnabled = Readonly<Record<Kind, boolean>>;

export type LocalSenderOptions = {
  room: Pick<RoomClient, 'publish' | 'on'>;
  stream: Pick<MediaStream, 'getTracks'>;
  metadata: Json | undefined;
  on: MediaEnabled;
  /** The published tracks or their states changed. */
  changed: () => void;
  /** A requested change failed. */
  problem: (error: Error) => void;
  /** Other peers do not receive this media kind, although it was not switched off. */
  off: (kind: Kind) => void;
};

const ends: Record<LocalTrackEnd, string> = {
  ended: 'ended: its device may be disconnected',
  removed: 'was removed by the server',
  refused: 'was rejected by the server',
};

/** `local`: set once the track is published. */
type Entry = { local: LocalTrack | undefined };

/** Publishes the tracks of the stream until close(). */
export class LocalMediaPublisher {
  readonly #options: LocalSenderOptions;
  readonly #entries = new Map<Kind, Entry>();
  readonly #stopListening: () => void;
  #on: MediaEnabled;
  #closed = false;

  constructor(options: LocalSenderOptions) {
    this.#options = options;
    this.#on = options.on;
    this.#stopListening = options.room.on('localTrackEnded', ({ track, reason }) => this.#ended(track, reason));
    for (const track of options.stream.getTracks()) this.#publish(kindOf(track), track);
  }

  /** @returns false if the source has ended and must be requested again */
  set(kind: Kind, on: boolean): boolean {
    this.#on = { ...this.#on, [kind]: on };
    const entry = this.#entries.get(kind);
    if (entry) {
      if (entry.local) this.#follow(kind, entry.local).catch((error: unknown) => this.#fail(kind, entry, error));
      return true;
    }
    const track = this.#options.stream.getTracks().find((each) => kindOf(each) === kind);
    if (!on || !track) return true;
    if (track.readyState === 'ended') return false;
    this.#publish(kind, track);
    return true;
  }

  /** Unpublishes all tracks, also those still being published. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopListening();
    for (const { local } of this.#entries.values()) local?.unpublish().catch(() => {});
    this.#entries.clear();
  }

  #publish(kind: Kind, track: MediaStreamTrack): void {
    const { room, metadata } = this.#options;
    const entry: Entry = { local: undefined };
    this.#entries.set(kind, entry);
    room
      .publish(track, { paused: !this.#on[kind], ...(metadata !== undefined && { metadata }) })
      .then(async (local) => {
        if (this.#closed) {
          await local.unpublish();
          return;
        }
        entry.local = local;
        this.#options.changed();
        // It may have been switched during publication.
        await this.#follow(kind, local);
      })
      .catch((error: unknown) => this.#fail(kind, entry, error));
  }

  async #follow(kind: Kind, local: LocalTrack): Promise<void> {
    if (local.paused === !this.#on[kind]) return;
    await (this.#on[kind] ? local.resume() : local.pause());
    if (!this.#closed) this.#options.changed();
  }

  #fail(kind: Kind, entry: Entry, error: unknown): void {
    if (this.#closed || this.#entries.get(kind) !== entry) return;
    // A published track stays if only a change of it failed.
    if (!entry.local) {
      this.#entries.delete(kind);
      // Keep the user's choice for the next room.
      if (!(error instanceof RoomClosedError)) this.#options.off(kind);
    }
    this.#options.problem(error instanceof Error ? error : new Error(String(error)));
  }

  #ended(track: LocalTrack, reason: LocalTrackEnd): void {
    for (const [kind, { local }] of this.#entries) {
      if (local !== track) continue;
      this.#entries.delete(kind);
      this.#options.changed();
      this.#options.off(kind);
      this.#options.problem(new Error(`The ${kind === 'audio' ? 'microphone' : 'camera'} ${ends[reason]}`));
    }
  }
}

function kindOf(track: MediaStreamTrack): Kind {
  return track.kind === 'audio' ? 'audio' : 'video';
}
