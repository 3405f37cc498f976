// Responses for HLS files: cache headers, and playlists that carry a viewer token.
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { HttpResponse } from '../../api/core/response.ts';
import { ServiceError } from '../../api/errors.ts';
import type { ContentResponse } from '../rooms/services/content.ts';
import type { RequestContext } from '../rooms/services/operations.ts';
import { withToken } from '../rooms/tokens/playlist-token.ts';
import { errorBody } from './responses.ts';
import { wholeOf } from './whole-content.ts';

const compress = promisify(gzip);

/** Maximum size of a playlist that is rewritten: a stream of several days. */
const maxPlaylist = 32 * 1024 * 1024;
/** Seconds that saved files of a stream may stay in caches. Segments never change; the playlist changes while an upload is in progress. */
const keepFile = 24 * 3600;
const keepPlaylist = 60;

/** `cache-control` of a file of a recording; undefined if the file may still grow. */
export function recordingCacheControl(file: string): string | undefined {
  if (/^(segment-\d+\.m4s|captions-\d+\.vtt|init-[\w-]+\.mp4)$/.test(file)) return `max-age=${keepFile}, immutable`;
  return file.endsWith('.m3u8') ? `max-age=${keepPlaylist}` : undefined;
}

/**
 * Response of a content route. With a viewer token, which is part of the URL, shared caches may keep it until the token expires. With an
 * API token, which is in a header, only the client may keep it (RFC 9111, section 3.5). Other nodes receive the original headers.
 */
export function toResponse(content: ContentResponse, { viewer, forwarded }: Pick<RequestContext, 'viewer' | 'forwarded'>): HttpResponse {
  const { status, body, bytes } = content;
  const headers = { ...content.headers };
  const caching = headers['cache-control'];
  if (caching !== undefined && !forwarded) headers['cache-control'] = cachingFor(caching, viewer);
  if (bytes) return { status, headers, bytes };
  if (body) return { status, headers, stream: body };
  if (status !== 416) return { status, headers };
  return { status, headers, json: errorBody(new ServiceError('range_not_satisfiable', 'The file does not contain the requested range')) };
}

function cachingFor(caching: string, viewer: RequestContext['viewer']): string {
  const [, age, rest = ''] = /^max-age=(\d+)(.*)$/.exec(caching) ?? [];
  if (age === undefined) return 'no-store';
  if (!viewer) return `private, ${caching}`;
  const left = Math.max(0, Math.floor((viewer.expiresAt - Date.now()) / 1000));
  return `public, max-age=${Math.min(Number(age), left)}${rest}`;
}

/** Reads a playlist, adds the viewer token to its URIs, and compresses it if the client accepts that. */
export async function rewritePlaylist(content: ContentResponse, { viewer, acceptsGzip }: RequestContext): Promise<ContentResponse> {
  const { status, body } = content;
  if (status !== 200 || !body) return content;
  const whole = await wholeOf(content, maxPlaylist, 'The playlist');
  const text = viewer ? Buffer.from(withToken(whole.toString('utf8'), viewer.token)) : whole;
  const bytes = acceptsGzip ? await compress(text) : text;
  const { 'content-type': type = 'application/vnd.apple.mpegurl' } = content.headers;
  const headers = {
    'content-type': type,
    'content-length': String(bytes.length),
    vary: 'accept-encoding',
    ...(acceptsGzip && { 'content-encoding': 'gzip' }),
  };
  return { status, headers, body: undefined, bytes };
}
