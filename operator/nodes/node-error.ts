// A call to a media node that failed.

/** Codes of ours, where the node gave none: its status is 0. */
export type ClientErrorCode =
  /** No connection, or it broke before the answer was whole. */
  | 'unreachable'
  /** The call's deadline passed. */
  | 'timeout'
  /** The caller's signal ended the call. */
  | 'aborted'
  /** The node failed a moment ago and is left alone for a while. */
  | 'backing_off'
  /** There is no API token to call with. */
  | 'no_token'
  /** The client only looks. */
  | 'read_only'
  /** What was answered is not what a media node answers, or too long. */
  | 'bad_answer';

/** The message is the node's own sentence, or one of ours; it never holds a token. */
export class NodeError extends Error {
  override readonly name = 'NodeError';
  /** The HTTP status, or 0 where the node gave none. */
  readonly status: number;
  /** The stable code of the node's answer (docs/reference/errors.md), or one of ours. */
  readonly code: ClientErrorCode | (string & {});
  /** How long the node asked to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(options: { status: number; code: string; sentence: string; retryAfterMs?: number | undefined; cause?: unknown }) {
    super(options.sentence, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status;
    this.code = options.code;
    this.retryAfterMs = options.retryAfterMs;
  }
}

const nothingKnown = new Set([401, 403, 408, 409, 429, 502, 503, 504]);

/** Whether nothing was learned of what the call was about: the node or the owner of the room could not be asked, or not now. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof NodeError)) return false;
  if (error.code === 'no_node_accepts_rooms' || error.code === 'room_full') return false;
  return error.status === 0 || error.status === 500 || nothingKnown.has(error.status);
}

export function hasCode(error: unknown, ...codes: string[]): error is NodeError {
  return error instanceof NodeError && codes.includes(error.code);
}
