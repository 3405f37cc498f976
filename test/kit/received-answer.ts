// Answers of nodes as a client got them, compared with the OpenAPI document: for nodes in images, which no test can look into.
import { jsonOf, problemOfAnswer } from './openapi.ts';

/** `url`: as asked. `body`: as it came, text or nothing. */
export type ReceivedAnswer = { method: string; url: string; status: number; headers: Headers; body: string };

/** The path of a node behind Ingress. */
const nodePath = /^\/n\/\d+(?=\/)/;

/** What a node answers at a path that is none of its own: Ingress leaves the path of a node as it is until it knows its route. */
const nothingThere = 'There is nothing at this address';

/** @returns what is not as the document says; undefined where all is, and for what no node answered (a proxy) or is for browsers (the console) */
export function problemOfReceived({ method, url, status, headers, body }: ReceivedAnswer): string | undefined {
  const { pathname } = new URL(url);
  const path = pathname.replace(nodePath, '');
  if (path !== pathname && status === 404 && body.includes(nothingThere)) return undefined;
  const json = isJson(headers);
  const fromNode = headers.has('x-request-id');
  if (!fromNode || (status < 400 && headers.get('content-type')?.startsWith('text/html'))) return undefined;
  return problemOfAnswer({ method, path, status, body: json ? jsonOf(body) : body || undefined });
}

export function isJson(headers: Headers): boolean {
  return headers.get('content-type')?.startsWith('application/json') === true && !headers.has('content-encoding');
}
