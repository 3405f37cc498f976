// Response check for clients: compares responses of nodes in images, which tests cannot instrument, with the OpenAPI document.
import { nothingHere } from '../../../node/http/responses.ts';
import { jsonOf, problemOfAnswer } from './openapi.ts';

/** `url`: as requested. `body`: as received, a text or nothing. */
export type ReceivedAnswer = { method: string; url: string; status: number; headers: Headers; body: string };

/** The path prefix of a node behind an Ingress. */
const nodePath = /^\/n\/\d+(?=\/)/;

/** @returns the difference to the document; undefined without one, for responses of a proxy, and for responses to browsers (console) */
export function problemOfReceived({ method, url, status, headers, body }: ReceivedAnswer): string | undefined {
  const { pathname } = new URL(url);
  const path = pathname.replace(nodePath, '');
  // An Ingress does not rewrite the path of a node before it has its route.
  if (path !== pathname && status === 404 && body.includes(nothingHere)) return undefined;
  const json = isJson(headers);
  const fromNode = headers.has('x-request-id');
  if (!fromNode || (status < 400 && headers.get('content-type')?.startsWith('text/html'))) return undefined;
  return problemOfAnswer({ method, path, status, body: json ? jsonOf(body) : body || undefined });
}

export function isJson(headers: Headers): boolean {
  return headers.get('content-type')?.startsWith('application/json') === true && !headers.has('content-encoding');
}
