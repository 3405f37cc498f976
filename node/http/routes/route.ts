// Route definition: the table of routes generates both the routing and the OpenAPI document, so that they cannot differ.
import type { Readable } from 'node:stream';
import { z } from 'zod';
import type { ErrorCode } from '../../../api/errors.ts';
import { idSchema } from '../../../api/id.ts';
import { fileNameSchema, recordingIdSchema } from '../../../api/recording.ts';
import type { ClusterControl } from '../../rooms/services/cluster-control.ts';
import type { ContentRequest, ContentService, RecordingList } from '../../rooms/services/content.ts';
import type { RenderControl } from '../../rooms/services/renders.ts';
import type { RoomService } from '../../rooms/services/room-service.ts';
import type { WebhookAdmin } from '../../rooms/services/webhook-admin.ts';
import type { ViewerTokens } from '../../rooms/tokens/viewer-tokens.ts';
import type { HealthView } from '../health-view.ts';
import type { Principal } from '../middleware/auth.ts';
import type { ConsoleSession } from '../middleware/console-session.ts';

/** Services that the route handlers use. */
export type RouteServices = {
  rooms: RoomService;
  cluster: ClusterControl;
  webhooks: WebhookAdmin;
  /** HLS and recordings. */
  content: ContentService & RecordingList;
  renders: RenderControl;
  viewerTokens: Pick<ViewerTokens, 'sign' | 'verify'>;
  /** The public address for clients: `host[:port][/path]`. */
  host: () => string;
  health: () => Promise<HealthView>;
  ready: () => boolean;
  consoleSession: () => ConsoleSession;
  /** JSON documents and the page, generated from the routes and messages. */
  documents: {
    openapi: () => string;
    asyncapi: () => string | undefined;
    events: () => string;
    page: () => { html: string; policy: string };
  };
};

/**
 * `json` and `text` are complete bodies, `bytes` and `stream` have the content type in their headers; without any of them the response has
 * no body.
 */
export type Answer = {
  status: number;
  json?: unknown;
  text?: string;
  bytes?: Buffer;
  stream?: Readable;
  type?: string;
  headers?: Record<string, string>;
};

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** Path parameters by name: a path may only use these. */
export const pathParameters = {
  roomId: idSchema.meta({ description: 'Id of the room.' }),
  peerId: idSchema.meta({ description: 'Id of the peer.' }),
  componentId: idSchema.meta({ description: 'Id of the component.' }),
  callId: idSchema.meta({ description: 'Id of the phone call.' }),
  trackId: idSchema.meta({ description: 'Id of the track.' }),
  recordingId: recordingIdSchema.meta({ description: 'Id of the recording.' }),
  file: fileNameSchema.meta({ description: 'Name of the file.' }),
  nodeName: z
    .string()
    .regex(/^[\w.@:-]{1,512}$/, 'may contain only characters of node names')
    .meta({ description: 'Name of the node: `<nodename>@<host>`.' }),
} as const;
export type PathParameter = keyof typeof pathParameters;
type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

export type RouteRequest<Names extends string = string, Body = unknown, Query = unknown> = {
  params: Record<Names, string>;
  body: Body;
  query: Query;
  /** Header `sec-fetch-site` (Fetch Metadata): relation of the requesting page, set by browsers. */
  fetchSite: string | undefined;
  /** True if the request was sent to a loopback name or address without a proxy. */
  local: () => boolean;
  /** The viewer token of the request and its expiry (milliseconds since 1970), if it has one. */
  viewer: { token: string; expiresAt: number } | undefined;
  /** Scope of the token. */
  scope: Principal['scope'];
  /** True if another node proxies the request. */
  forwarded: boolean;
  acceptsGzip: boolean;
  /** Options of content requests other than the names. */
  transfer: () => Omit<ContentRequest, 'kind' | 'folder' | 'file' | 'playlist'>;
};

export type RouteResponse = { description: string; schema?: z.ZodType; type?: string };

type Definition<Path extends string, Body extends z.ZodType, Query extends z.ZodType> = {
  method: Method;
  /** Path in OpenAPI syntax: `/room/{roomId}`. */
  path: Path;
  operationId: string;
  tag: string;
  summary: string;
  /** Details that do not fit into the summary. */
  description?: string;
  /** `token`: any API token for GET, a token of scope `admin` for other methods. */
  auth: 'none' | 'token';
  /** The room whose viewers may also use the route, with a token in the query. */
  viewersOf?: (params: Record<NamesIn<Path>, string>) => string | undefined;
  /** Other nodes may use the route without an API token, because they have authenticated their client. */
  forNodes?: boolean;
  query?: Query;
  /** `documented`: schema for the document, if the actual validation happens after the route. */
  body?: {
    schema: Body;
    documented?: z.ZodType;
    required: boolean;
    refuse?: (body: unknown, field: string | undefined) => string | undefined;
  };
  answers: Record<number, RouteResponse>;
  /** In addition to errors that follow from authentication, parameters and body. */
  errors: readonly ErrorCode[];
  /** Omitted from the OpenAPI document. */
  hidden?: boolean;
  handle: (request: RouteRequest<NamesIn<Path>, z.output<Body>, z.output<Query>>, routeServices: RouteServices) => Answer | Promise<Answer>;
};
export type Route = Omit<Definition<string, z.ZodType, z.ZodType>, 'handle' | 'viewersOf'> & {
  viewersOf?: (params: Record<string, string>) => string | undefined;
  handle: (request: RouteRequest, routeServices: RouteServices) => Answer | Promise<Answer>;
};

/** Infers types of a route from its path and schemas. The pipeline passes only validated values to `handle`. */
export function route<const Path extends string, Body extends z.ZodType = z.ZodUnknown, Query extends z.ZodType = z.ZodUnknown>(
  definition: NamesIn<Path> extends PathParameter ? Definition<Path, Body, Query> : never,
): Route {
  return definition as unknown as Route;
}

export function parameterNames(path: string): PathParameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as PathParameter);
}

/** `{data: ...}`, the envelope of successful responses. */
export function dataSchema<Data extends z.ZodType>(data: Data) {
  return z.object({ data });
}
