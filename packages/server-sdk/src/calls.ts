// Phone calls of a component of type sip.
import { Calls as CallMethods } from './generated/methods.ts';
import type { RequestOptions } from './options.ts';
import type { Transport } from './transport.ts';

export class Calls extends CallMethods {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    super(transport);
    this.#transport = transport;
  }

  /** Hangs up one call, by default all calls of the component. @throws MediaroomsError `component_not_found`, `call_not_found` */
  async end(roomId: string, componentId: string, callId?: string, options?: RequestOptions): Promise<void> {
    if (callId === undefined) await this.#transport.call('endCalls', { path: { roomId, componentId } }, options);
    else await this.#transport.call('endCall', { path: { roomId, componentId, callId } }, options);
  }
}
