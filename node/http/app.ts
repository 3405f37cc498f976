// Express application: common response headers, the route table, the console, and one shape for all errors.

import { randomUUID } from 'node:crypto';
import type { Express, NextFunction, Request } from 'express';
import express from 'express';
import type { Operation } from '../../api/core/operation.ts';
import { ServiceError } from '../../api/errors.ts';
import { proxiedHeader } from '../../api/node.ts';
import type { Log } from '../common/log.ts';
import { networkOf, RateLimit } from '../common/rate-limit.ts';
import { isRequestId } from '../common/request-context.ts';
import type { ApiTokens } from '../rooms/tokens/api-tokens.ts';
import type { SignedCalls } from '../rooms/tokens/signed-calls.ts';
import { consoleFiles } from './console-files.ts';
import { logRequest, type RequestObservation } from './middleware/access-log.ts';
import { Authenticator } from './middleware/auth.ts';
import type { ClientAddressOf } from './middleware/client-address.ts';
import { allowOrigin, handlePreflight } from './middleware/cors.ts';
import type { ForwardedBy } from './middleware/forwarded.ts';
import { type PipelineOptions, runRoute, sendFailure, type TracedResponse } from './middleware/pipeline.ts';
import { nothingHere, securityHeaders, toClientError } from './responses.ts';
import { routes } from './routes/routes.ts';

export type AppOptions = Pick<PipelineOptions, 'log' | 'operations' | 'viewerTokens' | 'tracer'> & {
  apiTokens: ApiTokens;
  signedCalls: SignedCalls;
  corsOrigins: () => readonly string[];
  clientAddress: ClientAddressOf;
  forwardedBy?: ForwardedBy | undefined;
  consoleDir: string | undefined;
  /** SVC_HOST of every node. */
  addresses: () => readonly string[];
  /** Requests per second of one client, and of one token; undefined: no limit. */
  rateLimit: () => number | undefined;
  /** True if `path` is the path of a websocket. */
  isSocket: (path: string) => boolean;
  /** True while the server is closing its connections. */
  closing: () => boolean;
  /** Called when a request has ended. */
  answered: () => void;
  observe: ((observation: RequestObservation) => void) | undefined;
};

const headerEntries = Object.entries(securityHeaders);
/** By the beginning of the path, because also paths that do not exist have them. */
const failureForms = routes.flatMap(({ path, response: { failure: form } }) =>
  form ? [{ prefix: path.slice(0, path.indexOf('{')), form }] : [],
);
/** Probes run on the local host and must not be rate limited. */
const unlimited = new Set(['/livez', '/readyz']);

export function createApp(options: AppOptions): Express {
  const { log } = options;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.set('case sensitive routing', true);
  const clientLimit = new RateLimit(options.rateLimit);
  app.use((request, response, next) => prepare({ ...options, clientLimit }, request, response as TracedResponse, next));
  const pipeline = {
    ...options,
    authenticator: new Authenticator(options.apiTokens, options.signedCalls),
    tokenLimit: new RateLimit(options.rateLimit),
  };
  for (const [path, group] of groupByPath(routes)) {
    const handlers = app.route(path.replaceAll(/\{(\w+)\}/g, ':$1'));
    for (const route of group) {
      const method = route.method.toLowerCase() as 'get' | 'post' | 'patch' | 'delete';
      const run = runRoute(route, pipeline);
      handlers[method]((request, response) => run(request, response as unknown as TracedResponse));
    }
    handlers.all((request, response) => refuseMethod(request, response as unknown as TracedResponse, group, log));
  }
  if (options.consoleDir !== undefined) app.use(consoleFiles(options.consoleDir, options.addresses));
  app.use((request, response) => refusePath(options, request, response as TracedResponse));
  app.use((error: unknown, _request: Request, response: unknown, _next: NextFunction) =>
    sendFailure(response as TracedResponse, toClientError(error) ?? error, log),
  );
  return app;
}

function prepare(options: AppOptions & { clientLimit: RateLimit }, request: Request, response: TracedResponse, next: NextFunction): void {
  const given = request.headers['x-request-id'];
  const requestId = isRequestId(given) ? given : randomUUID();
  const forwarded = options.forwardedBy?.(request.headers[proxiedHeader], request.url);
  const failure = failureForms.find(({ prefix }) => request.path.startsWith(prefix))?.form;
  const trace = { requestId, start: performance.now(), client: options.clientAddress(request), forwarded, failure };
  response.locals.trace = trace;
  for (const [name, value] of headerEntries) response.setHeader(name, value);
  response.setHeader('x-request-id', requestId);
  if (options.closing()) response.setHeader('connection', 'close');
  allowOrigin(request, response, options.corsOrigins());
  response.once('close', () => {
    logRequest(options, request, response);
    options.answered();
  });
  if (request.headers.host === undefined && request.httpVersion === '1.1') {
    sendFailure(response, new ServiceError('bad_request', 'The request has no host header'), options.log);
    return;
  }
  // Requests proxied by another node were counted there.
  const counted = forwarded === undefined && !unlimited.has(request.path);
  const refusal = counted ? options.clientLimit.refusal(networkOf(trace.client)) : undefined;
  if (refusal) sendFailure(response, refusal, options.log);
  else next();
}

function groupByPath(table: readonly Operation[]): Map<string, Operation[]> {
  return Map.groupBy(table, (route) => route.path);
}

function allowedMethods(group: readonly Operation[]): string {
  return [...group.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS'].join(', ');
}

/** `accept-post` (W3C LDP) and `accept-patch` (RFC 5789), of paths that accept another media type than JSON. */
function acceptedTypes(group: readonly Operation[]): Record<string, string> {
  return Object.fromEntries(
    group.flatMap(({ method, body }) => (body?.type ? [[`accept-${method.toLowerCase()}`, [body.type].flat().join(', ')]] : [])),
  );
}

function refuseMethod(request: Request, response: TracedResponse, group: readonly Operation[], log: Log): void {
  const methods = allowedMethods(group);
  if (request.method === 'OPTIONS') {
    handlePreflight(request, response, methods, acceptedTypes(group));
    return;
  }
  response.setHeader('allow', methods);
  sendFailure(response, new ServiceError('method_not_allowed', `Method ${request.method} is not allowed here, only ${methods}`), log);
}

function refusePath(options: AppOptions, request: Request, response: TracedResponse): void {
  const error = options.isSocket(request.path)
    ? new ServiceError('bad_request', 'This address accepts only websocket connections')
    : new ServiceError('not_found', nothingHere);
  sendFailure(response, error, options.log);
}
