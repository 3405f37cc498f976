// Operation handlers: what features register for operations and RPCs, and how HTTP runs them.
import type { InputOf, Operation, ResultOf, Rpc } from '../../../api/core/operation.ts';
import type { Scope } from '../../../api/core/response.ts';
import type { ContentRequest } from './content.ts';

/** The HTTP request of a client, apart from its validated parameters and body. */
export type RequestContext = {
  /** Header `sec-fetch-site` (Fetch Metadata): relation of the requesting page, set by browsers. */
  fetchSite: string | undefined;
  /** True if the request was sent to a loopback name or address without a proxy. */
  local: () => boolean;
  /** The viewer token of the request and its expiry (milliseconds since 1970), if it has one. */
  viewer: { token: string; expiresAt: number } | undefined;
  /** Scope of the token. */
  scope: Scope;
  /** True if another node proxies the request. */
  forwarded: boolean;
  acceptsGzip: boolean;
  /** Options of content requests other than the names. */
  transfer: () => Omit<ContentRequest, 'kind' | 'folder' | 'file' | 'playlist'>;
};

/** `from`: the requesting node, or this one. `request`: undefined if another node received the HTTP request. */
export type Caller = { from: string; request?: RequestContext | undefined };

export type Handler<R> = (input: InputOf<R>, caller: Caller) => ResultOf<R> | Promise<ResultOf<R>>;
export type Handlers<Table> = { [Id in keyof Table]: Handler<Table[Id]> };

/** Runs operations at the node that is responsible for them. */
export interface OperationRunner {
  run<O extends Operation>(operation: O, input: InputOf<O>, request?: RequestContext): Promise<ResultOf<O>>;
}

/** The handlers of one feature. */
export interface OperationRegistry {
  /** @throws Error if a handler is already registered */
  serve<Table extends Record<string, Rpc>>(table: Table, handlers: Partial<Handlers<Table>>): void;
  serves(rpc: Rpc): boolean;
}
