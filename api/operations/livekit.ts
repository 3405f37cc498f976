// Operations of LiveKit clients: why their websocket was rejected, which browsers do not tell.
import { z } from 'zod';
import { operation } from '../core/operation.ts';
import type { OperationResponse } from '../core/response.ts';

/** Path of the websocket with two peer connections. Newer clients try `/rtc/v1` first, and use this path if that does not exist. */
export const livekitPath = '/rtc';

const text: OperationResponse<string> = {
  documented: { 200: { description: 'The token is valid.', type: 'text/plain' } },
  result: z.string(),
  encode: (result) => ({ status: 200, text: result, type: 'text/plain' }),
};

export const livekitOperations = {
  validateLiveKit: operation('GET /rtc/validate', {
    tag: 'livekit',
    auth: 'none',
    summary: 'Check the access token of a LiveKit client.',
    description: "Clients request it if their websocket is rejected. `not_found` if the node does not accept LiveKit's clients.",
    runs: 'here',
    // Clients describe themselves in further parameters.
    query: z.looseObject({ access_token: z.string().default('') }),
    response: text,
    errors: ['not_found', 'invalid_token', 'forbidden'],
  }),
};
