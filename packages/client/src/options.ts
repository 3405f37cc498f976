// What a room client is given, and what it takes where nothing is said.
import type { types } from 'mediasoup-client';
import { type Json, socketPath } from './protocol.ts';

/** The part of the W3C WebSocket that is used: browsers', Node.js's and that of the package `ws` have it. */
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

export type Logger = {
  debug?: (message: string, detail?: unknown) => void;
  warn?: (message: string, detail?: unknown) => void;
};

/** All in milliseconds. */
export type Timing = {
  pingInterval: number;
  /** Without any frame for so long the socket counts as lost. */
  silence: number;
  /** From opening a socket until the server's welcome. */
  connectTimeout: number;
  /**
   * A socket that is not open by then is given up for the next one, where one opened before: this or four times as long as that took,
   * whatever is longer. Doubled from the third in a row on that does not open, up to `connectTimeout`.
   */
  openTimeout: number;
  /** Between attempts; the last one repeats. Each is varied by a quarter. The time of an attempt that did not open counts. */
  retryDelays: readonly number[];
  /** Longest pause (beside its quarter) while the server still keeps the session: seconds later it would be gone. */
  resumePause: number;
  /** A transport that is disconnected for so long gets new ICE parameters (RFC 8445, section 9). */
  iceDisconnected: number;
  /** Between two attempts to mend a transport. */
  iceRetry: number;
  /** How long a room that was lost with its node is waited for, from the loss on. */
  lostRoom: number;
  /** Longest pause while it is waited for: it is made again within seconds. */
  lostRoomPause: number;
};

export const defaultTiming: Timing = {
  pingInterval: 5_000,
  silence: 10_000,
  connectTimeout: 5_000,
  openTimeout: 600,
  retryDelays: [0, 300, 600, 1_200, 2_400, 5_000],
  resumePause: 1_000,
  iceDisconnected: 2_000,
  iceRetry: 4_000,
  lostRoom: 60_000,
  lostRoomPause: 400,
};

export type RoomClientOptions = {
  /** The peer's `peer_websocket_url`: `ws(s)://…`, `http(s)://…`, or without scheme: then wss on https pages and ws elsewhere. */
  url: string;
  /** The peer's token. */
  token: string;
  /** Shown to the other peers: any JSON of at most 16 KiB. */
  metadata?: Json;
  /** `auto` (default): all tracks of the others come by themselves. `manual`: subscribe() asks for each. */
  subscribe?: 'auto' | 'manual';
  /**
   * Tried in turn with `url`: every node of a cluster forwards to the owner of the room. By default what leads to any node where `url` leads to one
   * of them by its number (`/n/<index>/…`), and in a page its own origin.
   */
  fallbackUrls?: readonly string[];
  /** Ends another connection of the same peer instead of being refused. */
  takeover?: boolean;
  /** Milliseconds that join() tries before it rejects; 30,000 by default. */
  joinTimeout?: number;
  /** Milliseconds that a lost connection is tried to mend before the room closes as `unreachable`; without end by default. */
  maxRetryTime?: number;
  /** Leaves when the page goes away for good (default), so that the others need not wait for the time-out. */
  leaveOnPageHide?: boolean;
  /**
   * Whether the transports of media are for data channels as well (SCTP). Left out: where there is a listener to `dataChannel`, or openDataChannel()
   * was called, by the time that the connection to the server is opened.
   */
  dataChannels?: boolean;
  /** Limits ICE to these protocols, e.g. `['tcp']` where UDP is known to be blocked. */
  iceProtocols?: readonly ('udp' | 'tcp')[];
  /** `relay`: over TURN only. */
  iceTransportPolicy?: RTCIceTransportPolicy;
  /** WebRTC for Node.js: a mediasoup-client handler. Without, a program gets events and data messages, but no media. */
  handlerFactory?: types.HandlerFactory;
  /** Where there is no global WebSocket. */
  webSocket?: WebSocketConstructor;
  logger?: Logger;
  timing?: Partial<Timing>;
};

/** A websocket URL from what the API and people call one. @throws TypeError where it is none. */
export function socketUrl(url: string, pageProtocol: string | undefined): string {
  const scheme = pageProtocol === 'https:' ? 'wss:' : 'ws:';
  const whole = /^[a-z][a-z0-9+.-]*:\/\//i.test(url) ? url : `${scheme}//${url}`;
  const parsed = new URL(whole.replace(/^http/i, 'ws'));
  if (parsed.protocol !== 'ws:' && parsed.protocol !== 'wss:') throw new TypeError(`Not the URL of a websocket: ${url}`);
  parsed.hash = '';
  return parsed.href;
}

/** All URLs that may lead to the room, the best first. */
export function socketUrls(
  { url, fallbackUrls }: Pick<RoomClientOptions, 'url' | 'fallbackUrls'>,
  page: PageAddress | undefined,
): string[] {
  const whole = (each: string) => socketUrl(each, page?.protocol);
  const own = page && /^https?:$/.test(page.protocol) ? [page.origin + socketPath] : [];
  const first = whole(url);
  const fallbacks = fallbackUrls ?? [throughAnyNode(first), ...own];
  return [...new Set([first, ...fallbacks.map(whole)])];
}

/** Behind an Ingress of a cluster each node has a path of its own, which leads nowhere for as long as the node is gone. */
function throughAnyNode(url: string): string {
  const parsed = new URL(url);
  parsed.pathname = parsed.pathname.replace(/^\/n\/\d+(?=\/)/, '');
  return parsed.href;
}

export type PageAddress = { protocol: string; origin: string };

/** Where the page comes from that this runs in, if it runs in one. */
export function pageAddress(): PageAddress | undefined {
  const { location } = globalThis as { location?: PageAddress };
  return location && typeof location.origin === 'string' ? location : undefined;
}

/** Milliseconds before the attempt with this number, counted from 0; `random` is from 0 to 1. `longest`: where it is not to grow further. */
export function retryDelay(attempt: number, delays: readonly number[], random: number, longest = Number.POSITIVE_INFINITY): number {
  const delay = Math.min(delays[Math.min(attempt, delays.length - 1)] ?? 0, longest);
  return Math.round(delay * (0.75 + random / 2));
}
