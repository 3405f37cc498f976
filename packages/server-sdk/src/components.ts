// Components of rooms, and phone calls of those that are telephones.
import type { Call, Component, ComponentOptions } from './generated/schemas.ts';
import { withExternalId } from './idempotency.ts';
import type { RequestOptions } from './options.ts';
import type { Transport } from './transport.ts';

/** A component starts a process of its own. */
const addTimeout = 60_000;

export class Components {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** hls, recording, sip or file: `type` says which `options` there are. Repeating the call adds one component, as with rooms. */
  async add(roomId: string, component: ComponentOptions, options?: RequestOptions): Promise<Component> {
    const body = withExternalId(component);
    return (await this.#transport.call('addComponent', { path: { roomId }, body }, { timeout: addTimeout, ...options })).data;
  }

  async get(roomId: string, componentId: string, options?: RequestOptions): Promise<Component> {
    return (await this.#transport.call('getComponent', { path: { roomId, componentId } }, options)).data;
  }

  async delete(roomId: string, componentId: string, options?: RequestOptions): Promise<void> {
    await this.#transport.call('deleteComponent', { path: { roomId, componentId } }, options);
  }

  /** Lets a component in manual mode receive what these peers and components publish, now and later. */
  async subscribe(roomId: string, componentId: string, origins: readonly string[], options?: RequestOptions): Promise<void> {
    await this.#transport.call('subscribeComponent', { path: { roomId, componentId }, body: { origins: [...origins] } }, options);
  }
}

/** Phone calls of a component of type sip. */
export class Calls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Events tell what becomes of it. Not repeated where its answer was lost: nobody is called twice. */
  async start(roomId: string, componentId: string, phoneNumber: string, options?: RequestOptions): Promise<Call> {
    return (await this.#transport.call('startCall', { path: { roomId, componentId }, body: { phoneNumber } }, options)).data;
  }

  /** Hangs up one call, or all of the component. */
  async end(roomId: string, componentId: string, callId?: string, options?: RequestOptions): Promise<void> {
    if (callId === undefined) await this.#transport.call('endCalls', { path: { roomId, componentId } }, options);
    else await this.#transport.call('endCall', { path: { roomId, componentId, callId } }, options);
  }

  /** Presses keys, in order. Not repeated where its answer was lost. */
  async sendDigits(roomId: string, componentId: string, callId: string, digits: string, options?: RequestOptions): Promise<void> {
    await this.#transport.call('sendDigits', { path: { roomId, componentId, callId }, body: { digits } }, options);
  }
}
