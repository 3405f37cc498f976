// The server notification socket's messages: they validate, give the types and make AsyncAPI.
import { z } from 'zod';
import { eventTypeSchema, roomEventSchema } from '../rooms/shapes/events.ts';

const events = z
  .union([z.literal('all'), z.array(eventTypeSchema).max(100)], { error: "to be 'all' or a list of kinds of events" })
  .meta({ description: 'Kinds of events, or all of them.' });
const rooms = z.array(z.string().max(128)).max(1000).meta({ description: 'Ids of rooms; those of all rooms where left out.' });

const cursor = z.record(z.string().max(600), z.int().min(0)).meta({ description: 'By source: the index of the last event that was seen.' });
/** Sources that a cursor may name. */
export const maxCursorSources = 1_000;

/** Data of each request by its method. The envelope is that of the peer websocket. */
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
            'Where to take up: what followed comes first, then what happens. A source that it does not name counts from its first event. Without it events come from now on.',
        }),
    })
    .meta({ description: 'Takes the place of an earlier subscription.' }),
  unsubscribe: z.strictObject({}),
  ping: z.strictObject({}),
} as const;
export type ServerMethod = keyof typeof serverRequestSchemas;
export type ServerRequestData<M extends ServerMethod> = z.output<(typeof serverRequestSchemas)[M]>;

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
      description: 'Where the frames that follow take up. Set your cursor to it, and then, with every frame, cursor[source] to its index.',
    }),
    incomplete: z.array(z.string()).meta({
      description: 'Sources whose events after the given cursor are gone, in part or all: look at the rooms themselves.',
    }),
  }),
  unsubscribe: empty,
  ping: z.object({
    cursor: cursor.optional().meta({
      description: 'While subscribed: everything wanted up to here has been sent, those events included that were not asked for.',
    }),
  }),
} as const satisfies Record<ServerMethod, z.ZodType>;
export type ServerResponseData<M extends ServerMethod> = z.output<(typeof serverResponseSchemas)[M]>;

/** What comes after subscribe. */
export const serverEventSchema = z
  .object({
    event: z.literal('roomEvent'),
    source: z.string().meta({ description: 'Which start of which node tells it: `<node>#<boot id>`.' }),
    index: z.int().min(0).meta({
      description:
        'Its place among the events of the source; of a room that was lost with its node: the last that was heard of the source.',
    }),
    data: roomEventSchema,
  })
  .meta({ id: 'event_roomEvent' });
export type ServerEvent = z.infer<typeof serverEventSchema>;
