// Request body: size limit, JSON or a text of one media type, parsed once.
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { BinaryBody } from '../../../api/core/operation.ts';
import { ServiceError } from '../../../api/errors.ts';

/** Maximum body size in bytes. */
export const maxBodyBytes = 64 * 1024;
/** Maximum nesting of lists and objects. */
const maxJsonDepth = 64;
/** Bytes of an oversized body that are read and discarded, so that the client receives the response before the connection closes. */
const maxDiscardedBytes = 2 * 1024 * 1024;
const nothing = Buffer.alloc(0);

/** A body too large to discard: the connection must be closed with the response. */
export class PayloadTooLargeError extends ServiceError {
  constructor() {
    super('too_large', `The body is larger than ${maxBodyBytes} bytes`);
  }
}

/** Called with the bytes of a body before they are used, also if it is empty. May throw. */
export type BodyCheck = (bytes: Buffer) => void;

/**
 * Reads and parses the body; undefined if there is none.
 * @throws ServiceError `too_large`, `unsupported_media_type`, `malformed_json`, `bad_request`.
 */
export async function readJson(request: IncomingMessage, check?: BodyCheck): Promise<unknown> {
  const bytes = hasBody(request) ? await readBytes(request) : nothing;
  check?.(bytes);
  if (bytes.length === 0) return undefined;
  checkType(request, 'application/json');
  if (!isUtf8(bytes)) throw new ServiceError('malformed_json', 'The body is not valid UTF-8');
  const text = bytes.toString('utf8');
  if (depthExceeds(text, maxJsonDepth)) throw new ServiceError('malformed_json', `The body is nested deeper than ${maxJsonDepth} levels`);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ServiceError('malformed_json', 'The body is not valid JSON', { cause });
  }
}

/**
 * Reads a body of another media type than JSON; undefined if there is none.
 * @throws ServiceError `too_large`, `unsupported_media_type`, `bad_request`.
 */
export async function readText(request: IncomingMessage, type: string): Promise<string | undefined> {
  const bytes = hasBody(request) ? await readBytes(request) : nothing;
  if (bytes.length === 0) return undefined;
  checkType(request, type);
  if (!isUtf8(bytes)) throw new ServiceError('bad_request', 'The body is not valid UTF-8');
  return bytes.toString('utf8');
}

/**
 * Reads a body of one of several media types, and parses it if it is JSON.
 * @throws ServiceError `too_large`, `unsupported_media_type`, `malformed_json`, `bad_request`.
 */
export async function readBinary(request: IncomingMessage, types: readonly string[]): Promise<BinaryBody> {
  const type = types.find((each) => mediaTypeOf(request) === each);
  if (type === undefined) throw new ServiceError('unsupported_media_type', `Expected a body of content-type ${types.join(' or ')}`);
  if (type === 'application/json') return { json: (await readJson(request)) ?? {} };
  checkType(request, type);
  return { bytes: hasBody(request) ? await readBytes(request) : nothing };
}

/** Reads and discards the body, for routes that accept none. */
export async function discardBody(request: IncomingMessage, check?: BodyCheck): Promise<void> {
  const bytes = hasBody(request) ? await readBytes(request) : nothing;
  check?.(bytes);
}

/** RFC 9112, section 6.3: a request has a body if it has one of these headers. */
function hasBody(request: IncomingMessage): boolean {
  const { headers } = request;
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] !== undefined && headers['content-length'] !== '0');
}

function readBytes(request: IncomingMessage): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxDiscardedBytes) return Promise.reject(new PayloadTooLargeError());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = () => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBodyBytes) {
        chunks.push(chunk);
      } else {
        chunks.length = 0;
        if (size <= maxDiscardedBytes) return;
        settle();
        request.pause();
        reject(new PayloadTooLargeError());
      }
    };
    const onEnd = () => {
      settle();
      if (size > maxBodyBytes) reject(new ServiceError('too_large', `The body is larger than ${maxBodyBytes} bytes`));
      else resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    };
    const onClose = () => {
      settle();
      reject(new ServiceError('bad_request', 'The request ended before its body was complete'));
    };
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

function mediaTypeOf({ headers }: IncomingMessage): string | undefined {
  return headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
}

function checkType(request: IncomingMessage, type: string): void {
  const { headers } = request;
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    throw new ServiceError('unsupported_media_type', 'Expected a body without content-encoding');
  const parts = (headers['content-type'] ?? '').toLowerCase().split(';', 3);
  const [given, charset = 'charset=utf-8', ...others] = parts.map((part) => part.trim());
  if (given !== type || !/^charset="?utf-8"?$/.test(charset) || others.length > 0)
    throw new ServiceError('unsupported_media_type', `Expected a body of content-type ${type}`);
}

/** Counts brackets outside strings, before recursive code parses the text. */
function depthExceeds(text: string, limit: number): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) {
      for (i++; i < text.length && text.charCodeAt(i) !== 0x22; i++) if (text.charCodeAt(i) === 0x5c) i++;
    } else if (code === 0x5b || code === 0x7b) {
      if (++depth > limit) return true;
    } else if (code === 0x5d || code === 0x7d) {
      depth--;
    }
  }
  return false;
}
