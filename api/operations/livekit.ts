// Operations of LiveKit clients and server SDKs: why a websocket was rejected, which browsers do not tell, and their server API.
import { z } from 'zod';
import { type BinaryBody, operation } from '../core/operation.ts';
import type { OperationResponse } from '../core/response.ts';
import { twirpResponse, twirpTypes } from './twirp.ts';

/** Path of the websocket of clients with two peer connections. */
export const livekitPath = '/rtc';
/** Path of the websocket of clients with one peer connection. If it does not exist, they use the other one. */
export const livekitSinglePath = '/rtc/v1';
/** Path of the websocket of workers of agents. */
export const agentPath = '/agent';

const text: OperationResponse<string> = {
  documented: { 200: { description: 'The token is valid.', type: 'text/plain' } },
  result: z.string(),
  encode: (result) => ({ status: 200, text: result, type: 'text/plain' }),
};

/** Validated by its parser. */
const twirpBody = z.unknown() as unknown as z.ZodType<BinaryBody>;

const validation = {
  tag: 'livekit',
  auth: 'none',
  runs: 'here',
  // Clients describe themselves in further parameters.
  query: z.looseObject({ access_token: z.string().default('') }),
  response: text,
  errors: ['not_found', 'invalid_token', 'forbidden'],
} as const;

export const livekitOperations = {
  validateLiveKit: operation('GET /rtc/validate', {
    ...validation,
    summary: 'Check the access token of a LiveKit client.',
    description: "Clients request it if their websocket is rejected. `not_found` if the node does not accept LiveKit's clients.",
  }),
  validateSingleLiveKit: operation('GET /rtc/v1/validate', {
    ...validation,
    summary: 'Check the access token of a LiveKit client with one peer connection.',
    description: 'The same. `not_found` also if the media worker lacks patches for such clients, which then use two connections.',
  }),
  requestLiveKit: operation('POST /twirp/{twirpService}/{twirpMethod}', {
    tag: 'livekit',
    auth: 'peer',
    summary: "LiveKit's server API, as its server SDKs request it (Twirp).",
    description:
      'The token is an access token of a backend with the grants of the method. The body is the request message of the method, as JSON or protobuf. `bad_route` if the node does not accept LiveKit, or the service has no such method; `unimplemented` if the method has no counterpart.',
    runs: 'here',
    body: { schema: twirpBody, documented: z.unknown(), required: true, type: twirpTypes },
    response: twirpResponse,
    errors: ['not_found', 'forbidden', 'not_implemented'],
  }),
};
