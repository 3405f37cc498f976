// What one route of the REST API is: the table of these makes the routing and the OpenAPI document, so that they cannot differ.
import type { Readable } from 'node:stream';
import { z } from 'zod';
import type { ErrorCode } from '../../common/errors.ts';
import type { RoomService } from '../../rooms/room-service.ts';
import type { ClusterControl } from '../../rooms/shapes/cluster-control.ts';
import { type ContentRequest, type ContentService, fileNameSchema, recordingIdSchema } from '../../rooms/shapes/content.ts';
import type { RecordingList } from '../../rooms/shapes/recordings.ts';
import type { RenderControl } from '../../rooms/shapes/renders.ts';
import { idSchema } from '../../rooms/shapes/views.ts';
import type { WebhookAdmin } from '../../rooms/shapes/webhook-admin.ts';
import type { ViewerTokens } from '../../rooms/tokens/viewer-tokens.ts';
import type { HealthView } from '../health-view.ts';
import type { Principal } from '../middleware/auth.ts';
import type { ConsoleSession } from '../middleware/console-session.ts';

/** What the handlers of routes call. */
export type RouteServices = {
  rooms: RoomService;
  cluster: ClusterControl;
  webhooks: WebhookAdmin;
  /** HLS and recordings. */
  content: ContentService & RecordingList;
  renders: RenderControl;
  viewerTokens: Pick<ViewerTokens, 'sign' | 'verify'>;
  /** The address that clients are given: `host[:port][/path]`. */
  host: () => string;
  health: () => Promise<HealthView>;
  ready: () => boolean;
  consoleSession: () => ConsoleSession;
  /** JSON texts and the page that are made from the routes and the messages. */
  documents: {
    openapi: () => string;
    asyncapi: () => string | undefined;
    events: () => string;
    page: () => { html: string; policy: string };
  };
};

/** `json` and `text` are whole bodies, `bytes` and `stream` those whose headers say what they are; without all of them the answer has none. */
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
  /** Header `sec-fetch-site` (Fetch Metadata): who asks, as a browser tells it. */
  fetchSite: string | undefined;
  /** Whether it was asked under a loopback name or address, and no proxy says that it forwards. */
  local: () => boolean;
  /** Who asks with a viewer's token: it, and when it expires (milliseconds since 1970). */
  viewer: { token: string; expiresAt: number } | undefined;
  /** What who asks may do. */
  scope: Principal['scope'];
  /** Whether another node asks. */
  forwarded: boolean;
  acceptsGzip: boolean;
  /** What requests for files say beside their names. */
  transfer: () => Omit<ContentRequest, 'kind' | 'folder' | 'file' | 'playlist'>;
};

export type RouteResponse = { description: string; schema?: z.ZodType; type?: string };

type Definition<Path extends string, Body extends z.ZodType, Query extends z.ZodType> = {
  method: Method;
  /** Path as OpenAPI writes it: `/room/{roomId}`. */
  path: Path;
  operationId: string;
  tag: string;
  summary: string;
  /** What a sentence is too short for. */
  description?: string;
  /** `token`: any API token for GET, one of scope `admin` for everything else. */
  auth: 'none' | 'token';
  /** The room whose viewers may ask too, with a token in the query. */
  viewersOf?: (params: Record<NamesIn<Path>, string>) => string | undefined;
  /** Other nodes may ask without an API token: they have looked at that of their client. */
  forNodes?: boolean;
  query?: Query;
  /** `documented`: what the document says of it, where others look more closely than the route does. */
  body?: {
    schema: Body;
    documented?: z.ZodType;
    required: boolean;
    refuse?: (body: unknown, field: string | undefined) => string | undefined;
  };
  answers: Record<number, RouteResponse>;
  /** Beyond those that follow from authentication, parameters and body. */
  errors: readonly ErrorCode[];
  /** Left out of the OpenAPI document. */
  hidden?: boolean;
  handle: (request: RouteRequest<NamesIn<Path>, z.output<Body>, z.output<Query>>, routeServices: RouteServices) => Answer | Promise<Answer>;
};
export type Route = Omit<Definition<string, z.ZodType, z.ZodType>, 'handle' | 'viewersOf'> & {
  viewersOf?: (params: Record<string, string>) => string | undefined;
  handle: (request: RouteRequest, routeServices: RouteServices) => Answer | Promise<Answer>;
};

/** Types a route by its path and schemas; the pipeline hands `handle` only what those have let through. */
export function route<const Path extends string, Body extends z.ZodType = z.ZodUnknown, Query extends z.ZodType = z.ZodUnknown>(
  definition: NamesIn<Path> extends PathParameter ? Definition<Path, Body, Query> : never,
): Route {
  return definition as unknown as Route;
}

export function parameterNames(path: string): PathParameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as PathParameter);
}

/** `{data: ...}`, the envelope of what succeeded. */
export function dataSchema<Data extends z.ZodType>(data: Data) {
  return z.object({ data });
}
