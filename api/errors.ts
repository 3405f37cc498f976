// Error catalogue: every error that clients see, with its code, HTTP status and retryability.

/** HTTP status of each code, and whether the same request may succeed later. A test compares it with docs/reference/errors.md. */
export const errorCatalogue = {
  bad_request: { status: 400, retryable: false },
  malformed_json: { status: 400, retryable: false },
  invalid_field: { status: 400, retryable: false },
  already_exists: { status: 400, retryable: false },
  missing_token: { status: 401, retryable: false },
  invalid_token: { status: 401, retryable: false },
  forbidden: { status: 403, retryable: false },
  read_only: { status: 403, retryable: false },
  not_found: { status: 404, retryable: false },
  room_not_found: { status: 404, retryable: false },
  room_ended: { status: 404, retryable: false },
  peer_not_found: { status: 404, retryable: false },
  track_not_found: { status: 404, retryable: false },
  component_not_found: { status: 404, retryable: false },
  call_not_found: { status: 404, retryable: false },
  method_not_allowed: { status: 405, retryable: false },
  not_acceptable: { status: 406, retryable: false },
  request_timeout: { status: 408, retryable: true },
  conflict: { status: 409, retryable: false },
  terminating: { status: 409, retryable: false },
  too_large: { status: 413, retryable: false },
  unsupported_media_type: { status: 415, retryable: false },
  range_not_satisfiable: { status: 416, retryable: false },
  too_many_requests: { status: 429, retryable: true },
  headers_too_large: { status: 431, retryable: false },
  internal: { status: 500, retryable: false },
  room_full: { status: 503, retryable: true },
  tracks_full: { status: 503, retryable: false },
  no_node_accepts_rooms: { status: 503, retryable: true },
  node_unreachable: { status: 503, retryable: true },
  unavailable: { status: 503, retryable: true },
} as const satisfies Record<string, { status: number; retryable: boolean }>;

export type ErrorCode = keyof typeof errorCatalogue;

export type ServiceErrorOptions = {
  cause?: unknown;
  /** Seconds for the `Retry-After` header of the response. */
  retryAfter?: number;
};

/** An error whose message may be shown to the client. Any other thrown value becomes `internal`. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly retryAfter: number | undefined;

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.retryAfter = options.retryAfter;
  }

  get status(): number {
    return errorCatalogue[this.code].status;
  }

  get retryable(): boolean {
    return errorCatalogue[this.code].retryable;
  }
}

/** Converts any error for the client: a ServiceError unchanged, everything else without details. */
export function toServiceError(error: unknown): ServiceError {
  return error instanceof ServiceError ? error : new ServiceError('internal', 'Internal server error', { cause: error });
}
