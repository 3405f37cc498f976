// Error catalogue: every error that clients see, with its code, HTTP status, retryability and cause.

/** `retryable`: the same request may succeed later. docs/reference/errors.md is generated from it. */
export const errorCatalogue = {
  bad_request: {
    status: 400,
    retryable: false,
    when: 'The request is malformed: not HTTP, invalid percent-encoding, a missing or incomplete body.',
  },
  malformed_json: { status: 400, retryable: false, when: 'The body is not JSON, not UTF-8, or nested deeper than 64 levels.' },
  invalid_field: {
    status: 400,
    retryable: false,
    when: 'A field of the body, the query or the path is unknown, missing or invalid; `field` and the message name it.',
  },
  already_exists: { status: 400, retryable: false, when: 'The id is in use.' },
  missing_token: { status: 401, retryable: false, when: 'The request has neither an `Authorization: Bearer` header nor a signature.' },
  invalid_token: {
    status: 401,
    retryable: false,
    when: 'The token is not valid, or the signature of the request is not valid at this node and time; the message tells why.',
  },
  forbidden: {
    status: 403,
    retryable: false,
    when: 'A viewer, peer or access token is for another room or has no grant for the request, the permissions of the peer do not allow it, or another site requests what is reserved for the console.',
  },
  read_only: { status: 403, retryable: false, when: 'The token is read-only.' },
  not_found: { status: 404, retryable: false, when: 'The path does not exist.' },
  room_not_found: { status: 404, retryable: false, when: 'The room does not exist.' },
  room_ended: {
    status: 404,
    retryable: false,
    when: 'The room has ended recently; `reason` gives the cause. Every node that was connected at the end of the room keeps the reason for 10 min, for the last 10,000 ended rooms. For a room that was lost with its node, and after a restart, the code is `room_not_found`.',
  },
  peer_not_found: { status: 404, retryable: false, when: 'The room has no such peer.' },
  track_not_found: { status: 404, retryable: false, when: 'The room has no such track.' },
  component_not_found: { status: 404, retryable: false, when: 'The room has no such component.' },
  call_not_found: { status: 404, retryable: false, when: 'The component has no such phone call.' },
  method_not_allowed: {
    status: 405,
    retryable: false,
    when: 'The path does not support the method; the `Allow` header lists the supported ones.',
  },
  not_acceptable: { status: 406, retryable: false, when: 'The response does not exist in the requested format.' },
  request_timeout: { status: 408, retryable: true, when: 'The request did not arrive completely in time.' },
  conflict: { status: 409, retryable: false, when: 'The state of the resource does not allow the request.' },
  terminating: { status: 409, retryable: false, when: 'The node is shutting down; its drain cannot be cancelled.' },
  precondition_failed: { status: 412, retryable: false, when: 'The `If-Match` header names an earlier ICE session.' },
  too_large: { status: 413, retryable: false, when: 'The body is larger than 64 KiB, or a message is larger than its limit.' },
  unsupported_media_type: {
    status: 415,
    retryable: false,
    when: 'The body is not of the media type of the endpoint, `application/json` without encoding for most.',
  },
  range_not_satisfiable: { status: 416, retryable: false, when: 'The file has none of the requested bytes.' },
  offer_rejected: {
    status: 422,
    retryable: false,
    when: 'The SDP is invalid, or offers something that the room or this node does not support; the message tells what.',
  },
  precondition_required: { status: 428, retryable: false, when: 'The request needs the header `If-Match`.' },
  too_many_requests: {
    status: 429,
    retryable: true,
    when: 'The client or its token exceeds its rate limit, or the client has guessed too many tokens; `Retry-After` tells when to try again.',
  },
  headers_too_large: { status: 431, retryable: false, when: 'URL and headers together exceed 16 KiB.' },
  internal: { status: 500, retryable: false, when: 'A bug of the server; the log has it under the `x-request-id` of the response.' },
  room_full: { status: 503, retryable: true, when: 'The room has the maximum number of peers.' },
  tracks_full: { status: 503, retryable: false, when: 'The peer has the maximum number of tracks.' },
  no_node_accepts_rooms: { status: 503, retryable: true, when: 'Every node drains or has the maximum number of rooms.' },
  node_unreachable: { status: 503, retryable: true, when: 'The owning node of the room does not respond.' },
  not_implemented: {
    status: 501,
    retryable: false,
    when: "The method of LiveKit's server API has no counterpart; the message tells what to use.",
  },
  rpc_failed: { status: 502, retryable: false, when: 'The peer rejected the RPC; the message is that of its application.' },
  rpc_timeout: { status: 504, retryable: false, when: 'The peer did not respond to the RPC in time. It may have processed it.' },
  unavailable: { status: 503, retryable: true, when: 'Something that the request needs is not available now.' },
} as const satisfies Record<string, { status: number; retryable: boolean; when: string }>;

export type ErrorCode = keyof typeof errorCatalogue;

export type ServiceErrorOptions = {
  /** Path of the invalid field of the request, for example `maxPeers` or `options.width`. */
  field?: string | undefined;
  /** Why a room ended, with `room_ended`. */
  reason?: string | undefined;
  /** Seconds for the `Retry-After` header of the response. */
  retryAfter?: number | undefined;
  cause?: unknown;
};

/** An error whose message may be shown to the client. Any other thrown value becomes `internal`. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly field: string | undefined;
  readonly reason: string | undefined;
  readonly retryAfter: number | undefined;

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.field = options.field;
    this.reason = options.reason;
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
