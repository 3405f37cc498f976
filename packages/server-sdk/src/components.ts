// Components of rooms, and phone calls of sip components.
import type { Call, Component, ComponentOptions } from './generated/schemas.ts';
import { withExternalId } from './idempotency.ts';
import type { RequestOptions } from './options.ts';
import type { Transport } from './transport.ts';

/** Timeout in milliseconds: a component starts a separate process. */
const addTimeout = 60_000;

export class Components {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Adds a component. `type` (hls, recording, sip, file) determines its `options`. An `externalId` is generated if omitted, so that a retry
   * adds no second component. Timeout: 60 s by default.
   * @throws MediaroomsError `room_not_found`, `bad_request`, `room_full`, `unavailable`
   */
  async add(roomId: string, component: ComponentOptions, options?: RequestOptions): Promise<Component> {
    const body = withExternalId(component);
    return (await this.#transport.call('addComponent', { path: { roomId }, body }, { timeout: addTimeout, ...options })).data;
  }

  /** A component with its properties and tracks. @throws MediaroomsError `room_not_found`, `component_not_found` */
  async get(roomId: string, componentId: string, options?: RequestOptions): Promise<Component> {
    return (await this.#transport.call('getComponent', { path: { roomId, componentId } }, options)).data;
  }

  /** Removes a component from its room. @throws MediaroomsError `room_not_found`, `component_not_found` */
  async delete(roomId: string, componentId: string, options?: RequestOptions): Promise<void> {
    await this.#transport.call('deleteComponent', { path: { roomId, componentId } }, options);
  }

  /**
   * Adds origins to a component in manual mode: it also receives what these peers and components publish, now and later.
   * @param origins ids of peers and components
   * @throws MediaroomsError `component_not_found`, `bad_request`
   */
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

  /**
   * Starts a phone call; its progress is reported by the events `SipCallRinging`, `SipCallStarted` and `SipCallEnded`. Not retried if its
   * response was lost, so that no number is called twice.
   * @throws MediaroomsError `component_not_found`, `bad_request`, `unavailable`
   */
  async start(roomId: string, componentId: string, phoneNumber: string, options?: RequestOptions): Promise<Call> {
    return (await this.#transport.call('startCall', { path: { roomId, componentId }, body: { phoneNumber } }, options)).data;
  }

  /** Hangs up one call, by default all calls of the component. @throws MediaroomsError `component_not_found`, `call_not_found` */
  async end(roomId: string, componentId: string, callId?: string, options?: RequestOptions): Promise<void> {
    if (callId === undefined) await this.#transport.call('endCalls', { path: { roomId, componentId } }, options);
    else await this.#transport.call('endCall', { path: { roomId, componentId, callId } }, options);
  }

  /**
   * Sends DTMF digits in order: 1 to 32 of 0-9, A-D, * and #. Not retried if its response was lost.
   * @throws MediaroomsError `call_not_found`, `conflict`
   */
  async sendDigits(roomId: string, componentId: string, callId: string, digits: string, options?: RequestOptions): Promise<void> {
    await this.#transport.call('sendDigits', { path: { roomId, componentId, callId }, body: { digits } }, options);
  }
}
