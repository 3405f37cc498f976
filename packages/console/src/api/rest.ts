// REST client of the node that serves this page: every request has a timeout, every error has the message of the server.
import { type OperationId, type Operations, operations } from '../../../server-sdk/src/generated/operations.ts';
import type { PeerOptions, Room, RoomOptions, RoomPage } from '../../../server-sdk/src/generated/schemas.ts';
import type { HttpRequest } from './curl.ts';
import { type OperationRequest, operationRequest } from './operation-request.ts';
import type { PeerAccess, RoomList } from './types.ts';

const deadline = 10_000;
const maxPages = 20;

/** A failed request. `status` 0: no response. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** Path of the invalid field of the request. */
  readonly field: string | undefined;

  constructor(status: number, code: string, message: string, { field, ...options }: ErrorOptions & { field?: string | undefined } = {}) {
    super(message, options);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.field = field;
  }

  get unreachable(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 504;
  }
}

export type Session = { development: boolean; token?: string; components: readonly string[] };
type Body = Record<string, unknown>;

/** Development mode with its token, and the enabled component types. Without this endpoint: neither. */
export async function fetchSession(base: string): Promise<Session> {
  const response = await ask(new URL('console/session', base), {});
  if (!response.ok) return { development: false, components: [] };
  const body = await readJson(response);
  const components = Array.isArray(body.components) ? body.components.map(String) : [];
  return { development: body.development === true, token: typeof body.token === 'string' ? body.token : undefined, components };
}

/** Requests with one API token. `onUnauthorized` is called when the node rejects the token. */
export class Api {
  readonly #base: string;
  readonly #token: string;
  readonly #onUnauthorized: () => void;

  constructor(base: string, token: string, onUnauthorized: () => void = () => undefined) {
    this.#base = base;
    this.#token = token;
    this.#onUnauthorized = onUnauthorized;
  }

  get base(): string {
    return this.#base;
  }

  get token(): string {
    return this.#token;
  }

  /** Rejects if the token is invalid. */
  async check(signal?: AbortSignal): Promise<void> {
    await this.send(operationRequest('listRooms', { query: { limit: 1 } }), signal);
  }

  async listRooms(signal?: AbortSignal): Promise<RoomList> {
    const rooms: Room[] = [];
    const incomplete = new Set<string>();
    let cursor: string | undefined;
    for (let page = 0; page < maxPages; page += 1) {
      const body: RoomPage = await this.send(operationRequest('listRooms', { query: { limit: 500, cursor } }), signal);
      rooms.push(...body.data);
      for (const node of body.incomplete ?? []) incomplete.add(node);
      if (body.cursor === undefined) break;
      cursor = body.cursor;
    }
    return { rooms, incomplete: [...incomplete] };
  }

  async getRoom(roomId: string, signal?: AbortSignal): Promise<Room> {
    return (await this.send(operationRequest('getRoom', { path: { roomId } }), signal)).data;
  }

  async createRoom(options: RoomOptions): Promise<Room> {
    return (await this.send(operationRequest('createRoom', { body: options }))).data.room;
  }

  async deleteRoom(roomId: string): Promise<void> {
    await this.send(operationRequest('deleteRoom', { path: { roomId } }));
  }

  /** Adds a peer; the same `externalId` returns the same peer. */
  async addPeer(roomId: string, options: Omit<PeerOptions, 'type'> = {}): Promise<PeerAccess> {
    const { data } = await this.send(operationRequest('addPeer', { path: { roomId }, body: { type: 'webrtc', ...options } }));
    const { peer, token, peer_websocket_url: url } = data;
    return { peerId: peer.id, token, url };
  }

  async deletePeer(roomId: string, peerId: string): Promise<void> {
    await this.send(operationRequest('deletePeer', { path: { roomId, peerId } }));
  }

  /** The body of the response. @throws ApiError with the message of the server */
  async send<Id extends OperationId>(
    { id, method, path, body }: OperationRequest<Id>,
    signal?: AbortSignal,
  ): Promise<Operations[Id]['answer']> {
    // Some operations take longer than others: the response follows when the peer is moved, or the component runs.
    const { timeoutMs }: { method: string; timeoutMs?: number } = operations[id];
    const response = await this.#request({ method, path, body }, signal, timeoutMs);
    return (response.status === 204 ? {} : await readJson(response)) as Operations[Id]['answer'];
  }

  /** A document of the server that is no operation. @throws ApiError with the message of the server */
  async document(path: string, signal?: AbortSignal): Promise<Body> {
    return readJson(await this.#request({ method: 'GET', path }, signal));
  }

  /** The path has no leading slash: the console may be served under a path. */
  async #request({ method, path, body }: HttpRequest, signal?: AbortSignal, timeoutMs?: number): Promise<Response> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.#token}` };
    if (body !== undefined) headers['content-type'] = 'application/json';
    const response = await ask(new URL(path, this.#base), { method, headers, body: JSON.stringify(body), signal }, timeoutMs);
    if (response.ok) return response;
    if (response.status === 401) this.#onUnauthorized();
    const answer = await readJson(response);
    const message = typeof answer.errors === 'string' ? answer.errors : `The server responded with status ${response.status}`;
    const code = typeof answer.code === 'string' ? answer.code : 'unknown';
    throw new ApiError(response.status, code, message, { field: typeof answer.field === 'string' ? answer.field : undefined });
  }
}

async function ask(url: URL, { signal, ...init }: RequestInit, timeoutMs = deadline): Promise<Response> {
  const signals = [AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])];
  try {
    return await fetch(url, { ...init, cache: 'no-store', signal: AbortSignal.any(signals) });
  } catch (cause) {
    throw new ApiError(0, 'unreachable', 'Cannot reach the server', { cause });
  }
}

/** @throws ApiError if the response ends early */
async function readJson(response: Response): Promise<Body> {
  try {
    const body: unknown = await response.json();
    return typeof body === 'object' && body !== null ? (body as Body) : {};
  } catch (cause) {
    if (cause instanceof SyntaxError) return {};
    throw new ApiError(0, 'unreachable', 'The server closed the connection before the end of the response', { cause });
  }
}

/** The message of an error, with a full stop. */
export function errorMessage(error: unknown): string {
  const description = typeof error === 'object' && error !== null && 'message' in error ? error.message : '';
  const text = typeof description === 'string' && description !== '' ? description : 'Something went wrong';
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
