// REST client of one media node: operations of the contract, with timeouts, validation of responses and backoff after failures.
import type { z } from 'zod';
import { requestPath } from '../../api/core/request-path.ts';
import { traceparentHeader } from '../../api/core/traceparent.ts';
import { operations } from '../../api/operations/table.ts';
import type { NamesIn } from '../../api/parameters.ts';
import { parseJson } from '../json.ts';
import { Deadline } from '../kube/http/deadline.ts';
import { Semaphore } from '../kube/http/semaphore.ts';
import { boundedText } from './bounded-text.ts';
import { clientError, NodeError } from './node-error.ts';
import { currentTraceparent } from './request-trace.ts';
import {
  type ClusterNodeView,
  type ComponentRequest,
  clusterNodesSchema,
  createdComponentSchema,
  createdPeerSchema,
  createdRoomSchema,
  errorResponseSchema,
  foundPeerSchema,
  healthResponseSchema,
  type NodeComponent,
  type NodeHealth,
  type NodePeer,
  type NodeRoom,
  type NodeRoomConfig,
  type OperationId,
  type PeerPatchRequest,
  type PeerRequest,
  peerTokenSchema,
  type RequestBody,
  type RoomRequest,
  roomPageSchema,
  roomResponseSchema,
} from './schemas.ts';
import { signedRequest } from './signature.ts';

/** Short, so that the status reports an unreachable node within 5 s. */
const defaultTimeoutMs = 4_000;
/** Adding a component starts a process, which has a timeout of 15 s. */
const componentTimeoutMs = 20_000;
const maxAnswerBytes = 64 * 1024 * 1024;
/** Concurrent requests to one node, and the length of the queue. */
const width = 16;
const maxQueueLength = 10_000;
const pageSize = 1_000;
const firstBackOffMs = 250;
const maxBackoffMs = 15_000;
/** Errors of a kept-alive connection that the node may just have closed; the request is retried once. */
const keptConnection = ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'];

export type NodeClientOptions = {
  /** `http://host:port`, without a trailing slash. */
  url: string;
  /** Read for each request, because the token may rotate. */
  token: () => string | undefined;
  /** The token is used for a signature, not sent; nodes before 0.8 do not support that. */
  signed: boolean;
  timeoutMs?: number;
  maxBytes?: number;
  /** A monotonic clock in milliseconds. */
  now?: () => number;
  random?: () => number;
  /** Requests that change something are rejected with the code `read_only`. */
  readOnly?: boolean;
  /** Called for each finished request; `status` is 0 without a response. */
  observe?: (call: { method: string; status: number; ms: number }) => void;
};

type CallOptions = { timeoutMs?: number; signal?: AbortSignal | undefined };
type Input<Id extends OperationId> = {
  params?: Record<NamesIn<(typeof operations)[Id]['path']>, string>;
  query?: Record<string, string | number | undefined>;
  body?: RequestBody<Id> | undefined;
};
/** `path` with its query. */
type HttpRequest = { method: string; path: string; body: unknown };

/** All methods reject with NodeError. Create requests carry an externalId, so that a retry is idempotent. */
export class NodeClient {
  readonly url: string;
  readonly signed: boolean;
  readonly #options: NodeClientOptions;
  readonly #semaphore = new Semaphore(width, maxQueueLength);
  readonly #now: () => number;
  #failures = 0;
  #notBefore = 0;

  constructor(options: NodeClientOptions) {
    this.url = options.url;
    this.signed = options.signed;
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Remaining backoff in milliseconds; 0 if a request may be sent. */
  get backOffMs(): number {
    return Math.max(0, this.#notBefore - this.#now());
  }

  /** Resets the backoff after a sign that the node is alive. */
  resetBackoff(): void {
    this.#failures = 0;
    this.#notBefore = 0;
  }

  async health(signal?: AbortSignal): Promise<NodeHealth> {
    return (await this.#call('getHealth', {}, healthResponseSchema, { signal })).data;
  }

  /** Rooms of the whole cluster. `incomplete`: nodes whose rooms are missing. */
  async rooms(signal?: AbortSignal): Promise<{ rooms: NodeRoom[]; incomplete: string[] }> {
    const rooms: NodeRoom[] = [];
    const incomplete = new Set<string>();
    for (let cursor: string | undefined; ; ) {
      const query = { limit: pageSize, cursor };
      const page: z.output<typeof roomPageSchema> = await this.#call('listRooms', { query }, roomPageSchema, { signal });
      rooms.push(...page.data);
      for (const node of page.incomplete) incomplete.add(node);
      // A cursor that does not advance would loop forever.
      if (page.cursor === undefined || page.cursor === cursor || page.data.length === 0) return { rooms, incomplete: [...incomplete] };
      cursor = page.cursor;
    }
  }

  /** Idempotent. `node`: only if it is known. @throws NodeError `already_exists` if another room has the id, `no_node_accepts_rooms` */
  async createRoom(room: RoomRequest, signal?: AbortSignal): Promise<{ room: NodeRoom; address: string; node?: string }> {
    const { data } = await this.#call('createRoom', { body: room }, createdRoomSchema, { signal });
    return { room: data.room, address: data.svc_address };
  }

  /** @throws NodeError `room_not_found`, `room_ended` */
  async room(roomId: string, signal?: AbortSignal, timeoutMs?: number): Promise<NodeRoom> {
    const options = { signal, ...(timeoutMs !== undefined && { timeoutMs }) };
    return (await this.#call('getRoom', { params: { roomId } }, roomResponseSchema, options)).data;
  }

  async patchRoom(roomId: string, config: Partial<NodeRoomConfig>, signal?: AbortSignal): Promise<NodeRoom> {
    return (await this.#call('updateRoom', { params: { roomId }, body: config }, roomResponseSchema, { signal })).data;
  }

  async deleteRoom(roomId: string, signal?: AbortSignal): Promise<void> {
    await this.#call('deleteRoom', { params: { roomId } }, undefined, { signal });
  }

  /** `url`: address of the websocket of the peer without a scheme. @throws NodeError `already_exists`, `room_full` */
  async addPeer(roomId: string, peer: PeerRequest, signal?: AbortSignal): Promise<{ peer: NodePeer; token: string; url: string }> {
    const { permissions, ...given } = peer;
    const body = { type: 'webrtc' as const, options: { permissions }, ...given };
    const { data } = await this.#call('addPeer', { params: { roomId }, body }, createdPeerSchema, { signal });
    return { peer: data.peer, token: data.token, url: data.peer_websocket_url };
  }

  async peer(roomId: string, peerId: string, signal?: AbortSignal): Promise<{ peer: NodePeer; url: string }> {
    const { data } = await this.#call('getPeer', { params: { roomId, peerId } }, foundPeerSchema, { signal });
    return { peer: data.peer, url: data.peer_websocket_url };
  }

  /** Sets permissions and the given attributes, and admits the peer if it is to be admitted. */
  async patchPeer(roomId: string, peer: PeerPatchRequest, signal?: AbortSignal): Promise<NodePeer> {
    const { peerId, permissions, attributes, admitted } = peer;
    const params = { roomId, peerId };
    const body = { permissions, ...(attributes && { attributes }) };
    const { data } = await this.#call('updatePeer', { params, body }, foundPeerSchema, { signal });
    if (data.peer.admitted || !admitted) return data.peer;
    await this.#call('admitPeer', { params }, undefined, { signal });
    return { ...data.peer, admitted };
  }

  async deletePeer(roomId: string, peerId: string, signal?: AbortSignal): Promise<void> {
    await this.#call('deletePeer', { params: { roomId, peerId } }, undefined, { signal });
  }

  /** A fresh token; older tokens stay valid. */
  async peerToken(roomId: string, peerId: string, signal?: AbortSignal): Promise<string> {
    return (await this.#call('renewPeerToken', { params: { roomId, peerId } }, peerTokenSchema, { signal })).data.token;
  }

  /** @throws NodeError `bad_request`, `invalid_field`, `not_found`, `unavailable` with the cause */
  async addComponent(roomId: string, component: ComponentRequest, signal?: AbortSignal): Promise<NodeComponent> {
    const options = { timeoutMs: componentTimeoutMs, signal };
    return (await this.#call('addComponent', { params: { roomId }, body: component }, createdComponentSchema, options)).data;
  }

  async deleteComponent(roomId: string, componentId: string, signal?: AbortSignal): Promise<void> {
    const options = { timeoutMs: componentTimeoutMs, signal };
    await this.#call('deleteComponent', { params: { roomId, componentId } }, undefined, options);
  }

  /** The node itself and the nodes to which it is connected. */
  async clusterNodes(signal?: AbortSignal): Promise<ClusterNodeView[]> {
    return (await this.#call('listNodes', {}, clusterNodesSchema, { signal })).data;
  }

  /** `deadline` in seconds; the default of the node if omitted. @throws NodeError `terminating` */
  async drain(node: string, deadline?: number, signal?: AbortSignal): Promise<void> {
    const body = deadline === undefined ? undefined : { deadline };
    await this.#call('drainNode', { params: { nodeName: node }, body }, undefined, { signal });
  }

  /** @throws NodeError `terminating` */
  async cancelDrain(node: string, signal?: AbortSignal): Promise<void> {
    await this.#call('cancelDrain', { params: { nodeName: node } }, undefined, { signal });
  }

  #call<Id extends OperationId, S extends z.ZodType>(id: Id, input: Input<Id>, schema: S, options: CallOptions): Promise<z.output<S>>;
  #call<Id extends OperationId>(id: Id, input: Input<Id>, schema: undefined, options: CallOptions): Promise<undefined>;
  async #call<Id extends OperationId>(id: Id, input: Input<Id>, schema: z.ZodType | undefined, options: CallOptions): Promise<unknown> {
    const request = requestOf(id, input);
    const { method, path } = request;
    if (this.#options.readOnly && method !== 'GET')
      throw clientError('read_only', `${this.url} is read-only in this run; rejected ${method} ${path}.`);
    const text = await this.#inTurn(options.signal, () => this.#attempt(request, options));
    if (!schema) return undefined;
    const parsed = schema.safeParse(parseJson(text));
    if (parsed.success) return parsed.data;
    const issue = parsed.error.issues[0];
    const where = issue ? ` (${issue.path.join('.') || 'body'}: ${issue.message})` : '';
    throw clientError('bad_answer', `${this.url} returned an invalid response to ${method} ${path}${where}.`);
  }

  #inTurn(signal: AbortSignal | undefined, work: () => Promise<string>): Promise<string> {
    return this.#semaphore.through(signal ?? new AbortController().signal, work).catch((error: unknown) => {
      if (error instanceof NodeError) throw error;
      throw clientError('aborted', `The request to ${this.url} was aborted in the queue.`, { cause: error });
    });
  }

  async #attempt(request: HttpRequest, { timeoutMs, signal }: CallOptions): Promise<string> {
    const token = this.#options.token();
    if (token === undefined) throw clientError('no_token', `No API token is available for ${this.url} yet.`);
    const wait = this.backOffMs;
    if (wait > 0) {
      const message = `${this.url} did not respond ${this.#failures} times in a row; next attempt in ${Math.ceil(wait / 1000)} s.`;
      throw clientError('backing_off', message, { retryAfterMs: wait });
    }
    const started = this.#now();
    const ms = timeoutMs ?? this.#options.timeoutMs ?? defaultTimeoutMs;
    const timeout = () => clientError('timeout', `${this.url} did not respond within ${ms / 1000} s.`);
    const deadline = new Deadline(ms, timeout, signal ? [signal] : []);
    let status = 0;
    try {
      const answer = await this.#fetch(request, token, deadline.signal);
      status = answer.status;
      this.resetBackoff();
      if (status >= 200 && status < 300) return answer.text;
      throw this.#refusalOf(answer);
    } catch (error) {
      if (error instanceof NodeError && error.status > 0) throw error;
      const failure = this.#failureOf(error, signal);
      if (failure.code === 'unreachable' || failure.code === 'timeout') this.#fail();
      throw failure;
    } finally {
      deadline.end();
      this.#options.observe?.({ method: request.method, status, ms: this.#now() - started });
    }
  }

  async #fetch(
    request: HttpRequest,
    token: string,
    signal: AbortSignal,
    again = false,
  ): Promise<{ status: number; headers: Headers; text: string }> {
    const { method, path, body } = request;
    const url = this.url + path;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const traceparent = currentTraceparent();
    try {
      const response = await fetch(url, {
        method,
        redirect: 'manual',
        signal,
        headers: {
          authorization: this.signed ? signedRequest({ token, method, url, body: text ?? '' }) : `Bearer ${token}`,
          accept: 'application/json',
          ...(traceparent !== undefined && { [traceparentHeader]: traceparent }),
          ...(text !== undefined && { 'content-type': 'application/json' }),
        },
        ...(text !== undefined && { body: text }),
      });
      const answer = await boundedText(response, this.#options.maxBytes ?? maxAnswerBytes);
      if (answer !== undefined) return { status: response.status, headers: response.headers, text: answer };
    } catch (error) {
      if (again || signal.aborted || !keptConnection.includes(codeOf(error))) throw error;
      return this.#fetch(request, token, signal, true);
    }
    throw clientError('bad_answer', `${this.url} returned a response to ${method} ${path} that exceeds the limit.`);
  }

  #refusalOf(answer: { status: number; headers: Headers; text: string }): NodeError {
    const refusal = refusalOf(this.url, answer);
    if (!this.signed || refusal.code !== 'missing_token') return refusal;
    // The token is never sent as a fallback, because a man in the middle could have sent this response.
    const message = `${this.url} does not support signed requests: its image is older than 0.8 (docs/reference/operator.md, "Requests to the nodes").`;
    return new NodeError({ status: refusal.status, code: refusal.code, message });
  }

  #failureOf(error: unknown, signal: AbortSignal | undefined): NodeError {
    if (error instanceof NodeError) return error;
    if (signal?.aborted) return clientError('aborted', `The request to ${this.url} was aborted.`, { cause: error });
    const code = codeOf(error);
    return clientError('unreachable', `${this.url} could not be reached${code === '' ? '' : ` (${code})`}.`, { cause: error });
  }

  #fail(): void {
    const random = this.#options.random ?? Math.random;
    const backOff = Math.min(firstBackOffMs * 2 ** Math.min(this.#failures, 10), maxBackoffMs) * (0.5 + 0.5 * random());
    this.#failures += 1;
    this.#notBefore = this.#now() + backOff;
  }
}

function requestOf<Id extends OperationId>(id: Id, { params, query, body }: Input<Id>): HttpRequest {
  const { method, path } = operations[id];
  return { method, path: requestPath(path, params ?? {}, query), body };
}

function refusalOf(url: string, { status, headers, text }: { status: number; headers: Headers; text: string }): NodeError {
  const refusal = errorResponseSchema.safeParse(parseJson(text));
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const retryAfterMs = Number.isFinite(seconds) ? seconds * 1000 : undefined;
  if (!refusal.success) return new NodeError({ status, code: 'bad_answer', message: `${url} returned status ${status}.`, retryAfterMs });
  const { code, errors, reason } = refusal.data;
  return new NodeError({ status, code, message: errors, reason, retryAfterMs });
}

/** fetch wraps the system error in `cause`. */
function codeOf(error: unknown): string {
  for (let each: unknown = error; each instanceof Error; each = each.cause) {
    if ('code' in each && typeof each.code === 'string') return each.code;
  }
  return '';
}
