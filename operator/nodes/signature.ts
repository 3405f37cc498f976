// Request signatures: prove possession of the API token without sending it (verified by node/rooms/tokens/signed-calls.ts).
import { createHash, createHmac, randomBytes } from 'node:crypto';

/** `url`: complete URL of the pod; `body`: as sent, or empty. */
export type RequestToSign = { token: string; method: string; url: string; body: string };

/** Single-use `authorization` header of one request. */
export function signedRequest({ token, method, url, body }: RequestToSign): string {
  const { host, pathname, search } = new URL(url);
  const hash = createHash('sha256').update(body).digest('base64url');
  return signed('request', { token, host }, [method, pathname + search, hash], [hash]);
}

/** Single-use replacement of the token in the request `authenticate` of one event websocket. */
export function signedSocket({ token, url }: { token: string; url: string }): string {
  return signed('socket', { token, host: new URL(url).host }, [], []);
}

function signed(what: string, { token, host }: { token: string; host: string }, more: readonly string[], shown: readonly string[]): string {
  const [time, nonce] = [String(Date.now()), randomBytes(16).toString('base64url')];
  const text = [`mediarooms v1 ${what}`, host, time, nonce, ...more].join('\n');
  const code = createHmac('sha256', token).update(text).digest('base64url');
  return `Mediarooms-Signature ${['v1', Buffer.from(host).toString('base64url'), time, nonce, ...shown, code].join('.')}`;
}
