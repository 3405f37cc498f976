// Access log: one line per request, with a level by status and without tokens and queries.
import type { Request } from 'express';
import type { Log } from '../../common/log.ts';
import type { TracedResponse } from './pipeline.ts';

/** Data of a request and its response for metrics. `route` is the template, `none` if no route matched; `duration` in milliseconds. */
export type RequestObservation = { route: string; method: string; status: number; duration: number };

export type AccessLogOptions = { log: Log; observe: ((observation: RequestObservation) => void) | undefined };

export function logRequest({ log, observe }: AccessLogOptions, request: Request, response: TracedResponse): void {
  const { trace } = response.locals;
  const status = response.statusCode;
  const duration = performance.now() - trace.start;
  observe?.({ route: trace.route ?? 'none', method: request.method, status, duration });
  const level = status >= 500 ? 'error' : status >= 400 ? 'info' : 'debug';
  if (!log.isLevelEnabled(level)) return;
  const fields = {
    requestId: trace.requestId,
    method: request.method,
    path: request.path.slice(0, 256),
    status,
    ms: Math.round(duration * 10) / 10,
    client: trace.forwarded?.client ?? trace.client,
    by: trace.forwarded?.node,
    caller: trace.caller?.name,
    code: trace.code,
  };
  if (response.writableFinished) log[level](fields, 'request completed');
  else log[level](fields, 'request aborted by client');
}
