// SDK error: the only error class, with a code for programs and a message for people.
import type { Error as ErrorBody } from './generated/schemas.ts';

/**
 * A code of the server's catalogue (docs/reference/errors.md), or one of the SDK: `http_error`: a response without an error body of
 * Mediarooms, for example of a proxy; `connection_failed`: no response; `timed_out`: the timeout passed; `aborted`: by the caller's signal;
 * `invalid_answer`: an unreadable response; `invalid_webhook`: a webhook that failed verification.
 */
export type ErrorCode =
  | ErrorBody['code']
  | 'http_error'
  | 'connection_failed'
  | 'timed_out'
  | 'aborted'
  | 'invalid_answer'
  | 'invalid_webhook'
  // Codes of later versions.
  | (string & {});

export type MediaroomsErrorOptions = {
  code: ErrorCode;
  /** One sentence. */
  message: string;
  status?: number | undefined;
  field?: string | undefined;
  reason?: string | undefined;
  /** In milliseconds. */
  retryAfter?: number | undefined;
  requestId?: string | undefined;
  cause?: unknown;
};

export class MediaroomsError extends Error {
  override readonly name = 'MediaroomsError';
  readonly code: ErrorCode;
  /** HTTP status of the response; undefined if there was none. */
  readonly status: number | undefined;
  /** Path of the invalid field of the request, for example `maxPeers` or `options.width`. */
  readonly field: string | undefined;
  /** Why the room ended, with `room_ended`. */
  readonly reason: string | undefined;
  /** Milliseconds to wait before the next attempt, if the server sent `Retry-After`. */
  readonly retryAfter: number | undefined;
  /** The `x-request-id` of the response; log lines of the server contain it. */
  readonly requestId: string | undefined;

  constructor({ code, message, status, field, reason, retryAfter, requestId, cause }: MediaroomsErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.field = field;
    this.reason = reason;
    this.retryAfter = retryAfter;
    this.requestId = requestId;
  }
}
