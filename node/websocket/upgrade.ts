// Upgrade: what every websocket of clients checks before it is accepted, and the address of its client.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { parseTraceparent, traceparentHeader } from '../../api/core/traceparent.ts';
import { ServiceError } from '../../api/errors.ts';
import { STATUS_CODES } from '../common/builtin-http.ts';
import { isAllowedOrigin, type OriginRule } from './origin.ts';

/** Origin of a socket. `address`: address of the client, also if another node `forwarded` the socket. `trace`: its traceparent. */
export type ClientAddress = { address: string; forwarded: boolean; trace?: string | undefined };

export type UpgradeRules = {
  checkOrigin: () => OriginRule;
  /** The `host[:port][/path]` of the node. */
  address: () => string;
  /** The address of the client if another node proxies the socket. */
  forwardedFor?: ((request: IncomingMessage) => string | undefined) | undefined;
};

/** Why an upgrade is rejected; undefined if it is accepted. `closed`: the node accepts no more sockets. */
export function refusalOf({ headers: { origin, host } }: IncomingMessage, rules: UpgradeRules, closed: boolean): ServiceError | undefined {
  if (closed) return new ServiceError('unavailable', 'This node is shutting down', { retryAfter: 1 });
  if (isAllowedOrigin(rules.checkOrigin(), origin, host, rules.address())) return undefined;
  return new ServiceError('forbidden', 'This origin may not open a websocket');
}

/** `address`: address of the client, resolved behind proxies. */
export function clientAddressOf(request: IncomingMessage, { forwardedFor }: UpgradeRules, address: string | undefined): ClientAddress {
  const client = forwardedFor?.(request);
  const traceparent = request.headers[traceparentHeader];
  return {
    address: client ?? address ?? request.socket.remoteAddress ?? '',
    forwarded: client !== undefined,
    trace: parseTraceparent(traceparent) && String(traceparent),
  };
}

/** Responds to an upgrade over plain HTTP, in the shape of all other errors. */
export function rejectUpgrade(raw: Duplex, { status, code, message, retryAfter }: ServiceError): void {
  const body = JSON.stringify({ errors: message, code });
  raw.on('error', () => raw.destroy());
  raw.once('finish', () => raw.destroy());
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(retryAfter === undefined ? [] : [`Retry-After: ${Math.max(1, Math.ceil(retryAfter))}`]),
  ];
  raw.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
}
