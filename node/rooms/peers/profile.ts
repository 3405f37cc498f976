// Profile of a peer: metadata and attributes that other peers see. The peer and the backend change it.
import { ServiceError } from '../../../api/errors.ts';
import type { Metadata } from '../../../api/json.ts';
import { type Attributes, type AttributesPatch, attributesSchema } from '../../../api/peer.ts';
import type { ChangedBy } from '../changes/room-change.ts';
import { Shown } from './shown.ts';

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
  readonly #metadata: Shown<Metadata | null>;
  readonly #attributes: Shown<Attributes>;
  /** Attributes that the backend set: the peer cannot change them. */
  readonly #fixed: Set<string>;

  constructor({ metadata, attributes }: PeerProfileInit, listener: PeerProfileListener) {
    this.#metadata = new Shown(metadata, listener.metadataChanged);
    this.#attributes = new Shown(attributes, listener.attributesChanged);
    this.#fixed = new Set(Object.keys(attributes));
  }

  get metadata(): Metadata | null {
    return this.#metadata.value;
  }

  get attributes(): Attributes {
    return this.#attributes.value;
  }

  /** Display name: `name` of its metadata, or null. */
  get name(): string | null {
    const { name } = namedPart(this.metadata);
    return typeof name === 'string' && name.trim() !== '' ? name.trim() : null;
  }

  /** By the peer. Others get a change at once, but at most one per second: of faster changes only the last, at the end of the second. */
  setMetadata(metadata: Metadata | null): void {
    this.#metadata.set(metadata);
  }

  /** By the peer, paced like metadata. null deletes an attribute. @throws ServiceError `forbidden`, `too_large` */
  setAttributes(patch: AttributesPatch): void {
    const fixed = Object.keys(patch).find((name) => this.#fixed.has(name));
    if (fixed !== undefined) throw new ServiceError('forbidden', `The backend set the attribute ${fixed}; this peer cannot change it`);
    this.#attributes.set(merged(this.#attributes.latest, patch));
  }

  /** By the backend, effective at once. @throws ServiceError `too_large` */
  update({ metadata, name, attributes = {} }: PeerProfilePatch): void {
    const next = merged(this.#attributes.latest, attributes);
    if (metadata !== undefined || name !== undefined) {
      const given = metadata === undefined ? this.#metadata.latest : metadata;
      this.#metadata.replace(name === undefined ? given : renamed(given, name));
    }
    const changed = Object.entries(attributes);
    for (const [attribute, value] of changed) {
      if (value === null) this.#fixed.delete(attribute);
      else this.#fixed.add(attribute);
    }
    if (changed.length > 0) this.#attributes.replace(next);
  }

  stop(): void {
    this.#metadata.stop();
    this.#attributes.stop();
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
