// Operations and RPCs between nodes: each is one value from which routing, validation, the document and dispatch are derived.
import { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import { type NamesIn, parameterNames, pathParameters } from '../parameters.ts';
import type { OperationResponse } from './response.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
/** here: the node that receives the request. room: the owning node of `{roomId}`. node: `{nodeName}`. */
export type Runs = 'here' | 'room' | 'node';
type PathOf<Line extends string> = Line extends `${string} ${infer Path}` ? Path : never;

/** `id`: its key in its table. `timeoutMs`: timeout at another node. */
export type Rpc<In = unknown, Result = unknown> = {
  id: string;
  input: z.ZodType<In>;
  result: z.ZodType<Result>;
  timeoutMs: number;
  runs: Runs;
};

/** A message for one field, instead of the message of the schema. */
type Refuse = (body: unknown, field: string | undefined) => string | undefined;
/**
 * `documented`: schema for the document, if the actual validation happens at the owning node. `type`: media type of a body that is a text
 * instead of JSON; with several types, the body is a BinaryBody.
 */
type Body<Out, In> = {
  schema: z.ZodType<Out, In>;
  required: boolean;
  documented?: z.ZodType;
  refuse?: Refuse | undefined;
  type?: string | readonly string[];
};
/** A body of one of several media types: parsed if it is JSON. */
export type BinaryBody = { json: unknown } | { bytes: Buffer };
/** Headers of a client that is a peer: its bearer token, which the owning node verifies, and `if-match`. */
const peerHeadersSchema = z.object({ token: z.string(), ifMatch: z.string().max(512).optional() });
export type PeerHeaders = z.output<typeof peerHeadersSchema>;

type Definition<Result, Out, In, Query> = {
  tag: string;
  summary: string;
  /** Details that do not fit into the summary. */
  description?: string;
  /** `token`, the default: any API token for GET, a token of scope `admin` for other methods. `peer`: see PeerHeaders. */
  auth?: 'none' | 'token' | 'peer';
  /** The room whose viewers may also use the operation, with a token in the query. */
  viewersOf?: (params: Record<string, string>) => string | undefined;
  /** Other nodes may use it over HTTP without an API token, because they have authenticated their client. */
  forNodes?: boolean;
  body?: Body<Out, In>;
  query?: z.ZodType<Query>;
  response: OperationResponse<Result>;
  /** In addition to errors that follow from authentication, parameters and body. */
  errors: readonly ErrorCode[];
  runs: Runs;
  timeoutMs?: number;
  /** Processing it twice does no harm, so that clients retry it after a lost response. Default: true, except for POST. */
  repeatable?: boolean;
  /**
   * Its method in the server SDK; path parameters come first. In parentheses: fields of the body or query, or one name for all of them. After
   * a colon: the field of `data` that it returns.
   */
  sdk?: SdkMethod;
  /** Timeout of that method in milliseconds, if the default of the SDK is too short. */
  sdkTimeoutMs?: number;
};
type SdkMethod = `${string}.${string}(${string})${'' | `: ${string}`}`;

/** `headers`: of operations of peers. */
export type Input<Path extends string, Out, Query> = {
  params: Record<NamesIn<Path>, string>;
  body: Out;
  query: Query;
  headers?: PeerHeaders | undefined;
};

/** The type parameters are values, not schemas, so that messages of the compiler stay short. */
export type Operation<Path extends string = string, Out = unknown, In = unknown, Query = unknown, Result = unknown> = Rpc<
  Input<Path, Out, Query>,
  Result
> &
  Omit<Definition<Result, Out, In, Query>, 'timeoutMs' | 'auth' | 'repeatable'> & {
    method: Method;
    path: Path;
    auth: 'none' | 'token' | 'peer';
    repeatable: boolean;
  };

export type InputOf<R> = R extends Rpc<infer In, infer _> ? In : never;
export type ResultOf<R> = R extends Rpc<infer _, infer Result> ? Result : never;

/** Milliseconds. Longer than the failure detector needs for a lost node. */
const defaultTimeoutMs = 5_000;

/** `line`: method and path in OpenAPI syntax, `GET /room/{roomId}`. */
export function operation<const Line extends `${Method} /${string}`, Result, Out = undefined, In = undefined, Query = undefined>(
  line: Line,
  definition: Definition<Result, Out, In, Query>,
): Operation<PathOf<Line>, Out, In, Query, Result> {
  const [method, path] = line.split(' ') as [Method, PathOf<Line>];
  const { body, query, response, auth = 'token', timeoutMs = defaultTimeoutMs, repeatable = method !== 'POST' } = definition;
  const params = z.object(Object.fromEntries(parameterNames(path).map((name) => [name, pathParameters[name]])));
  const nothing = z.undefined().optional();
  const headers = auth === 'peer' ? peerHeadersSchema : nothing;
  const input = z.object({ params, body: body?.schema ?? nothing, query: query ?? nothing, headers });
  const typed = input as unknown as z.ZodType<Input<PathOf<Line>, Out, Query>>;
  return { ...definition, id: '', method, path, auth, timeoutMs, repeatable, input: typed, result: response.result };
}

/** An RPC that only nodes request. */
export function rpc<In, Result>(input: z.ZodType<In>, result: z.ZodType<Result>, timeoutMs = defaultTimeoutMs): Rpc<In, Result> {
  return { id: '', input, result, timeoutMs, runs: 'here' };
}

/** Gives each its key as its id. */
export function named<Table extends Record<string, Rpc>>(table: Table): Table {
  return Object.fromEntries(Object.entries(table).map(([id, each]) => [id, { ...each, id }])) as Table;
}
