// Connection query: what a LiveKit client states in the address of its websocket.
import { z } from 'zod';
import { validationMessage } from '../../api/derive/validation-messages.ts';
import { ServiceError } from '../../api/errors.ts';
import { livekitSinglePath } from '../../api/operations/livekit.ts';
import type { UpgradeRequest } from '../websocket/binary-acceptor.ts';
import { readJoinRequest } from './join-request.ts';
import type { Request } from './requests.ts';

/** Longer values do not fit into the headers of a request. */
const maxToken = 12 * 1024;
const flag = z.enum(['0', '1', 'true', 'false']).transform((value) => value === '1' || value === 'true');

/** Clients describe themselves in further parameters, which are ignored. */
const querySchema = z.object({
  access_token: z.string().max(maxToken).optional(),
  auto_subscribe: flag.default(true),
  reconnect: flag.default(false),
  sid: z.string().max(64).optional(),
  sdk: z.string().max(64).optional(),
  join_request: z.string().max(maxToken).default(''),
});

/** SDKs with the core in Rust. Without fast publishing, they hang if a track is published during a negotiation (livekit/rust-sdks#1252). */
const nativeSdks = new Set(['rust', 'node', 'python', 'cpp', 'unity']);

/**
 * SDKs with the core in JavaScript. After such a client joined again automatically, it shows no participant or track of which it hears within 2 s
 * after `Reconnected`, if it publishes itself: it delays their events until the next such time.
 */
const scriptSdks = new Set(['js']);

export type ConnectionQuery = {
  token: string;
  autoSubscribe: boolean;
  reconnect: boolean;
  /** SID of the session that the client wants to continue. */
  resume: string | undefined;
  /** The client offers its publisher connection at once, and each track after the answer to the offer before. */
  fastPublish: boolean;
  /** The client may not handle events in the first seconds after it joined again. */
  delaysEvents: boolean;
  /** The client has one peer connection. */
  single: boolean;
  /** With which the client begins. */
  requests: readonly Request[];
};

/** @throws ServiceError `missing_token`, `invalid_field`, `bad_request` */
export function readConnection({ url, authorization = '' }: Pick<UpgradeRequest, 'url' | 'authorization'>): ConnectionQuery {
  const { path, query } = splitUrl(url);
  const result = querySchema.safeParse(Object.fromEntries(query));
  if (!result.success) {
    // The value of a field may be the token.
    throw new ServiceError('invalid_field', validationMessage(result.error, {}, 'the query'));
  }
  const { access_token: inQuery, auto_subscribe, reconnect, sid, sdk: inAddress = '', join_request: joinRequest } = result.data;
  // Browsers cannot set headers of websockets; other clients do.
  const token = inQuery ?? /^bearer +(\S+) *$/i.exec(authorization)?.[1];
  if (!token) throw new ServiceError('missing_token', 'Missing token');
  const single = path === livekitSinglePath;
  const stated = single ? readJoinRequest(joinRequest) : { autoSubscribe: auto_subscribe, reconnect, sid, sdk: inAddress, requests: [] };
  const { autoSubscribe, requests } = stated;
  const sdk = stated.sdk.toLowerCase();
  return {
    token,
    autoSubscribe,
    reconnect: stated.reconnect,
    resume: stated.reconnect ? stated.sid : undefined,
    fastPublish: nativeSdks.has(sdk),
    delaysEvents: scriptSdks.has(sdk),
    single,
    requests,
  };
}

/** The URL of a request, which has no host. */
export function splitUrl(url: string): { path: string; query: URLSearchParams } {
  const start = url.indexOf('?');
  return { path: start < 0 ? url : url.slice(0, start), query: new URLSearchParams(start < 0 ? '' : url.slice(start)) };
}
