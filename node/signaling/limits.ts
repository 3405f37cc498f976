// The limits of both websockets, in one place; times in milliseconds, sizes in bytes.

export const defaultLimits = {
  /** Until the first message must have come. */
  authenticationTimeout: 10_000,
  /** Sockets that have not authenticated yet, per kind of socket: in all, and of one network. Beyond, the oldest goes. */
  unauthenticatedSockets: 1_000,
  /** So many that an office which joins at once, or a proxy that is not trusted, does not notice. */
  unauthenticatedPerNetwork: 250,
  /** How long trying the network may take. */
  checkTimeout: 30_000,
  firstMessageBytes: 8 * 1024,
  messageBytes: 256 * 1024,
  /** What ws itself takes before it closes with 1009; above messageBytes, so that our code is what clients see. */
  payloadBytes: 1024 * 1024,
  /** Messages that came behind the first one while it was looked at. */
  earlyMessages: 64,
  earlyBytes: 256 * 1024,
  /** Requests of one session that wait their turn. */
  waitingRequests: 512,
  waitingBytes: 4 * 1024 * 1024,
  /** Requests about a track that was offered which are free of the rate, per offer and in all of a session. */
  freeAnswersPerOffer: 3,
  freeAnswers: 12_288,
  /** A message counts once more towards the rate for each so many bytes of it: what it costs to read grows with them. */
  bytesPerMessage: 8 * 1024,
  /** Units a second of what requests may cost (requests.ts), where messages have a limit at all. */
  workRate: 50,
  /** Seconds' worth of both rates that may come at once: a join publishes, subscribes and is ready for many tracks. */
  burst: 4,
  /** Frames of one session that its client has not acknowledged. */
  unacknowledgedFrames: 1_000,
  unacknowledgedBytes: 4 * 1024 * 1024,
  /** Of these, messages of peers. */
  unacknowledgedDataBytes: 1024 * 1024,
  /** What may wait in the socket for the network. */
  bufferedBytes: 8 * 1024 * 1024,
  /** Beyond it the messages of peers are lost, and nothing else. */
  dataBufferedBytes: 1024 * 1024,
  /** How long a socket may answer no ping, of which two go in that time: at most, and at least for peers that are removed soon. */
  pongTimeout: 60_000,
  minPongTimeout: 2_000,
  /** How long a closing handshake may take. */
  closeTimeout: 2_000,
  /** How deep JSON may be nested. */
  depth: 64,
} as const;
export type Limits = { readonly [Name in keyof typeof defaultLimits]: number };
