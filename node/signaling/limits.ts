// Limits of both websockets in one place; times in milliseconds, sizes in bytes.
import { maxMessageBytes } from '../../api/socket/peer.ts';

export const defaultLimits = {
  /** Timeout of the first message. */
  authenticationTimeout: 10_000,
  /** Maximum unauthenticated sockets per socket type: in total and of one network. Beyond it the oldest is closed. */
  unauthenticatedSockets: 1_000,
  /** High enough for an office that joins at once, or for an untrusted proxy. */
  unauthenticatedPerNetwork: 250,
  /** Timeout of a connection check. */
  checkTimeout: 30_000,
  firstMessageBytes: 8 * 1024,
  messageBytes: maxMessageBytes,
  /** Limit of the ws library, which closes with 1009. Higher than messageBytes, so that clients get our code. */
  payloadBytes: 1024 * 1024,
  /** Maximum messages held while the first one is processed. */
  earlyMessages: 64,
  earlyBytes: 256 * 1024,
  /** Maximum queued requests of a session. */
  waitingRequests: 512,
  waitingBytes: 4 * 1024 * 1024,
  /** Maximum held requests of a peer that waits to be admitted, which may take hours. A join needs about five. */
  heldRequests: 64,
  heldBytes: 128 * 1024,
  /** Requests per offered track that do not count toward the rate limit, and maximum of all in a session. */
  freeAnswersPerOffer: 3,
  freeAnswers: 12_288,
  /** A message counts once more toward the rate limit for each block of this size, because parsing cost grows with size. */
  bytesPerMessage: 8 * 1024,
  /** Units per second that requests may cost (requests.ts), if messages have a limit at all. */
  workRate: 50,
  /** Burst of both rate limits in seconds: a join publishes, subscribes and reports ready for many tracks. */
  burst: 4,
  /** Maximum unacknowledged frames of a session. */
  unacknowledgedFrames: 1_000,
  unacknowledgedBytes: 4 * 1024 * 1024,
  /** The part of it for messages of peers. */
  unacknowledgedDataBytes: 1024 * 1024,
  /** Maximum bytes in the send buffer of a socket. */
  bufferedBytes: 8 * 1024 * 1024,
  /** Send buffer size above which messages of peers are dropped, and nothing else. */
  dataBufferedBytes: 1024 * 1024,
  /** Maximum time without a pong, during which two pings are sent; the minimum is for peers that are removed early. */
  pongTimeout: 60_000,
  minPongTimeout: 2_000,
  /** Timeout of the closing handshake. */
  closeTimeout: 2_000,
  /** Maximum nesting depth of JSON. */
  depth: 64,
} as const;
export type Limits = { readonly [Name in keyof typeof defaultLimits]: number };
