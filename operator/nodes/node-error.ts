// NodeError: a failed request to a media node.

/** Codes of the client itself, with status 0. */
type ClientErrorCode =
  /** No connection, or it broke before the response was complete. */
  | 'unreachable'
  /** The request timed out. */
  | 'timeout'
  /** The signal of the caller aborted the request. */
  | 'aborted'
  /** The node failed recently and is in backoff. */
  | 'backing_off'
  /** No API token is available. */
  | 'no_token'
  /** The client is read-only. */
  | 'read_only'
  /** The response is not valid for a media node, or too long. */
  | 'bad_answer';

/** The message is from the node or from the client; it never contains a token. */
export class NodeError extends Error {
  override readonly name = 'NodeError';
  /** HTTP status, or 0 without a response. */
  readonly status: number;
  /** Stable code of the response of the node (docs/reference/errors.md), or one of the client. */
  readonly code: ClientErrorCode | (string & {});
  /** Why the room ended, with `room_ended`; undefined for nodes of 0.7. */
  readonly reason: string | undefined;
  /** Retry-After of the node in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(options: {
    status: number;
    code: string;
    message: string;
    reason?: string | undefined;
    retryAfterMs?: number | undefined;
    cause?: unknown;
  }) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status;
    this.code = options.code;
    this.reason = options.reason;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** An error of the client itself. */
export function clientError(code: ClientErrorCode, message: string, more: { retryAfterMs?: number; cause?: unknown } = {}): NodeError {
  return new NodeError({ status: 0, code, message, ...more });
}

const nothingKnown = new Set([401, 403, 408, 409, 429, 502, 503, 504]);

/** Whether the state is unknown, because the node or the owner of the room was not available. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof NodeError)) return false;
  if (error.code === 'no_node_accepts_rooms' || error.code === 'room_full') return false;
  return error.status === 0 || error.status === 500 || nothingKnown.has(error.status);
}

export function hasCode(error: unknown, ...codes: string[]): error is NodeError {
  return error instanceof NodeError && codes.includes(error.code);
}
