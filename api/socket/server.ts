// Messages of the server websocket, for validation, types and AsyncAPI.
import { z } from 'zod';
import { eventTypeSchema, roomEventSchema } from '../events.ts';

/** Path of the server websocket, appended to the address of a node. */
export const serverSocketPath = '/socket/server/websocket';

const events = z
  .union([z.literal('all'), z.array(eventTypeSchema).max(100)], { error: "to be 'all' or a list of event types" })
  .meta({ description: 'Event types, or all of them.' });
const rooms = z.array(z.string().max(128)).max(1000).meta({ description: 'Ids of rooms; default: all rooms.' });

const cursor = z.record(z.string().max(600), z.int().min(0)).meta({ description: 'By source: the index of the last received event.' });
/** Maximum number of sources in a cursor. */
const maxCursorSources = 1_000;

/** Request data by method. The envelope is the same as on the peer websocket. */
export const serverRequestSchemas = {
  authenticate: z.strictObject({ token: z.string().max(4096).meta({ description: 'An API token; scope read is enough.' }) }),
  subscribe: z
    .strictObject({
      events,
      rooms: rooms.optional(),
      cursor: cursor
        .refine((value) => Object.keys(value).length <= maxCursorSources, `to name at most ${maxCursorSources} sources`)
        .optional()
        .meta({
          description:
            'Start position: missed events are sent first, then live ones. A source that is not listed starts at its first event. Without a cursor only live events are sent.',
        }),
    })
    .meta({ description: 'Replaces an earlier subscription.' }),
  unsubscribe: z.strictObject({}),
  ping: z.strictObject({}),
} as const;
export type ServerMethod = keyof typeof serverRequestSchemas;

const empty = z.strictObject({});
export const serverResponseSchemas = {
  authenticate: z.object({
    name: z.string().meta({ description: 'Name of the token.' }),
    scope: z.enum(['admin', 'read']),
    svcAddress: z.string(),
  }),
  subscribe: z.object({
    events: z.array(eventTypeSchema),
    rooms: rooms.nullable(),
    cursor: cursor.meta({
      description: 'Start position of the following frames. Set your cursor to it, and after every frame set cursor[source] to its index.',
    }),
    incomplete: z.array(z.string()).meta({
      description: 'Sources whose events after the given cursor were lost in part or completely: query the rooms instead.',
    }),
  }),
  unsubscribe: empty,
  ping: z.object({
    cursor: cursor.optional().meta({
      description: 'While subscribed: position up to which all requested events were sent, including events that were filtered out.',
    }),
  }),
} as const satisfies Record<ServerMethod, z.ZodType>;
export type ServerResponseData<M extends ServerMethod> = z.output<(typeof serverResponseSchemas)[M]>;

/** Messages after subscribe. */
export const serverEventSchema = z
  .object({
    event: z.literal('roomEvent'),
    source: z.string().meta({ description: 'The node and start that emitted the event: `<node>#<boot id>`.' }),
    index: z.int().min(0).meta({
      description: 'Index of the event in its source; for a room lost with its node: the last index received from the source.',
    }),
    data: roomEventSchema,
  })
  .meta({ id: 'event_roomEvent' });
export type ServerEvent = z.infer<typeof serverEventSchema>;
