// Component list of a room: creates components one at a time per external id, and finds them by id or external id.

import type { ComponentOptions } from '../../api/component/component.ts';
import { type ComponentType, definitionOf } from '../../api/component/types.ts';
import { ServiceError } from '../../api/errors.ts';
import type { Transcript } from '../../api/events.ts';
import type { VideoCodec } from '../../api/room.ts';
import { Component, type ComponentContext } from './component.ts';
import type { ComponentFactory } from './interfaces.ts';
import type { Track } from './track.ts';

/** Maximum number of components per room. */
const maxComponents = 100;

export type ComponentsOptions = {
  roomId: string;
  videoCodec: VideoCodec | null;
  factory: ComponentFactory;
  context: Omit<ComponentContext, 'forget'>;
};
export type AddedComponent = { component: Component; created: boolean };

export class Components {
  readonly #options: ComponentsOptions;
  readonly #components = new Map<string, Component>();
  /** Creations in progress, by external id: a repeated request waits for the first. */
  readonly #byExternalId = new Map<string, Promise<Component>>();
  /** Types of components that are being created. */
  readonly #creating: ComponentType[] = [];
  #closed = false;

  constructor(options: ComponentsOptions) {
    this.#options = options;
  }

  all(): Iterable<Component> {
    return this.#components.values();
  }

  *tracks(): Iterable<Track> {
    for (const component of this.#components.values()) yield* component.tracks;
  }

  /** @throws ServiceError `component_not_found` */
  get(componentId: string): Component {
    const component = this.#components.get(componentId);
    if (!component) throw new ServiceError('component_not_found', `Component ${componentId} does not exist`);
    return component;
  }

  publisherOf(trackId: string): Component | undefined {
    for (const component of this.#components.values()) for (const track of component.tracks) if (track.id === trackId) return component;
    return undefined;
  }

  /**
   * Returns the existing component if its `externalId` is repeated.
   * @throws ServiceError as ComponentFactory.createSpec; `room_full`, `room_ended`, `conflict` if it would receive an encrypted room
   */
  async add(options: ComponentOptions): Promise<AddedComponent> {
    const { externalId } = options;
    if (externalId === undefined) return { component: await this.#create(options), created: true };
    const known = [...this.#components.values()].find((component) => component.externalId === externalId);
    if (known) return { component: known, created: false };
    const running = this.#byExternalId.get(externalId);
    if (running) return { component: await running, created: false };
    const created = this.#create(options).finally(() => this.#byExternalId.delete(externalId));
    this.#byExternalId.set(externalId, created);
    return { component: await created, created: true };
  }

  /** Tracks were added to or removed from the room. */
  updateReceived(): void {
    for (const component of this.#components.values()) component.updateReceived();
  }

  /** An agent transcribed what a peer said. */
  transcribed(transcript: Transcript): void {
    for (const component of this.#components.values()) component.transcribed(transcript);
  }

  close(reason: string): void {
    this.#closed = true;
    for (const component of [...this.#components.values()]) void component.remove(reason);
  }

  roomCrashed(): void {
    this.#closed = true;
    for (const component of [...this.#components.values()]) component.roomCrashed();
  }

  async #create(options: ComponentOptions): Promise<Component> {
    const { roomId, videoCodec, factory, context } = this.#options;
    if (this.#components.size + this.#creating.length >= maxComponents) {
      throw new ServiceError('room_full', `Reached components limit in room ${roomId}`);
    }
    const { type } = options;
    if (definitionOf(type).oncePerRoom && (this.#creating.includes(type) || [...this.all()].some((component) => component.type === type))) {
      throw new ServiceError('bad_request', `Room ${roomId} already has a component of type ${type}`);
    }
    this.#creating.push(type);
    try {
      const spec = await factory.createSpec(options, { roomId, videoCodec });
      if (this.#closed) throw new ServiceError('room_ended', `Room ${roomId} has ended`);
      if (spec.subscribeMode !== undefined && [...context.published()].some(({ encrypted }) => encrypted))
        throw new ServiceError('conflict', `Room ${roomId} is end-to-end encrypted; a component of type ${type} cannot decode its tracks`);
      const component = new Component(spec, options.externalId ?? null, {
        ...context,
        forget: (componentId) => this.#components.delete(componentId),
      });
      this.#components.set(component.id, component);
      await component.start();
      return component;
    } finally {
      this.#creating.splice(this.#creating.indexOf(type), 1);
    }
  }
}
