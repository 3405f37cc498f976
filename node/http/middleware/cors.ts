// CORS (Fetch, section 3.2): allowed origins and responses to preflights.
import type { Request, Response } from 'express';

const allowedHeaders = 'authorization, content-type, x-request-id';
const exposedHeaders = 'x-request-id, retry-after';
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

/** Responds to OPTIONS. `methods`: methods of the path, for example `GET, POST`. */
export function handlePreflight(request: Request, response: Response, methods: string): void {
  response.setHeader('allow', methods);
  if (request.headers['access-control-request-method'] !== undefined && response.hasHeader('access-control-allow-origin')) {
    response.setHeader('access-control-allow-methods', methods);
    response.setHeader('access-control-allow-headers', allowedHeaders);
    response.setHeader('access-control-max-age', preflightLifetime);
  }
  response.writeHead(204).end();
}
