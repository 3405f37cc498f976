// Operations of HLS streams: playlists, segments and parts from the node that creates them, and viewer tokens.
import { z } from 'zod';
import { operation } from '../core/operation.ts';
import { shows } from '../core/response.ts';
import { fileResponse, lookupErrors } from './recordings.ts';

/** Validity of a token in seconds: default and maximum. */
const defaultLifetime = 3600;
const maxLifetimeSeconds = 30 * 24 * 3600;

const number = z
  .string()
  .regex(/^\d{1,15}$/, 'to be a whole number')
  .transform(Number)
  .optional();
/** Other parameters of players and caches are ignored. */
const playlistQuerySchema = z.object({
  _HLS_msn: number.meta({
    description: 'Media sequence number that the playlist must contain: the response waits for it (RFC 8216bis, section 6.2.5.2).',
  }),
  _HLS_part: number.meta({ description: 'Part of that segment.' }),
  _HLS_skip: z.enum(['YES', 'v2']).optional().meta({ description: 'Old segments may be skipped (section 6.2.5.1).' }),
  token: z.string().max(2048).optional().meta({ description: 'A viewer token, instead of the header `authorization`.' }),
});

const lifetime = `to be an integer from 1 to ${maxLifetimeSeconds}`;
const viewerSchema = z
  .strictObject({
    expiresIn: z
      .int({ error: lifetime })
      .min(1, lifetime)
      .max(maxLifetimeSeconds, lifetime)
      .default(defaultLifetime)
      .meta({ description: 'Validity of the token in seconds.' }),
  })
  .meta({ id: 'ViewerTokenOptions' });
const viewerTokenSchema = z
  .object({
    token: z
      .string()
      .meta({ description: 'Query parameter `token` of all paths under /hls of the room, and under /recording of its recordings.' }),
    url: z.string().meta({ description: 'Playlist URL of the stream with the token, without scheme: host[:port][/path].' }),
    expiresAt: z.iso.datetime(),
  })
  .meta({ id: 'ViewerToken' });

export const hlsOperations = {
  // Must precede the operation of files, because this is none.
  createViewerToken: operation('POST /hls/{roomId}/token', {
    tag: 'content',
    summary: 'Create a token for viewers of a room, for players that cannot send headers.',
    description:
      'Clients with a read token cannot create one and need none: the stream accepts the read token in the header `authorization` (of hls.js: `xhrSetup`).',
    body: { schema: viewerSchema, required: false },
    response: shows(viewerTokenSchema, 'The token.', { status: 201 }),
    errors: [],
    runs: 'here',
    repeatable: true,
    sdk: 'hls.createToken(viewer)',
  }),
  getHlsFile: operation('GET /hls/{roomId}/{file}', {
    tag: 'content',
    summary: 'Get a playlist, a segment or a part of the stream of a room.',
    viewersOf: ({ roomId }) => roomId,
    forNodes: true,
    query: playlistQuerySchema,
    response: fileResponse,
    errors: [...lookupErrors, 'bad_request', 'range_not_satisfiable'],
    runs: 'here',
  }),
};
