// Profile of a peer: metadata and attributes that other peers see. The peer and the backend change it.
import { ServiceError } from '../../../api/errors.ts';
import type { Metadata } from '../../../api/json.ts';
import { type Attributes, type AttributesPatch, attributesSchema } from '../../../api/peer.ts';
import type { ChangedBy } from '../changes/room-change.ts';
import { Paced } from './paced.ts';

export type PeerProfileInit = { metadata: Metadata | null; attributes: Attributes };
export type PeerProfilePatch = {
  metadata?: Metadata | null | undefined;
  /** The `name` of the metadata; null removes it. */
  name?: string | null | undefined;
  attributes?: AttributesPatch | undefined;
};
export type PeerProfileListener = {
  metadataChanged: (metadata: Metadata | null, by: ChangedBy) => void;
  attributesChanged: (attributes: Attributes, by: ChangedBy) => void;
};

export class PeerProfile {
  readonly #listener: PeerProfileListener;
  readonly #shownMetadata = new Paced<Metadata | null>((metadata) => this.#showMetadata(metadata, 'publisher'));
  readonly #shownAttributes = new Paced<Attributes>((attributes) => this.#showAttributes(attributes, 'publisher'));
  /** Attributes that the backend set: the peer cannot change them. */
  readonly #fixed: Set<string>;
  #metadata: Metadata | null;
  #attributes: Attributes;
  /** With changes that other peers get at the end of the second. */
  readonly #latest: PeerProfileInit;

  constructor({ metadata, attributes }: PeerProfileInit, listener: PeerProfileListener) {
    this.#metadata = metadata;
    this.#attributes = attributes;
    this.#latest = { metadata, attributes };
    this.#fixed = new Set(Object.keys(attributes));
    this.#listener = listener;
  }

  get metadata(): Metadata | null {
    return this.#metadata;
  }

  get attributes(): Attributes {
    return this.#attributes;
  }

  /** Display name: `name` of its metadata, or null. */
  get name(): string | null {
    const { name } = namedPart(this.#metadata);
    return typeof name === 'string' && name.trim() !== '' ? name.trim() : null;
  }

  /** By the peer. Others get a change at once, but at most one per second: of faster changes only the last, at the end of the second. */
  setMetadata(metadata: Metadata | null): void {
    this.#latest.metadata = metadata;
    this.#shownMetadata.set(metadata);
  }

  /** By the peer, paced like metadata. null deletes an attribute. @throws ServiceError `forbidden`, `too_large` */
  setAttributes(patch: AttributesPatch): void {
    const fixed = Object.keys(patch).find((name) => this.#fixed.has(name));
    if (fixed !== undefined) throw new ServiceError('forbidden', `The backend set the attribute ${fixed}; this peer cannot change it`);
    this.#latest.attributes = merged(this.#latest.attributes, patch);
    this.#shownAttributes.set(this.#latest.attributes);
  }

  /** By the backend, effective at once. @throws ServiceError `too_large` */
  update({ metadata, name, attributes = {} }: PeerProfilePatch): void {
    const next = merged(this.#latest.attributes, attributes);
    if (metadata !== undefined || name !== undefined)
      this.#replaceMetadata(metadata === undefined ? this.#latest.metadata : metadata, name);
    if (Object.keys(attributes).length > 0) this.#replaceAttributes(next, attributes);
  }

  stop(): void {
    this.#shownMetadata.stop();
    this.#shownAttributes.stop();
  }

  #replaceMetadata(metadata: Metadata | null, name: string | null | undefined): void {
    this.#latest.metadata = name === undefined ? metadata : renamed(metadata, name);
    this.#shownMetadata.drop();
    this.#showMetadata(this.#latest.metadata, 'server');
  }

  #replaceAttributes(next: Attributes, patch: AttributesPatch): void {
    for (const [name, value] of Object.entries(patch)) {
      if (value === null) this.#fixed.delete(name);
      else this.#fixed.add(name);
    }
    this.#latest.attributes = next;
    this.#shownAttributes.drop();
    this.#showAttributes(next, 'server');
  }

  #showMetadata(metadata: Metadata | null, by: ChangedBy): boolean {
    if (JSON.stringify(metadata) === JSON.stringify(this.#metadata)) return false;
    this.#metadata = metadata;
    this.#listener.metadataChanged(metadata, by);
    return true;
  }

  #showAttributes(attributes: Attributes, by: ChangedBy): boolean {
    if (JSON.stringify(attributes) === JSON.stringify(this.#attributes)) return false;
    this.#attributes = attributes;
    this.#listener.attributesChanged(attributes, by);
    return true;
  }
}

/** Metadata with another name; metadata that is no object becomes its `value`. */
function renamed(metadata: Metadata | null, name: string | null): Metadata | null {
  const { name: _, ...others } = namedPart(metadata);
  if (name !== null) return { ...others, name };
  return isObject(metadata) ? others : metadata;
}

function namedPart(metadata: Metadata | null): { [name: string]: Metadata } {
  if (metadata === null) return {};
  return isObject(metadata) ? metadata : { value: metadata };
}

function isObject(metadata: Metadata | null): metadata is { [name: string]: Metadata } {
  return typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata);
}

function merged(attributes: Attributes, patch: AttributesPatch): Attributes {
  const entries = Object.entries({ ...attributes, ...patch }).filter((entry): entry is [string, string] => entry[1] !== null);
  const result = attributesSchema.safeParse(Object.fromEntries(entries));
  if (result.success) return result.data;
  throw new ServiceError('too_large', `The attributes of the peer ${result.error.issues[0]?.message ?? 'are too large'}`);
}
