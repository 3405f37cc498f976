// OpenAPI 3.1 document, generated from the table of operations and their zod schemas.
import { z } from 'zod';
import type { Method, Operation } from '../../api/core/operation.ts';
import { type JsonSchema, JsonSchemas } from '../../api/derive/json-schemas.ts';
import { type ErrorCode, errorCatalogue } from '../../api/errors.ts';
import { parameterNames, pathParameters } from '../../api/parameters.ts';

export type OpenApiOperation = {
  operationId: string;
  /** Schemes that authenticate; empty if none is needed. */
  security: Record<string, string[]>[];
  responses: Record<string, { description: string; content?: Record<string, { schema?: JsonSchema }> }>;
  [field: string]: unknown;
};
export type OpenApiDocument = {
  openapi: string;
  paths: Record<string, Record<string, OpenApiOperation>>;
  components: { schemas: Record<string, JsonSchema>; securitySchemes: Record<string, unknown> };
  [field: string]: unknown;
};

const errorCodes = Object.keys(errorCatalogue) as ErrorCode[];
export const errorSchema = z
  .object({
    errors: z.string().meta({ description: 'Human-readable message.' }),
    code: z.enum(errorCodes as [ErrorCode, ...ErrorCode[]]).meta({ description: 'Stable code for programs.' }),
    field: z
      .string()
      .optional()
      .meta({ description: 'Path of the invalid field of the request, for example `maxPeers` or `options.width`.' }),
    reason: z.string().optional().meta({ description: 'Why the room ended, with `room_ended`: as in its last event.' }),
  })
  .meta({ id: 'Error', description: 'Body of every error response.' });

/** `path`: the path of SVC_HOST, '' if it has none. */
export function openApiDocument(routes: readonly Operation[], info: { version: string; path: string }): OpenApiDocument {
  const schemas = new JsonSchemas('#/components/schemas/');
  const paths: OpenApiDocument['paths'] = {};
  const error = schemas.output(errorSchema);
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route, schemas, error) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Mediarooms',
      version: info.version,
      description: 'Rooms, peers and tracks of a Mediarooms cluster.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: info.path === '' ? '/' : info.path }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: schemas.components(),
      securitySchemes: {
        apiToken: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A token of SVC_SERVER_API_TOKEN or of the configuration files. A read token (SVC_SERVER_API_READ_TOKEN, or scope `read` in a file) is valid for every GET, for the event websocket and, in this header, for content; other requests are rejected with 403 `read_only`.',
        },
        peerToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'The token of a peer, from `POST /room/{roomId}/peer`, or an access token.',
        },
      },
    },
  };
}

function operation(route: Operation, schemas: JsonSchemas, error: JsonSchema): OpenApiOperation {
  const parameters = [...pathParametersOf(route, schemas), ...queryParametersOf(route, schemas)];
  return {
    operationId: route.id,
    tags: [route.tag],
    summary: route.summary,
    ...(route.description !== undefined && { description: route.description }),
    security: route.auth === 'none' ? [] : [{ [route.auth === 'peer' ? 'peerToken' : 'apiToken']: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && {
      requestBody: {
        required: route.body.required,
        content: contentOf(route.body, schemas),
      },
    }),
    responses: { ...successes(route, schemas), ...failuresOf(route, schemas, error) },
  };
}

function contentOf({ type = 'application/json', documented, schema }: NonNullable<Operation['body']>, schemas: JsonSchemas): object {
  return Object.fromEntries([type].flat().map((each) => [each, { schema: schemas.input(documented ?? schema) }]));
}

function pathParametersOf(route: Operation, schemas: JsonSchemas): object[] {
  return parameterNames(route.path).map((name) => {
    const { description, ...schema } = schemas.input(pathParameters[name]);
    return { name, in: 'path', required: true, ...(description !== undefined && { description }), schema };
  });
}

function queryParametersOf(route: Operation, schemas: JsonSchemas): object[] {
  const { properties = {}, required = [] } = route.query ? schemas.input(route.query) : {};
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description !== undefined && { description }),
    schema,
  }));
}

function successes(route: Operation, schemas: JsonSchemas): OpenApiOperation['responses'] {
  const entries = Object.entries(route.response.documented).map(([status, { description, schema, type }]) => {
    if (!schema) return [status, type === undefined ? { description } : { description, content: { [type]: {} } }];
    return [status, { description, content: { [type ?? 'application/json']: { schema: schemas.output(schema) } } }];
  });
  return Object.fromEntries(entries);
}

function failuresOf(route: Operation, schemas: JsonSchemas, error: JsonSchema): OpenApiOperation['responses'] {
  const { failure } = route.response;
  if (!failure) return failures(errorsOf(route), error);
  const schema = schemas.output(failure.schema);
  return Object.fromEntries(
    failure.statuses.map((status) => [status, { description: 'Refused.', content: { 'application/json': { schema } } }]),
  );
}

function failures(codes: readonly ErrorCode[], error: JsonSchema): OpenApiOperation['responses'] {
  const byStatus = Map.groupBy(codes, (code) => errorCatalogue[code].status);
  const entries = [...byStatus]
    .sort(([a], [b]) => a - b)
    .map(([status, group]) => [
      status,
      {
        description: `Refused: ${group.join(', ')}.`,
        content: { 'application/json': { schema: { allOf: [error, { type: 'object', properties: { code: { enum: group } } }] } } },
      },
    ]);
  return Object.fromEntries(entries);
}

/**
 * All errors of a route: its specific ones, and those that follow from its authentication, parameters and body. The body size is checked
 * even if no body is expected.
 */
export function errorsOf(route: Operation): ErrorCode[] {
  const codes = new Set<ErrorCode>(['bad_request', 'too_large', 'too_many_requests', 'internal', ...route.errors]);
  if (route.auth !== 'none') codes.add('missing_token').add('invalid_token');
  if (route.auth === 'token' && needsAdmin(route.method)) codes.add('read_only');
  if (route.viewersOf) codes.add('forbidden');
  if (route.body) codes.add('unsupported_media_type');
  if (route.body && route.body.type === undefined) codes.add('malformed_json').add('invalid_field');
  if (route.query || parameterNames(route.path).length > 0) codes.add('invalid_field');
  return [...codes];
}

function needsAdmin(method: Method): boolean {
  return method !== 'GET';
}
