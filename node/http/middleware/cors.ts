// CORS (Fetch, section 3.2): allowed origins and responses to preflights.
import type { Request, Response } from 'express';

const allowedHeaders = 'authorization, content-type, if-match, x-request-id';
const exposedHeaders = 'x-request-id, retry-after, location, etag, link, accept-patch';
/** Seconds that a browser may cache the response to a preflight. */
const preflightLifetime = '600';

/** Adds the CORS headers for the origin of the request if it is allowed. `['*']` allows any. */
export function allowOrigin(request: Request, response: Response, origins: readonly string[]): void {
  const any = origins.includes('*');
  if (!any) response.setHeader('vary', 'origin');
  const { origin } = request.headers;
  if (origin === undefined || !(any || origins.includes(origin))) return;
  response.setHeader('access-control-allow-origin', any ? '*' : origin);
  response.setHeader('access-control-expose-headers', exposedHeaders);
}

/** Responds to OPTIONS. `methods`: methods of the path, for example `GET, POST`. `accepted`: headers with the media types of its bodies. */
export function handlePreflight(request: Request, response: Response, methods: string, accepted: Record<string, string>): void {
  response.setHeader('allow', methods);
  for (const [name, value] of Object.entries(accepted)) response.setHeader(name, value);
  if (request.headers['access-control-request-method'] !== undefined && response.hasHeader('access-control-allow-origin')) {
    response.setHeader('access-control-allow-methods', methods);
    response.setHeader('access-control-allow-headers', allowedHeaders);
    response.setHeader('access-control-max-age', preflightLifetime);
  }
  // RFC 9725, section 4.2: encoders expect 200.
  response.writeHead(Object.keys(accepted).length > 0 ? 200 : 204).end();
}
