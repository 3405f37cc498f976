// Responses: writes results and errors to the response.
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import type { FailureForm, HttpResponse } from '../../api/core/response.ts';
import { type ErrorCode, ServiceError } from '../../api/errors.ts';
import { STATUS_CODES } from '../common/builtin-http.ts';
import { wwwAuthenticateHeader } from './middleware/auth.ts';
import { PayloadTooLargeError } from './middleware/body.ts';

/** Set on every response. HTML pages override the policy. */
export const securityHeaders: Record<string, string> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
};

/** Message for paths without a route or page. */
export const nothingHere = 'There is nothing at this address';

export function sendResponse(response: Response, answer: HttpResponse): void {
  putHeaders(response, answer.headers);
  if (answer.bytes) {
    response.writeHead(answer.status).end(answer.bytes);
    return;
  }
  const text = answer.json === undefined ? answer.text : JSON.stringify(answer.json);
  if (text === undefined) {
    response.writeHead(answer.status).end();
    return;
  }
  response
    .writeHead(answer.status, { 'content-type': answer.type ?? 'application/json', 'content-length': Buffer.byteLength(text) })
    .end(text);
}

/** Appends to `vary`, because common middleware sets it too. */
function putHeaders(response: Response, { vary, ...headers }: Record<string, string> = {}): void {
  response.setHeaders(new Map(Object.entries(headers)));
  if (vary !== undefined) response.vary(vary);
}

/** Streams a body from elsewhere. If it fails, the connection is destroyed, so that no client takes the partial body for complete. */
export async function sendStream(response: Response, answer: HttpResponse, body: Readable): Promise<void> {
  putHeaders(response, answer.headers);
  response.writeHead(answer.status);
  let missing = Number(answer.headers?.['content-length'] ?? Number.NaN);
  const counted = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      missing -= chunk.length;
      yield chunk;
    }
  };
  try {
    await pipeline(body, counted, response, { end: false });
  } catch {
    response.destroy();
    return;
  }
  if (missing > 0) response.destroy();
  else response.end();
}

type ErrorBody = { errors: string; code: ErrorCode; field?: string; reason?: string };

export function errorBody({ code, message, field, reason }: Pick<ServiceError, 'code' | 'message' | 'field' | 'reason'>): ErrorBody {
  return { errors: message, code, ...(field !== undefined && { field }), ...(reason !== undefined && { reason }) };
}

export function sendError(response: Response, error: ServiceError, form?: FailureForm): void {
  const headers: Record<string, string> = {};
  if (error.status === 401) headers['www-authenticate'] = wwwAuthenticateHeader(error.code);
  if (error.retryAfter !== undefined) headers['retry-after'] = String(Math.max(1, Math.ceil(error.retryAfter)));
  if (error instanceof PayloadTooLargeError) headers.connection = 'close';
  sendResponse(response, { ...(form?.encode(error) ?? { status: error.status, json: errorBody(error) }), headers });
}

/** Converts errors of express and its libraries: those with a 4xx status are errors of the client. */
export function toClientError(error: unknown): ServiceError | undefined {
  if (error instanceof URIError) return new ServiceError('bad_request', 'The path has malformed percent-encoding', { cause: error });
  if (typeof error !== 'object' || error === null || !('status' in error) || typeof error.status !== 'number') return undefined;
  if (error.status < 400 || error.status > 499) return undefined;
  return error.status === 404
    ? new ServiceError('not_found', 'Not found', { cause: error })
    : new ServiceError('bad_request', 'The path has malformed percent-encoding', { cause: error });
}

/** A whole response as text, for sockets without a ServerResponse (parser errors, rejected upgrades). */
export function rawError(code: ErrorCode, message: string): string {
  const error = new ServiceError(code, message);
  const body = JSON.stringify(errorBody(error));
  const lines = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? 'Error'}`,
    'connection: close',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    ...Object.entries(securityHeaders).map(([name, value]) => `${name}: ${value}`),
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}
