// Track: media that a peer or a component publishes, with its public view and its pause and mute states.

import type { ComponentType } from '../../api/component/types.ts';
import type { Metadata } from '../../api/json.ts';
import type { Kind, TrackView } from '../../api/track.ts';

/** The same track in another codec. `id`: in the media of the room; `request`: of its publisher, for each receiver that needs it. */
export type BackupOptions = { readonly id: string; readonly request: () => void };
export type Backup = BackupOptions & { published: boolean };

/** The publisher of a track. */
export type TrackOrigin = { peerId: string } | { componentId: string };

export type TrackOptions = {
  id: string;
  /** Name chosen by its publisher; identifies the track when it is published again. */
  key?: string | null;
  origin: TrackOrigin;
  kind: Kind;
  metadata: Metadata | null;
  encoding: string;
  simulcast: boolean;
  /** Number of simulcast encodings, that is of layers that its publisher can stop; default 1. */
  layers?: number;
  paused: boolean;
  muted?: boolean;
  /** End to end, by its publisher. */
  encrypted?: boolean;
  backup?: BackupOptions | undefined;
  /** Only for tracks of components. */
  componentType?: ComponentType;
};

export class Track {
  readonly id: string;
  readonly key: string | null;
  readonly origin: TrackOrigin;
  readonly kind: Kind;
  readonly encrypted: boolean;
  readonly layers: number;
  readonly backup: Backup | undefined;
  readonly #encoding: string;
  readonly #simulcast: boolean;
  readonly #componentType: ComponentType | undefined;
  metadata: Metadata | null;
  /** Paused by its publisher. */
  paused: boolean;
  /** Muted by the server; the publisher cannot undo it. */
  muted: boolean;
  #interrupted = false;
  #generation = 0;

  constructor(options: TrackOptions) {
    this.id = options.id;
    this.key = options.key ?? null;
    this.origin = options.origin;
    this.kind = options.kind;
    this.metadata = options.metadata;
    this.paused = options.paused;
    this.muted = options.muted ?? false;
    this.encrypted = options.encrypted ?? false;
    this.layers = options.layers ?? 1;
    this.backup = options.backup && { ...options.backup, published: false };
    this.#encoding = options.encoding;
    this.#simulcast = options.simulcast;
    this.#componentType = options.componentType;
  }

  /** Codec in lower case, for example opus. */
  get encoding(): string {
    return this.#encoding;
  }

  /** True if its media was lost and is expected again, under the same id. */
  get interrupted(): boolean {
    return this.#interrupted;
  }

  /** Number of times that its media was restored, or had a successor. */
  get generation(): number {
    return this.#generation;
  }

  interrupt(): void {
    this.#interrupted = true;
  }

  restore(): void {
    this.#interrupted = false;
    this.#generation += 1;
  }

  /** Its media has a successor. */
  succeed(): void {
    this.#generation += 1;
  }

  /** The successor of its media is the only one, and was known before. */
  resume(): void {
    this.#interrupted = false;
  }

  /** True if the media is stopped, by the publisher or the server. */
  get silent(): boolean {
    return this.paused || this.muted;
  }

  view(): TrackView {
    return {
      id: this.id,
      type: this.kind,
      metadata: this.metadata,
      encoding: this.#encoding,
      simulcast: this.#simulcast,
      paused: this.paused,
      muted: this.muted,
      encrypted: this.encrypted,
    };
  }

  /** As peers see it. Track metadata of a component may contain phone numbers, so peers get only the component type. */
  remoteView(): TrackView {
    return this.#componentType === undefined ? this.view() : { ...this.view(), metadata: { source: this.#componentType } };
  }
}

/** The source of a track, which its publisher states in the metadata. */
export function sourceOf({ kind, metadata }: Pick<Track, 'kind' | 'metadata'>): string {
  const { source } = typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata) ? metadata : {};
  return typeof source === 'string' ? source : kind === 'audio' ? 'microphone' : 'camera';
}

/** A data channel that a peer publishes over SCTP. */
export type DataTrack = {
  readonly id: string;
  readonly peerId: string;
  readonly label: string;
  readonly protocol: string;
  /** True if every message arrives. */
  readonly reliable: boolean;
  /** In the media of the room: of what its publisher sends now. */
  readonly mediaId: string;
  /** While its publisher moves: what it will send then. */
  readonly successor: { readonly mediaId: string } | undefined;
  /** Runs work while its publisher sends nothing. */
  readonly hold: { run(work: () => Promise<void>): Promise<void> };
};
