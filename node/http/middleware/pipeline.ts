// Request pipeline of a route: authentication, validation, handler, response.
import type { Request, Response } from 'express';
import type { Method, Operation, PeerHeaders } from '../../../api/core/operation.ts';
import type { FailureForm } from '../../../api/core/response.ts';
import { traceparentHeader } from '../../../api/core/traceparent.ts';
import { formatValue, invalidFieldError, invalidFieldPath, validationMessage } from '../../../api/derive/validation-messages.ts';
import { ServiceError, toServiceError } from '../../../api/errors.ts';
import { parameterNames, pathParameters } from '../../../api/parameters.ts';
import { noTracer, type Span, type Tracer } from '../../../tracing/spans.ts';
import type { Log } from '../../common/log.ts';
import type { RateLimit } from '../../common/rate-limit.ts';
import { withRequest } from '../../common/request-context.ts';
import type { OperationRunner, RequestContext } from '../../rooms/services/operations.ts';
import type { ViewerTokens } from '../../rooms/tokens/viewer-tokens.ts';
import { sendError, sendResponse, sendStream } from '../responses.ts';
import { type Authenticator, bearerOf, type Principal } from './auth.ts';
import { type BodyCheck, discardBody, readBinary, readJson, readText } from './body.ts';
import { isLocal } from './client-address.ts';
import type { Forwarded } from './forwarded.ts';

/** Data of a request for the access log and metrics. */
export type RequestTrace = {
  requestId: string;
  start: number;
  /** IP address of the client, resolved behind trusted proxies. */
  client: string;
  forwarded?: Forwarded | undefined;
  route?: string;
  caller?: Principal;
  code?: string;
  /** Form of error responses, if it is not that of the REST API. */
  failure?: FailureForm | undefined;
  /** Of a traced request; it begins after authentication. */
  span?: Span | undefined;
};
export type TracedResponse = Response<unknown, { trace: RequestTrace }>;

export type PipelineOptions = {
  log: Log;
  operations: OperationRunner;
  viewerTokens: Pick<ViewerTokens, 'verify'>;
  authenticator: Authenticator;
  tokenLimit: RateLimit;
  tracer?: Tracer | undefined;
};

/** Created once: without a reason, each request would create an error with a stack at its end. */
const clientDisconnected = new DOMException('The client has disconnected', 'AbortError');

/** Express handler of one route. Never rejects. */
export function runRoute(
  route: Operation,
  { log, operations, viewerTokens, authenticator, tokenLimit, tracer = noTracer }: PipelineOptions,
): (request: Request, response: TracedResponse) => Promise<void> {
  const names = parameterNames(route.path);
  const needed = scopeOf(route.method);
  return async (request, response) => {
    const { trace } = response.locals;
    trace.route = route.path;
    try {
      const { forwarded } = trace;
      let viewer: RequestContext['viewer'];
      let checkBody: BodyCheck | undefined;
      const token = route.viewersOf && request.headers.authorization === undefined ? tokenIn(request.url) : undefined;
      if (route.forNodes && forwarded) trace.caller = { name: forwarded.node, scope: needed };
      else if (token !== undefined) {
        viewer = await viewerOf(token, route.viewersOf?.(request.params as Record<string, string>), viewerTokens);
        trace.caller = { name: 'viewer', scope: 'read' };
      } else if (route.auth === 'token') {
        const shown = authenticator.authenticate(request, needed, trace.client);
        trace.caller = shown.caller;
        checkBody = shown.checkBody;
        const refusal = tokenLimit.refusal(trace.caller.name);
        if (refusal) throw refusal;
      }
      const headers = route.auth === 'peer' ? peerHeaders(request) : undefined;
      if (headers) trace.caller = { name: 'peer', scope: 'read' };
      const params = parseParameters(names, request.params);
      const query = route.query ? parseQuery(route, request.url) : undefined;
      const body = await bodyOf(route, request, checkBody);
      const fetchSite = request.headers['sec-fetch-site'];
      const context: RequestContext = {
        viewer,
        scope: trace.caller?.scope ?? 'read',
        forwarded: forwarded !== undefined,
        acceptsGzip: acceptsGzip(request.headers['accept-encoding']),
        fetchSite: typeof fetchSite === 'string' ? fetchSite : undefined,
        local: () => isLocal(request.headers),
        transfer: () => transferOf(request, response),
      };
      if (route.auth === 'token' && trace.caller) trace.span = startSpan(tracer, route, request, trace);
      const result = await withRequest({ requestId: trace.requestId, span: trace.span }, () =>
        operations.run(route, { params, query, body, headers }, context),
      );
      const answer = route.response.encode(result, context.scope);
      if (answer.stream) await sendStream(response, answer, answer.stream);
      else sendResponse(response, answer);
    } catch (error) {
      sendFailure(response, error, log);
    } finally {
      if (trace.span) endSpan(trace.span, response);
    }
  };
}

/** Peers are authenticated by the owning node, because only that one can verify their tokens for certain. */
function peerHeaders({ headers }: Request): PeerHeaders {
  const { 'if-match': ifMatch } = headers;
  return { token: bearerOf(headers.authorization), ...(ifMatch !== undefined && { ifMatch }) };
}

/** A body of a media type has a response of this type. */
async function bodyOf({ body: rule, response }: Operation, request: Request, checkBody: BodyCheck | undefined): Promise<unknown> {
  if (!rule) return discardBody(request, checkBody);
  if (rule.type === undefined) return parseBody(rule, await readJson(request, checkBody));
  if (typeof rule.type !== 'string') return readBinary(request, rule.type);
  const types = Object.values(response.documented).flatMap(({ type }) => type ?? []);
  if (request.accepts(types) === false) throw new ServiceError('not_acceptable', `The response has the content-type ${types.join(', ')}`);
  const text = await readText(request, rule.type);
  if (text === undefined) throw new ServiceError('bad_request', `Expected a body of content-type ${rule.type}`);
  return text;
}

/** Reads only join traces: pages and probes poll. Requests without a valid token are not traced, so that no client fills the queue. */
function startSpan(tracer: Tracer, { method, path }: Operation, request: Request, { requestId, start }: RequestTrace): Span | undefined {
  const parent = request.headers[traceparentHeader];
  return tracer.start(`${method} ${path}`, 'server', {
    parent: typeof parent === 'string' ? parent : undefined,
    mayBegin: method !== 'GET',
    attributes: { 'http.request.method': method, 'http.route': path, 'mediarooms.request.id': requestId },
    startedMs: performance.now() - start,
  });
}

function endSpan(span: Span, response: TracedResponse): void {
  const { code } = response.locals.trace;
  span.set({ 'http.response.status_code': response.statusCode });
  if (code !== undefined) span.fail(code);
  span.end();
}

/** Sends the public part of the error. Internal errors are logged with their cause. */
export function sendFailure(response: TracedResponse, error: unknown, log: Log): void {
  const failure = toServiceError(error);
  const { trace } = response.locals;
  trace.code = failure.code;
  if (failure.code === 'internal')
    log.error({ requestId: trace.requestId, route: trace.route, err: failure.cause ?? failure }, 'request failed');
  if (response.headersSent) response.destroy();
  else sendError(response, failure, trace.failure);
}

/** @throws ServiceError `invalid_token`, `forbidden` if it is for another room */
async function viewerOf(
  token: string,
  roomId: string | undefined,
  tokens: Pick<ViewerTokens, 'verify'>,
): Promise<{ token: string; expiresAt: number }> {
  const claims = await tokens.verify(token);
  if (!claims) throw new ServiceError('invalid_token', 'Invalid token');
  if (claims.roomId !== roomId) throw new ServiceError('forbidden', 'This token is for another room');
  return { token, expiresAt: claims.expiresAt };
}

function tokenIn(url: string): string | undefined {
  const start = url.indexOf('?');
  return start < 0 ? undefined : (new URLSearchParams(url.slice(start)).get('token') ?? undefined);
}

/** RFC 9110, section 12.5.3: gzip is listed, and its weight is not zero. */
function acceptsGzip(header: string | string[] | undefined): boolean {
  return typeof header === 'string' && /(^|,)\s*gzip\s*(?!;\s*q=0(\.0+)?\s*(,|$))(;|,|$)/i.test(header);
}

function transferOf(request: Request, response: TracedResponse): ReturnType<RequestContext['transfer']> {
  const disconnected = new AbortController();
  response.once('close', () => disconnected.abort(clientDisconnected));
  const { range, 'if-range': ifRange } = request.headers;
  const { forwarded, client } = response.locals.trace;
  return {
    method: request.method === 'HEAD' ? 'HEAD' : 'GET',
    range,
    ifRange: typeof ifRange === 'string' ? ifRange : undefined,
    client: forwarded?.client ?? client,
    forwarded: forwarded !== undefined,
    signal: disconnected.signal,
  };
}

function scopeOf(method: Method): 'admin' | 'read' {
  return method === 'GET' ? 'read' : 'admin';
}

function parseParameters(names: readonly (keyof typeof pathParameters)[], values: Request['params']): Record<string, string> {
  const params: Record<string, string> = {};
  for (const name of names) {
    const result = pathParameters[name].safeParse(values[name]);
    if (!result.success) {
      throw new ServiceError('invalid_field', `Expected ${name} to be ${ruleOf(name)}, got: ${formatValue(values[name])}`, { field: name });
    }
    params[name] = result.data;
  }
  return params;
}

const nameRule = 'letters, digits, dots, hyphens and underscores that do not start with a dot';
const twirpRule = '1 to 64 letters, digits, dots or underscores';
const rules: Partial<Record<string, string>> = {
  recordingId: nameRule,
  file: nameRule,
  nodeName: 'the name of a node',
  twirpService: twirpRule,
  twirpMethod: twirpRule,
};

function ruleOf(name: string): string {
  return rules[name] ?? '1 to 128 alphanumeric characters, hyphens or underscores';
}

function parseQuery(route: Operation, url: string): unknown {
  const start = url.indexOf('?');
  const values: Record<string, string> = {};
  if (start >= 0) {
    for (const [name, value] of new URLSearchParams(url.slice(start))) {
      if (Object.hasOwn(values, name)) throw new ServiceError('bad_request', `Query parameter ${formatValue(name)} is given twice`);
      Object.defineProperty(values, name, { value, enumerable: true });
    }
  }
  const result = route.query?.safeParse(values);
  if (result && !result.success)
    throw new ServiceError(
      'invalid_field',
      validationMessage(result.error, values, 'the query').replace(/^Unknown field/, 'Unknown query parameter'),
      { field: invalidFieldPath(result.error) },
    );
  return result?.data;
}

function parseBody(rule: NonNullable<Operation['body']>, json: unknown): unknown {
  if (json === undefined && rule.required) throw new ServiceError('bad_request', 'Expected a JSON body');
  const input = json ?? (json === undefined ? {} : json);
  const result = rule.schema.safeParse(input);
  if (result.success) return result.data;
  const field = invalidFieldPath(result.error);
  const refusal = rule.refuse?.(input, field);
  throw refusal === undefined ? invalidFieldError(result.error, input, 'the body') : new ServiceError('invalid_field', refusal, { field });
}
