// Routes of HLS streams: playlists, segments and parts from the node that creates them, and viewer tokens.
import { z } from 'zod';
import { toResponse } from '../playlist-responses.ts';
import { fileResponses, lookupErrors } from './content-routes.ts';
import { dataSchema, type Route, route } from './route.ts';

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

export const hlsRoutes: readonly Route[] = [
  // Must precede the route of files, because this is none.
  route({
    method: 'POST',
    path: '/hls/{roomId}/token',
    operationId: 'createViewerToken',
    tag: 'content',
    summary: 'Create a token for viewers of a room, for players that cannot send headers.',
    description:
      'Clients with a read token cannot create one and need none: the stream accepts the read token in the header `authorization` (of hls.js: `xhrSetup`).',
    auth: 'token',
    body: { schema: viewerSchema, required: false },
    answers: { 201: { description: 'The token.', schema: dataSchema(viewerTokenSchema) } },
    errors: [],
    handle: async ({ params: { roomId }, body: { expiresIn } }, { viewerTokens, host }) => {
      const expiresAt = new Date((Math.floor(Date.now() / 1000) + expiresIn) * 1000).toISOString();
      const token = await viewerTokens.sign(roomId, expiresIn);
      return { status: 201, json: { data: { token, url: `${host()}/hls/${roomId}/index.m3u8?token=${token}`, expiresAt } } };
    },
  }),
  route({
    method: 'GET',
    path: '/hls/{roomId}/{file}',
    operationId: 'getHlsFile',
    tag: 'content',
    summary: 'Get a playlist, a segment or a part of the stream of a room.',
    auth: 'token',
    viewersOf: ({ roomId }) => roomId,
    forNodes: true,
    query: playlistQuerySchema,
    answers: fileResponses,
    errors: [...lookupErrors, 'bad_request', 'range_not_satisfiable'],
    handle: async (request, { content }) => {
      const { params, query, acceptsGzip } = request;
      const { _HLS_msn: msn, _HLS_part: part, _HLS_skip: skip, token } = query;
      const playlist = {
        msn,
        part,
        skip: skip !== undefined,
        token: request.viewer || request.forwarded ? token : undefined,
        gzip: acceptsGzip,
      };
      const answer = await content.open({ kind: 'hls', folder: params.roomId, file: params.file, playlist, ...request.transfer() });
      return toResponse(answer, request);
    },
  }),
];
