// Options of the SDK and their defaults. All times are in milliseconds.
import type { AccessKey } from './access-tokens.ts';

/** The required part of the W3C WebSocket: the global one of Node.js 22, Deno and Bun, or that of the package `ws`. */
export type WebSocketLike = {
  readonly readyState: number;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(data: string): void;
  close(code?: number, reason?: string): void;
};
export type WebSocketConstructor = new (url: string) => WebSocketLike;

export type MediaroomsOptions = {
  /** Address of a node or load balancer: `https://host[:port][/path]`. If several are given and one does not respond, the next is used. */
  url: string | readonly string[];
  /** The API token, or a function that returns the current one; it is called for every attempt. */
  token: string | (() => string | Promise<string>);
  /** A key of SVC_ACCESS_KEYS, for `accessTokens.sign()`. */
  accessKey?: AccessKey;
  /** Timeout of a request with all attempts, in milliseconds; default 30,000. */
  timeout?: number;
  /** Timeout of one attempt, in milliseconds; default 10,000. */
  tryTimeout?: number;
  /** Maximum number of retries; default 4. */
  retries?: number;
  /** WebSocket class for runtimes without a global one (Node.js 20), for example of the package `ws`. */
  webSocket?: WebSocketConstructor;
  /** Replaces the global fetch(). */
  fetch?: typeof fetch;
};

/** Options of one request; default: those of the client. `timeout` in milliseconds. */
export type RequestOptions = {
  timeout?: number;
  retries?: number;
  signal?: AbortSignal;
};

export const defaults = { timeout: 30_000, tryTimeout: 10_000, retries: 4 } as const;

/** URLs without a trailing slash. @throws TypeError if one is not http or https */
export function baseUrls(url: MediaroomsOptions['url']): string[] {
  const urls = typeof url === 'string' ? [url] : [...url];
  if (urls.length === 0) throw new TypeError('Expected at least one url');
  return urls.map((each) => {
    const parsed = new URL(each);
    if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') throw new TypeError(`Expected url to be http or https, got: ${each}`);
    if (parsed.username !== '' || parsed.search !== '' || parsed.hash !== '') {
      throw new TypeError('Expected url to have no user, query or fragment');
    }
    return parsed.href.replace(/\/+$/, '');
  });
}
