// Responses of operations, in five forms: the result of a handler, its form between nodes, the HTTP response, and its documentation.
import type { Readable } from 'node:stream';
import { z } from 'zod';
import type { ServiceError } from '../errors.ts';

export type Scope = 'admin' | 'read';

/**
 * `json` and `text` are complete bodies, `bytes` and `stream` have the content type in their headers; without any of them the response has
 * no body.
 */
export type HttpResponse = {
  status: number;
  json?: unknown;
  text?: string;
  bytes?: Buffer;
  stream?: Readable;
  type?: string;
  headers?: Record<string, string>;
};

/** By status. */
export type DocumentedResponses = Record<number, { description: string; schema?: z.ZodType; type?: string }>;

/** Error responses of another form than that of the REST API. */
export type FailureForm = { statuses: readonly number[]; schema: z.ZodType; encode(error: ServiceError): HttpResponse };

export type OperationResponse<Result> = {
  documented: DocumentedResponses;
  /** The result between nodes. */
  result: z.ZodType<Result>;
  encode(result: Result, scope: Scope): HttpResponse;
  failure?: FailureForm;
};

/** `forReaders`: the result as clients with a read token receive it. */
type Options<Result> = { status?: 200 | 201 | 202; forReaders?: (result: Result) => Result };

/** `{data}` */
export function shows<Result>(schema: z.ZodType<Result>, description: string, options: Options<Result> = {}): OperationResponse<Result> {
  const { status = 200, forReaders } = options;
  return {
    documented: { [status]: { description, schema: z.object({ data: schema }) } },
    result: schema,
    encode: (data, scope) => ({ status, json: { data: scope === 'read' && forReaders ? forReaders(data) : data } }),
  };
}

/** The result is the body, for example a page of a list. */
export function lists<Result>(schema: z.ZodType<Result>, description: string, options: Options<Result> = {}): OperationResponse<Result> {
  const { status = 200, forReaders } = options;
  return {
    documented: { [status]: { description, schema } },
    result: schema,
    encode: (body, scope) => ({ status, json: scope === 'read' && forReaders ? forReaders(body) : body }),
  };
}

export type Created<Data> = { created: boolean; data: Data };

/** 201 with `{data}`, or 200 if an earlier request with the same externalId created it. */
export function creates<Data>(schema: z.ZodType<Data>, created: string, repeated: string): OperationResponse<Created<Data>> {
  const body = z.object({ data: schema });
  return {
    documented: { 200: { description: repeated, schema: body }, 201: { description: created, schema: body } },
    result: z.object({ created: z.boolean(), data: schema }) as unknown as z.ZodType<Created<Data>>,
    encode: ({ created: isNew, data }) => ({ status: isNew ? 201 : 200, json: { data } }),
  };
}

/** No body. */
export function does(status: 200 | 201 | 202 | 204, description: string): OperationResponse<void> {
  return {
    documented: { [status]: { description } },
    result: z.null().transform(() => undefined) as unknown as z.ZodType<void>,
    encode: () => ({ status }),
  };
}

/** Files and documents. Between nodes they are proxied over HTTP. */
export function sends(documented: DocumentedResponses): OperationResponse<HttpResponse> {
  return { documented, result: z.never() as unknown as z.ZodType<HttpResponse>, encode: (response) => response };
}
