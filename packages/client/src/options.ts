// Options of a room client and their defaults.
import type { types } from 'mediasoup-client';
import { type Json, socketPath } from './generated/protocol.ts';

/** The required part of the W3C WebSocket: that of browsers, Node.js or the package `ws`. */
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

/** Timing of a room client, in milliseconds. */
export type Timing = {
  /** Interval of pings to the server; default 5,000. */
  pingInterval: number;
  /** Time without any frame after which the socket is lost; default 10,000. */
  silence: number;
  /** Timeout from opening a socket to the server's welcome; default 5,000. */
  connectTimeout: number;
  /**
   * Timeout for opening a socket after an earlier one was open; default 600, at least four times the duration of the last opening. Doubled
   * from the third consecutive failure, up to `connectTimeout`.
   */
  openTimeout: number;
  /** Delays between attempts, each varied by a quarter; the last one repeats. The duration of a failed opening counts towards the delay. */
  retryDelays: readonly number[];
  /** Maximum delay (plus a quarter) while the server keeps the session; default 1,000. */
  resumePause: number;
  /** Time after which a disconnected transport gets new ICE parameters (RFC 8445, section 9); default 2,000. */
  iceDisconnected: number;
  /** Delay between two ICE restarts; default 4,000. */
  iceRetry: number;
  /** How long to retry joining a room that was lost with its node; default 60,000. */
  lostRoom: number;
  /** Maximum delay of these retries; default 400, because rooms are recreated within seconds. */
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
  /** The peer's token. Set it or `accessToken`. */
  token?: string;
  /**
   * An access token that your backend signed, or a function that returns a current one: it is called for each connection, so that a lost
   * room can be joined again after the first token expired.
   */
  accessToken?: string | (() => string | Promise<string>);
  /** Metadata for other peers: any JSON of at most 16 KiB. */
  metadata?: Json;
  /** `auto` (default): receives all tracks of the others. `manual`: receives only tracks requested with subscribe(). */
  subscribe?: 'auto' | 'manual';
  /**
   * Alternatives to `url`: every node of a cluster proxies to the owning node. Default: the address of any node if `url` contains the
   * number of a node (`/n/<index>/…`), and in a page its origin.
   */
  fallbackUrls?: readonly string[];
  /** Replaces an existing connection of the same peer instead of being rejected; default false. */
  takeover?: boolean;
  /** Requests the loudness of the other peers (`audioLevels`); default false. */
  audioLevels?: boolean;
  /** Milliseconds after which join() rejects; default 30,000. */
  joinTimeout?: number;
  /** Milliseconds of reconnect attempts before the room closes as `unreachable`; default: unlimited. */
  maxRetryTime?: number;
  /** Leaves when the page is closed, so that other peers see it at once instead of after a timeout; default true. */
  leaveOnPageHide?: boolean;
  /**
   * Negotiates data channels (SCTP) with the media transports. Default: true if there is a listener for `dataChannel`, or openDataChannel()
   * was called, before the connection is opened.
   */
  dataChannels?: boolean;
  /** Restricts ICE to these protocols, for example `['tcp']` if UDP is blocked. */
  iceProtocols?: readonly ('udp' | 'tcp')[];
  /** `relay`: only over TURN. */
  iceTransportPolicy?: RTCIceTransportPolicy;
  /**
   * Called with the receiver of each track, before its first frame: decrypts the track, for example with `receiver.transform`, if
   * `room.track(trackId)?.encrypted`.
   */
  decrypt?: (receiver: RTCRtpReceiver, trackId: string) => void;
  /** WebRTC for Node.js: a mediasoup-client handler. Without it, a program gets events and data messages, but no media. */
  handlerFactory?: types.HandlerFactory;
  /** WebSocket class for environments without a global one. */
  webSocket?: WebSocketConstructor;
  logger?: Logger;
  timing?: Partial<Timing>;
};

/** A WebSocket URL from a URL of the API or a user. @throws TypeError if it is invalid */
export function socketUrl(url: string, pageProtocol: string | undefined): string {
  const scheme = pageProtocol === 'https:' ? 'wss:' : 'ws:';
  const whole = /^[a-z][a-z0-9+.-]*:\/\//i.test(url) ? url : `${scheme}//${url}`;
  const parsed = new URL(whole.replace(/^http/i, 'ws'));
  if (parsed.protocol !== 'ws:' && parsed.protocol !== 'wss:') throw new TypeError(`Expected a WebSocket URL, got: ${url}`);
  parsed.hash = '';
  return parsed.href;
}

/** All candidate URLs of the room, the best first. */
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

/** Behind an Ingress each node has a separate path, which fails while that node is lost. */
function throughAnyNode(url: string): string {
  const parsed = new URL(url);
  parsed.pathname = parsed.pathname.replace(/^\/n\/\d+(?=\/)/, '');
  return parsed.href;
}

export type PageAddress = { protocol: string; origin: string };

/** The address of the current page, if any. */
export function pageAddress(): PageAddress | undefined {
  const { location } = globalThis as { location?: PageAddress };
  return location && typeof location.origin === 'string' ? location : undefined;
}

/** Milliseconds before attempt number `attempt` (from 0); `random` from 0 to 1. `longest`: upper bound. */
export function retryDelay(attempt: number, delays: readonly number[], random: number, longest = Number.POSITIVE_INFINITY): number {
  const delay = Math.min(delays[Math.min(attempt, delays.length - 1)] ?? 0, longest);
  return Math.round(delay * (0.75 + random / 2));
}
