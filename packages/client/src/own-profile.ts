// Own profile: metadata and attributes of this peer, set by the application or by the backend.
import type { JoinResponse, Json, Requests, ServerEvent } from './generated/protocol.ts';
import { stateful } from './pending.ts';

export type Attributes = Readonly<Record<string, string>>;
export type AttributesPatch = Requests['setAttributes']['attributes'];
type Request = <M extends 'setAttributes' | 'setPeerMetadata'>(method: M, data: Requests[M], portable: boolean) => Promise<unknown>;
type Changed = (profile: { metadata: Json; attributes: Attributes }) => void;

export class OwnProfile {
  /** Undefined if it is not set by the application. */
  metadata: Json | undefined;
  readonly #request: Request;
  readonly #changed: Changed;
  /** What the application set in this room. */
  readonly #set: AttributesPatch = {};
  #incarnation: string | undefined;
  #attributes: Attributes = {};

  /** `changed`: called after a change by the backend. */
  constructor(metadata: Json | undefined, request: Request, changed: Changed) {
    this.metadata = metadata;
    this.#request = request;
    this.#changed = changed;
  }

  get attributes(): Attributes {
    return this.#attributes;
  }

  /** @throws RequestError */
  async setMetadata(metadata: Json): Promise<void> {
    const before = this.metadata;
    this.metadata = metadata;
    await stateful(this.#request('setPeerMetadata', { metadata }, true), () => {
      if (this.metadata === metadata) this.metadata = before;
    });
  }

  /** @throws RequestError */
  async setAttributes(patch: AttributesPatch): Promise<void> {
    await this.#request('setAttributes', { attributes: patch }, true);
    Object.assign(this.#set, patch);
    const entries = Object.entries({ ...this.#attributes, ...patch }).filter((entry): entry is [string, string] => entry[1] !== null);
    this.#attributes = Object.fromEntries(entries);
  }

  /** Events of profiles concern this peer, unless they concern another one. @returns true if the event was handled */
  take({ event, data }: ServerEvent): boolean {
    if (event === 'peerMetadataUpdated') this.metadata = data.metadata;
    else if (event === 'peerAttributesUpdated') this.#attributes = data.attributes;
    else return false;
    this.#changed({ metadata: this.metadata ?? null, attributes: this.#attributes });
    return true;
  }

  /** Attributes that the backend set before this peer was admitted. */
  admitted({ attributes = {} }: Pick<JoinResponse, 'attributes'>): void {
    this.#attributes = attributes;
  }

  /** Metadata for the join. A peer that waits has sent it before, and may change it until the join is processed. */
  ofJoin({ waiting }: JoinResponse): Json | undefined {
    return waiting ? undefined : this.metadata;
  }

  /** A new session. In a recreated room the attributes that the application set are set again. A peer that waits should have a name. */
  async enter({ incarnation, attributes = {}, waiting }: JoinResponse): Promise<void> {
    const recreated = this.#incarnation !== undefined && this.#incarnation !== incarnation;
    this.#incarnation = incarnation;
    this.#attributes = attributes;
    if (waiting && this.metadata !== undefined) await this.#request('setPeerMetadata', { metadata: this.metadata }, false);
    if (recreated && Object.keys(this.#set).length > 0) await this.setAttributes({ ...this.#set });
  }
}
