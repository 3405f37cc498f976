// Twirp (v7): the protocol of LiveKit's server API. Requests and responses are JSON or protobuf, errors always JSON.
import { z } from 'zod';
import type { FailureForm, HttpResponse, OperationResponse } from '../core/response.ts';
import type { ErrorCode } from '../errors.ts';

export const twirpTypes = ['application/json', 'application/protobuf'] as const;

const statuses = {
  aborted: 409,
  already_exists: 409,
  bad_route: 404,
  deadline_exceeded: 408,
  failed_precondition: 412,
  internal: 500,
  invalid_argument: 400,
  malformed: 400,
  not_found: 404,
  permission_denied: 403,
  resource_exhausted: 429,
  unauthenticated: 401,
  unavailable: 503,
  unimplemented: 501,
} as const;
type TwirpCode = keyof typeof statuses;

const codes: Readonly<Record<ErrorCode, TwirpCode>> = {
  bad_request: 'malformed',
  malformed_json: 'malformed',
  invalid_field: 'invalid_argument',
  already_exists: 'already_exists',
  missing_token: 'unauthenticated',
  invalid_token: 'unauthenticated',
  forbidden: 'permission_denied',
  read_only: 'permission_denied',
  not_found: 'bad_route',
  room_not_found: 'not_found',
  room_ended: 'not_found',
  peer_not_found: 'not_found',
  track_not_found: 'not_found',
  component_not_found: 'not_found',
  call_not_found: 'not_found',
  method_not_allowed: 'bad_route',
  not_acceptable: 'bad_route',
  request_timeout: 'deadline_exceeded',
  conflict: 'failed_precondition',
  terminating: 'unavailable',
  precondition_failed: 'failed_precondition',
  too_large: 'invalid_argument',
  unsupported_media_type: 'bad_route',
  range_not_satisfiable: 'invalid_argument',
  offer_rejected: 'invalid_argument',
  precondition_required: 'failed_precondition',
  too_many_requests: 'resource_exhausted',
  headers_too_large: 'invalid_argument',
  internal: 'internal',
  room_full: 'resource_exhausted',
  tracks_full: 'resource_exhausted',
  no_node_accepts_rooms: 'unavailable',
  node_unreachable: 'unavailable',
  not_implemented: 'unimplemented',
  rpc_failed: 'aborted',
  rpc_timeout: 'deadline_exceeded',
  unavailable: 'unavailable',
};

/** Every one, because methods use many operations. */
const failure: FailureForm = {
  statuses: [...new Set(Object.values(statuses))].sort((a, b) => a - b),
  schema: z
    .object({
      code: z.enum(Object.keys(statuses) as [TwirpCode, ...TwirpCode[]]),
      msg: z.string().meta({ description: 'Human-readable message.' }),
      meta: z
        .record(z.string(), z.string())
        .optional()
        .meta({ description: 'As in the errors of the REST API: `code`, `field`, `reason`.' }),
    })
    .meta({ id: 'TwirpError', description: "Body of every error response of LiveKit's server API." }),
  encode: ({ code, message, field, reason }) => {
    const meta = { code, ...(field !== undefined && { field }), ...(reason !== undefined && { reason }) };
    return { status: statuses[codes[code]], json: { code: codes[code], msg: message, meta } };
  },
};

/** The handler encodes the response, in the media type of the request. */
export const twirpResponse: OperationResponse<HttpResponse> = {
  documented: { 200: { description: 'The response message, in the media type of the request.', type: 'application/json' } },
  result: z.never() as unknown as z.ZodType<HttpResponse>,
  encode: (response) => response,
  failure,
};
