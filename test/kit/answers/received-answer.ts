// Answers of nodes as a client got them, compared with the OpenAPI document: for nodes in images, which no test can look into.
import { nothingHere } from '../../../node/http/responses.ts';
import { jsonOf, problemOfAnswer } from './openapi.ts';

/** `url`: as asked. `body`: as it came, text or nothing. */
export type ReceivedAnswer = { method: string; url: string; status: number; headers: Headers; body: string };

/** The path of a node behind Ingress. */
const nodePath = /^\/n\/\d+(?=\/)/;

/** @returns what is not as the document says; undefined where all is, and for what no node answered (a proxy) or is for browsers (the console) */
export function problemOfReceived({ method, url, status, headers, body }: ReceivedAnswer): string | undefined {
  const { pathname } = new URL(url);
  const path = pathname.replace(nodePath, '');
  // Ingress leaves the path of a node as it is until it knows its route.
  if (path !== pathname && status === 404 && body.includes(nothingHere)) return undefined;
  const json = isJson(headers);
  const fromNode = headers.has('x-request-id');
  if (!fromNode || (status < 400 && headers.get('content-type')?.startsWith('text/html'))) return undefined;
  return problemOfAnswer({ method, path, status, body: json ? jsonOf(body) : body || undefined });
}

export function isJson(headers: Headers): boolean {
  return headers.get('content-type')?.startsWith('application/json') === true && !headers.has('content-encoding');
}
