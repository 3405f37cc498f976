// Connection query: what a LiveKit client states in the address of its websocket.
import { z } from 'zod';
import { validationMessage } from '../../api/derive/validation-messages.ts';
import { ServiceError } from '../../api/errors.ts';
import type { UpgradeRequest } from '../websocket/binary-acceptor.ts';

/** Longer tokens do not fit into the headers of a request. */
const maxToken = 12 * 1024;
const flag = z.enum(['0', '1', 'true', 'false']).transform((value) => value === '1' || value === 'true');

/** Clients describe themselves in further parameters, which are ignored. */
const querySchema = z.object({
  access_token: z.string().max(maxToken).optional(),
  auto_subscribe: flag.default(true),
  reconnect: flag.default(false),
  sid: z.string().max(64).optional(),
  sdk: z.string().max(64).optional(),
});

/** SDKs with the core in Rust. Without fast publishing, they hang if a track is published during a negotiation (livekit/rust-sdks#1252). */
const nativeSdks = new Set(['rust', 'node', 'python', 'cpp', 'unity']);

export type ConnectionQuery = {
  token: string;
  autoSubscribe: boolean;
  reconnect: boolean;
  /** SID of the session that the client wants to continue. */
  resume: string | undefined;
  /** The client offers its publisher connection at once, and each track after the answer to the offer before. */
  fastPublish: boolean;
};

/** @throws ServiceError `missing_token`, `invalid_field` */
export function readConnection({ url, authorization = '' }: Pick<UpgradeRequest, 'url' | 'authorization'>): ConnectionQuery {
  const start = url.indexOf('?');
  const values = Object.fromEntries(new URLSearchParams(start < 0 ? '' : url.slice(start)));
  const result = querySchema.safeParse(values);
  if (!result.success) {
    // The value of a field may be the token.
    throw new ServiceError('invalid_field', validationMessage(result.error, {}, 'the query'));
  }
  const { access_token: inQuery, auto_subscribe: autoSubscribe, reconnect, sid, sdk = '' } = result.data;
  // Browsers cannot set headers of websockets; other clients do.
  const token = inQuery ?? /^bearer +(\S+) *$/i.exec(authorization)?.[1];
  if (!token) throw new ServiceError('missing_token', 'Missing token');
  return { token, autoSubscribe, reconnect, resume: reconnect ? sid : undefined, fastPublish: nativeSdks.has(sdk.toLowerCase()) };
}
