// What the SDK is given, and what it takes where nothing is said. All times are milliseconds.

/** The part of the W3C WebSocket that is used: the global one of Node.js 22, Deno and Bun, and that of the package `ws` have it. */
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
  /** Address of a node, or of what stands before nodes: `https://host[:port][/path]`. Of several the next is taken where one does not answer. */
  url: string | readonly string[];
  /** The API token, or what gives the one that is good now. */
  token: string | (() => string | Promise<string>);
  /** From the call to its end, all tries included; 30,000 by default. */
  timeout?: number;
  /** Of one try; 10,000 by default. */
  tryTimeout?: number;
  /** How often a call is repeated at most; 4 by default. */
  retries?: number;
  /** Where there is no global WebSocket (Node.js 20): that of the package `ws`, say. */
  webSocket?: WebSocketConstructor;
  /** In place of the global one. */
  fetch?: typeof fetch;
};

/** Of one call; what is left out is that of the client. */
export type RequestOptions = {
  timeout?: number;
  retries?: number;
  signal?: AbortSignal;
};

export const defaults = { timeout: 30_000, tryTimeout: 10_000, retries: 4 } as const;

/** Addresses without a slash at the end. @throws TypeError where one is none of http or https */
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
