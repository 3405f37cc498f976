// How a call shows a node that its sender has the API token, without sending it (node/rooms/tokens/signed-calls.ts is the other end).
import { createHash, createHmac, randomBytes } from 'node:crypto';

/** `url`: whole, of the pod itself; `body`: as it is sent, empty where there is none. */
export type RequestToSign = { token: string; method: string; url: string; body: string };

/** The header `authorization` of one request, good once. */
export function signedRequest({ token, method, url, body }: RequestToSign): string {
  const { host, pathname, search } = new URL(url);
  const hash = createHash('sha256').update(body).digest('base64url');
  return signed('request', { token, host }, [method, pathname + search, hash], [hash]);
}

/** What stands for the token in the request `authenticate` of one event socket, good once. */
export function signedSocket({ token, url }: { token: string; url: string }): string {
  return signed('socket', { token, host: new URL(url).host }, [], []);
}

function signed(what: string, { token, host }: { token: string; host: string }, more: readonly string[], shown: readonly string[]): string {
  const [time, nonce] = [String(Date.now()), randomBytes(16).toString('base64url')];
  const text = [`mediarooms v1 ${what}`, host, time, nonce, ...more].join('\n');
  const code = createHmac('sha256', token).update(text).digest('base64url');
  return `Mediarooms-Signature ${['v1', Buffer.from(host).toString('base64url'), time, nonce, ...shown, code].join('.')}`;
}
