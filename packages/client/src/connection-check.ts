// Which ways lead to the media of a room, tried for real and without entering it: over UDP, over TCP, over each relay (ICE, RFC 8445).
import { iceRestartAnswer } from './media/ice-restart-answer.ts';
import { pageAddress, type RoomClientOptions, socketUrls } from './options.ts';
import type { RequestFrame, ResponseFrame, Responses, WireObject } from './protocol.ts';

/** `udp`, `tcp`: straight to the media of the room. `relay`: over the TURN servers that the node names. */
export type Way = 'udp' | 'tcp' | 'relay';

/** `none`: the server has no such way. `roundTrip`: milliseconds, where the browser measured it. `over`: how the relay is reached. */
export type WayResult =
  | { way: Way; state: 'open'; roundTrip: number | undefined; over?: 'udp' | 'tcp' | 'tls' | undefined }
  | { way: Way; state: 'closed' }
  | { way: Way; state: 'none' };

/** `refused`: the server answers, and does not let this token in: `message` says why. */
export type ServerResult = { state: 'open'; roundTrip: number } | { state: 'refused'; code: string; message: string } | { state: 'closed' };

export type ConnectionReport = { server: ServerResult; ways: readonly WayResult[] };

export type ConnectionCheckOptions = Pick<RoomClientOptions, 'url' | 'token' | 'fallbackUrls'> & {
  /** Milliseconds that the server, and then each way, is given; 8,000 by default. */
  deadline?: number;
  /** Told as each is known. */
  onServer?: (result: ServerResult) => void;
  onWay?: (result: WayResult) => void;
  signal?: AbortSignal;
};

type Offer = Responses['checkConnection'];
type Opened = { socket: WebSocket; roundTrip: number; offer: Offer };

const defaultTimeoutMs = 8_000;
/** How often statistics without a round trip are asked for again, and after how many milliseconds. */
const measurements = 5;
const measurePause = 100;
const ways: readonly Way[] = ['udp', 'tcp', 'relay'];

/** Needs a browser. Resolves with what was found; never rejects for a network that does not work. @throws the reason of `signal` */
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

/** The first address that answers; a refusal ends the search, since all nodes ask the owner of the room. */
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
    // E.g. ws: in a page of https.
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

/** One connection that may go that way alone. It ends at the first packet that came back; DTLS is never spoken. */
async function tryWay(way: Way, { transport, iceServers }: Offer, deadline: number, signal: AbortSignal | undefined): Promise<WayResult> {
  const all = transport.iceCandidates as WireObject[];
  // A relay reaches the media of its own node over UDP.
  const candidates = all.filter(({ protocol }) => protocol === (way === 'relay' ? 'udp' : way));
  if (candidates.length === 0 || (way === 'relay' && !iceServers.some(isRelay))) return { way, state: 'none' };
  const connection = new RTCPeerConnection(
    way === 'relay' ? { iceServers: iceServers as unknown as RTCIceServer[], iceTransportPolicy: 'relay' } : {},
  );
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
      // `failed` is not the end: relays that are slow bring candidates later.
    };
    connection.oniceconnectionstatechange = see;
    see();
  });
}

/** What the statistics of the pair that worked say. */
async function measure(connection: RTCPeerConnection, way: Way): Promise<{ roundTrip: number | undefined; over?: 'udp' | 'tcp' | 'tls' }> {
  let stats = await connection.getStats();
  let pair = pairOf(stats);
  // Browsers keep statistics for a while: those of now may be from before the answer.
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

/** STUN servers alone relay nothing. */
function isRelay({ urls }: WireObject): boolean {
  return [urls].flat().some((url) => typeof url === 'string' && /^turns?:/.test(url));
}
