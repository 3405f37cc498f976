// RPCs of a peer: handles requests of other peers and the backend, and sends requests to other peers.
import type { Unsubscribe } from './emitter.ts';
import { RequestError, SessionLostError } from './errors.ts';
import type { Json, Method, Requests, Responses, ServerEvent } from './generated/protocol.ts';
import { deferred } from './pending.ts';

/** `from`: id of the requesting peer; null for the backend. */
export type RpcRequest = { from: string | null; method: string; payload: Json };
/** Returns the response. An error that it throws is sent as its message. */
export type RpcHandler = (request: RpcRequest) => Json | undefined | Promise<Json | undefined>;
type Send = <M extends Method>(method: M, data: Requests[M], portable?: boolean) => Promise<Responses[M]>;

const maxErrorLength = 512;

export class PeerRpc {
  readonly #send: Send;
  readonly #handlers = new Map<string, RpcHandler>();
  readonly #pending = new Map<string, ReturnType<typeof deferred<Json>>>();
  #count = 0;

  constructor(send: Send) {
    this.#send = send;
  }

  /** Handles requests of a method; replaces an earlier handler. @returns a function that removes it */
  handle(method: string, handler: RpcHandler): Unsubscribe {
    this.#handlers.set(method, handler);
    return () => {
      if (this.#handlers.get(method) === handler) this.#handlers.delete(method);
    };
  }

  /**
   * Sends a request to another peer and resolves with its response. `timeout` in milliseconds, at most a minute; default 10,000. A request
   * is never sent twice: after a lost session it rejects with SessionLostError.
   * @throws RequestError `peer_not_found`, `rpc_failed`, `rpc_timeout`, `forbidden`, `too_large`, `too_many_requests`
   */
  async request(to: string, method: string, payload: Json = null, { timeout = 10_000 }: { timeout?: number } = {}): Promise<Json> {
    this.#count += 1;
    const rpcId = String(this.#count);
    const response = deferred<Json>();
    response.promise.catch(() => {});
    this.#pending.set(rpcId, response);
    try {
      await this.#send('sendRpc', { rpcId, to, method, payload, timeout: Math.max(1, Math.ceil(timeout / 1000)) });
      return await response.promise;
    } finally {
      this.#pending.delete(rpcId);
    }
  }

  /** @returns true if the event was handled */
  take({ event, data }: ServerEvent): boolean {
    if (event === 'rpcRequested') void this.#respond(data);
    else if (event === 'rpcResponded') this.#pending.get(data.rpcId)?.resolve(data.payload);
    else if (event === 'rpcFailed') this.#pending.get(data.rpcId)?.reject(new RequestError(data.code, data.message));
    else return false;
    return true;
  }

  /** The session was lost, and pending responses with it. */
  sessionLost(error: Error = new SessionLostError()): void {
    for (const { reject } of this.#pending.values()) reject(error);
  }

  async #respond({ rpcId, ...request }: RpcRequest & { rpcId: string }): Promise<void> {
    const handler = this.#handlers.get(request.method);
    const response = await this.#outcomeOf(request, handler);
    await this.#send('respondRpc', { rpcId, ...response }).catch(() => {});
  }

  async #outcomeOf(request: RpcRequest, handler: RpcHandler | undefined): Promise<{ payload: Json } | { error: string }> {
    if (!handler) return { error: `No handler of ${request.method}` };
    try {
      return { payload: (await handler(request)) ?? null };
    } catch (error) {
      return { error: (error instanceof Error && error.message !== '' ? error.message : 'The handler failed').slice(0, maxErrorLength) };
    }
  }
}
