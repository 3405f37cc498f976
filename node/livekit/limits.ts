// Limits of the websocket of LiveKit clients; times in milliseconds, sizes in bytes. Its rates are those of the peer websocket.
import { layerPauseDelayMs } from '../rooms/peers/layer-requests.ts';

export const livekitLimits = {
  /** Maximum requests that are being authenticated: in total and of one network. Beyond it the oldest is closed. */
  unauthenticatedSockets: 1_000,
  unauthenticatedPerNetwork: 250,
  firstMessageBytes: 256 * 1024,
  messageBytes: 1024 * 1024,
  /** Limit of the ws library, which closes with 1009. Higher than messageBytes, so that clients get our code. */
  payloadBytes: 2 * 1024 * 1024,
  waitingRequests: 512,
  waitingBytes: 4 * 1024 * 1024,
  /** A message counts once more toward the rate limit for each block of this size. */
  bytesPerMessage: 16 * 1024,
  /** Burst of the rate limit in seconds. */
  burst: 4,
  /** Maximum bytes in the send buffer of a socket. */
  bufferedBytes: 8 * 1024 * 1024,
  /** Maximum time without a pong, during which two pings are sent; the minimum is for peers that are removed early. */
  pongTimeout: 60_000,
  minPongTimeout: 2_000,
  pauseDelay: layerPauseDelayMs,
  /** Interval of reports of the connection quality. */
  qualityInterval: 5_000,
  /** For which a client that joined again gets no events: the 2 s of ConnectionQuery.delaysEvents, and a second for a busy page. */
  rejoinHold: 3_000,
  /** Timeout of the closing handshake. */
  closeTimeout: 2_000,
} as const;
