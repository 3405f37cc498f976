// The one error of the SDK: what was answered, or why there was no answer, with a code for programs and a sentence for people.
import type { Error as ErrorBody } from './generated/schemas.ts';

/**
 * A code of the server's catalogue (docs/reference/errors.md), or one of the SDK:
 * `http_error` an answer that is not the server's own, e.g. of a proxy; `connection_failed` no answer; `timed_out` the deadline of the call has
 * passed; `aborted` by the caller's signal; `invalid_answer` an answer that cannot be read; `invalid_webhook` a webhook that is not to be trusted.
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
  /** Milliseconds. */
  retryAfter?: number | undefined;
  requestId?: string | undefined;
  cause?: unknown;
};

export class MediaroomsError extends Error {
  override readonly name = 'MediaroomsError';
  readonly code: ErrorCode;
  /** HTTP status of the answer; undefined where there was none. */
  readonly status: number | undefined;
  /** Milliseconds that the server asked to wait before the next try. */
  readonly retryAfter: number | undefined;
  /** The `x-request-id` of the answer: lines of the server's log have it, too. */
  readonly requestId: string | undefined;

  constructor({ code, message, status, retryAfter, requestId, cause }: MediaroomsErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.retryAfter = retryAfter;
    this.requestId = requestId;
  }
}
