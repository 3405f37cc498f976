// How files of streams are answered: for how long who may keep them, and playlists that carry a viewer's token.
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { ContentResponse } from '../rooms/shapes/content.ts';
import { withToken } from '../rooms/tokens/playlist-token.ts';
import { errorBody } from './responses.ts';
import type { Answer, RouteRequest } from './routes/route.ts';
import { wholeOf } from './whole-content.ts';

const compress = promisify(gzip);

/** Largest playlist that is changed on its way: that of days. */
const maxPlaylist = 32 * 1024 * 1024;
/** Seconds for which what was kept of a stream may stay in caches: its segments never change, its playlist where an upload goes on. */
const keepFile = 24 * 3600;
const keepPlaylist = 60;

/** `cache-control` of a file of a recording; undefined where it may still grow. */
export function recordingCacheControl(file: string): string | undefined {
  if (/^(segment-\d+\.m4s|init-[\w-]+\.mp4)$/.test(file)) return `max-age=${keepFile}, immutable`;
  return file.endsWith('.m3u8') ? `max-age=${keepPlaylist}` : undefined;
}

/**
 * The answer of a route. What came for a viewer's token, which is in the address, may be kept by shared caches until the token expires; what
 * came for an API token, which is in a header, by the client alone (RFC 9111, section 3.5). Other nodes get it as it is.
 */
export function toResponse(content: ContentResponse, { viewer, forwarded }: Pick<RouteRequest, 'viewer' | 'forwarded'>): Answer {
  const { status, body, bytes } = content;
  const headers = { ...content.headers };
  const caching = headers['cache-control'];
  if (caching !== undefined && !forwarded) headers['cache-control'] = cachingFor(caching, viewer);
  if (bytes) return { status, headers, bytes };
  if (body) return { status, headers, stream: body };
  if (status !== 416) return { status, headers };
  return { status, headers, json: errorBody('range_not_satisfiable', 'The file has none of the bytes that were asked for') };
}

function cachingFor(caching: string, viewer: RouteRequest['viewer']): string {
  const [, age, rest = ''] = /^max-age=(\d+)(.*)$/.exec(caching) ?? [];
  if (age === undefined) return 'no-store';
  if (!viewer) return `private, ${caching}`;
  const left = Math.max(0, Math.floor((viewer.expiresAt - Date.now()) / 1000));
  return `public, max-age=${Math.min(Number(age), left)}${rest}`;
}

/** A playlist of a file, with the token on its URIs, compressed where that is taken. */
export async function rewritePlaylist(content: ContentResponse, { viewer, acceptsGzip }: RouteRequest): Promise<ContentResponse> {
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
