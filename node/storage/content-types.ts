// Content types: the media type of a file by its name.
import { extname } from 'node:path';

const types: Record<string, string> = {
  '.m3u8': 'application/vnd.apple.mpegurl',
  '.m4s': 'video/mp4',
  '.mp4': 'video/mp4',
  '.webm': 'video/webm',
  '.mkv': 'video/matroska',
  '.ogg': 'audio/ogg',
  '.vtt': 'text/vtt',
  '.json': 'application/json',
};

export function contentTypeOf(name: string): string {
  return types[extname(name).toLowerCase()] ?? 'application/octet-stream';
}
