// Connection check: tests which network paths reach the media of a room (UDP, TCP, relay; ICE, RFC 8445), without joining it.

import type { RequestFrame, ResponseFrame, Responses } from './generated/protocol.ts';
import { iceRestartAnswer } from './media/ice-restart-answer.ts';
import { isRelay } from './media/ice-servers.ts';
import { pageAddress, type RoomClientOptions, socketUrls } from './options.ts';

/** `udp`, `tcp`: directly to the media of the room. `relay`: over the TURN servers of the node. */
export type Way = 'udp' | 'tcp' | 'relay';

/**
 * Result of one path. `open`: it works; `closed`: it does not; `none`: the server does not offer it. `roundTrip`: milliseconds, if the
 * browser measured it. `over`: protocol to the relay.
 */
export type WayResult =
  | { way: Way; state: 'open'; roundTrip: number | undefined; over?: 'udp' | 'tcp' | 'tls' | undefined }
  | { way: Way; state: 'closed' }
  | { way: Way; state: 'none' };

/**
 * Result of the server connection. `open`: `roundTrip` in milliseconds. `refused`: the server rejected the token, with error code and
 * message. `closed`: no server responded.
 */
export type ServerResult = { state: 'open'; roundTrip: number } | { state: 'refused'; code: string; message: string } | { state: 'closed' };

export type ConnectionReport = { server: ServerResult; ways: readonly WayResult[] };

export type ConnectionCheckOptions = Pick<RoomClientOptions, 'url' | 'fallbackUrls'> & {
  /** The peer's token. */
  token: string;
  /** Timeout in milliseconds for the server, and then for each path; default 8,000. */
  deadline?: number;
  /** Called as soon as each result is known. */
  onServer?: (result: ServerResult) => void;
  onWay?: (result: WayResult) => void;
  signal?: AbortSignal;
};

type Offer = Responses['checkConnection'];
type Opened = { socket: WebSocket; roundTrip: number; offer: Offer };

const defaultTimeoutMs = 8_000;
/** Maximum number of repeated readings of stats without a round trip, and the pause between them in milliseconds. */
const measurements = 5;
const measurePause = 100;
const ways: readonly Way[] = ['udp', 'tcp', 'relay'];

/**
 * Tests the server connection and all network paths to the media of the room, without joining it. Browsers only. Network failures are part
 * of the report and never reject.
 * @throws the reason of `signal`
 */
export async function checkConnection(options: ConnectionCheckOptions): Promise<ConnectionReport> {
  const { deadline = defaultTimeoutMs, signal } = options;
  const opened = await reachServer(options, deadline);
  signal?.throwIfAborted();
  if (!('socket' in opened)) {
    options.onServer?.(opened);
    return { server: opened, ways: [] };
  }
  const { socket, roundTrip, offer } = opened;
  const server: ServerResult = { state: 'open', roundTrip };
  options.onServer?.(server);
  try {
    const results = await Promise.all(
      ways.map(async (way) => {
        const result = await tryWay(way, offer, deadline, signal);
        if (!signal?.aborted) options.onWay?.(result);
        return result;
      }),
    );
    signal?.throwIfAborted();
    return { server, ways: results };
  } finally {
    socket.close();
  }
}

/** Result of the first address that responds; a rejection is final, because all nodes ask the owning node. */
async function reachServer(options: ConnectionCheckOptions, deadline: number): Promise<Opened | ServerResult> {
  const page = pageAddress();
  for (const url of socketUrls(options, page)) {
    const answer = await ask(url, options.token, deadline, options.signal);
    if (answer !== undefined) return answer;
    if (options.signal?.aborted) break;
  }
  return { state: 'closed' };
}

function ask(url: string, token: string, deadline: number, signal: AbortSignal | undefined): Promise<Opened | ServerResult | undefined> {
  const began = performance.now();
  let opened = began;
  let socket: WebSocket;
  try {
    socket = new WebSocket(url);
  } catch {
    // For example ws: on an https page.
    return Promise.resolve(undefined);
  }
  return new Promise((resolve) => {
    const settle = (result: Opened | ServerResult | undefined) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      socket.onopen = null;
      socket.onmessage = null;
      socket.onclose = null;
      if (!result || !('socket' in result)) socket.close();
      resolve(result);
    };
    const onAbort = () => settle(undefined);
    const timer = setTimeout(() => settle(undefined), deadline);
    signal?.addEventListener('abort', onAbort);
    socket.onopen = () => {
      opened = performance.now();
      socket.send(JSON.stringify({ id: 0, method: 'checkConnection', data: { token } } satisfies RequestFrame));
    };
    socket.onclose = () => settle(undefined);
    socket.onmessage = ({ data }) => {
      const frame = JSON.parse(String(data)) as ResponseFrame;
      if (frame.ok) settle({ socket, roundTrip: performance.now() - opened, offer: frame.data as Offer });
      else settle({ state: 'refused', ...frame.error });
    };
  });
}

/** Tests one path with a connection restricted to it. Finishes with the first packet received; there is no DTLS handshake. */
async function tryWay(way: Way, { transport, iceServers }: Offer, deadline: number, signal: AbortSignal | undefined): Promise<WayResult> {
  const all = transport.iceCandidates;
  // A relay reaches the media of its node over UDP.
  const candidates = all.filter(({ protocol }) => protocol === (way === 'relay' ? 'udp' : way));
  if (candidates.length === 0 || (way === 'relay' && !iceServers.some(isRelay))) return { way, state: 'none' };
  const connection = new RTCPeerConnection(way === 'relay' ? { iceServers, iceTransportPolicy: 'relay' } : {});
  try {
    connection.createDataChannel('');
    await connection.setLocalDescription();
    const sdp = iceRestartAnswer(connection.localDescription?.sdp ?? '', transport, candidates);
    await connection.setRemoteDescription({ type: 'answer', sdp });
    if (!(await connects(connection, deadline, signal))) return { way, state: 'closed' };
    return { way, state: 'open', ...(await measure(connection, way)) };
  } catch {
    return { way, state: 'closed' };
  } finally {
    connection.close();
  }
}

function connects(connection: RTCPeerConnection, deadline: number, signal: AbortSignal | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (open: boolean) => {
      clearTimeout(timer);
      connection.oniceconnectionstatechange = null;
      signal?.removeEventListener('abort', onAbort);
      resolve(open);
    };
    const onAbort = () => settle(false);
    const timer = setTimeout(() => settle(false), deadline);
    signal?.addEventListener('abort', onAbort);
    const see = () => {
      const state = connection.iceConnectionState;
      if (state === 'connected' || state === 'completed') settle(true);
      // `failed` is not final: slow relays add candidates later.
    };
    connection.oniceconnectionstatechange = see;
    see();
  });
}

/** Round trip and relay protocol of the selected candidate pair. */
async function measure(connection: RTCPeerConnection, way: Way): Promise<{ roundTrip: number | undefined; over?: 'udp' | 'tcp' | 'tls' }> {
  let stats = await connection.getStats();
  let pair = pairOf(stats);
  // Browsers cache stats briefly: the first reading may be older than the response.
  for (let i = 0; i < measurements && pair?.currentRoundTripTime === undefined; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, measurePause));
    stats = await connection.getStats();
    pair = pairOf(stats);
  }
  const seconds: unknown = pair?.currentRoundTripTime;
  const roundTrip = typeof seconds === 'number' ? seconds * 1_000 : undefined;
  const over: unknown = pair && stats.get(pair.localCandidateId)?.relayProtocol;
  return way === 'relay' && (over === 'udp' || over === 'tcp' || over === 'tls') ? { roundTrip, over } : { roundTrip };
}

/** The pair of candidates that works, one with a round trip first. */
// biome-ignore lint/suspicious/noExplicitAny: the DOM's own type of what a report holds
function pairOf(stats: RTCStatsReport): any {
  const pairs = [...stats.values()].filter(({ type, state }) => type === 'candidate-pair' && state === 'succeeded');
  return pairs.find(({ currentRoundTripTime }) => currentRoundTripTime !== undefined) ?? pairs[0];
}
