// File response: status, headers and byte range of the response for a file, independent of where it is stored.
import type { ContentRequest } from '../rooms/services/content.ts';
import { contentTypeOf } from './content-types.ts';
import { type ByteRange, readRange } from './ranges.ts';

export type FileRequest = Pick<ContentRequest, 'file' | 'method' | 'range' | 'ifRange'>;
/** `modified`: milliseconds since 1970. */
export type FileMetadata = { size: number; modified: number };
/** `bytes`: undefined if the response has no body. */
export type FileResponse = { status: number; headers: Record<string, string>; bytes: ByteRange | undefined };

/** `more`: headers in addition to those of the file. */
export function planFileResponse(
  { size, modified: time }: FileMetadata,
  request: FileRequest,
  more: Record<string, string> = {},
): FileResponse {
  const etag = `"${size.toString(36)}-${time.toString(36)}"`;
  const modified = new Date(time).toUTCString();
  const sameFile = request.ifRange === undefined || request.ifRange === etag || request.ifRange === modified;
  const range = request.method === 'GET' && sameFile ? readRange(request.range, size) : 'whole';
  if (range === 'unsatisfiable') return { status: 416, headers: { 'content-range': `bytes */${size}` }, bytes: undefined };
  const { start, end } = range === 'whole' ? { start: 0, end: size - 1 } : range;
  const headers = {
    'content-type': contentTypeOf(request.file),
    'accept-ranges': 'bytes',
    etag,
    'last-modified': modified,
    ...more,
    'content-length': String(end - start + 1),
    ...(range !== 'whole' && { 'content-range': `bytes ${start}-${end}/${size}` }),
  };
  return { status: range === 'whole' ? 200 : 206, headers, bytes: request.method === 'HEAD' || size === 0 ? undefined : { start, end } };
}
