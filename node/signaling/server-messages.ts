// The server notification socket's messages: they validate, give the types and make AsyncAPI.
import { z } from 'zod';
import { eventTypeSchema, roomEventSchema } from '../rooms/events.ts';

const events = z
  .union([z.literal('all'), z.array(eventTypeSchema).max(100)], { error: "to be 'all' or a list of kinds of events" })
  .meta({ description: 'Kinds of events, or all of them.' });
const rooms = z.array(z.string().max(128)).max(1000).meta({ description: 'Ids of rooms; those of all rooms where left out.' });

/** Data of each request by its method. The envelope is that of the peer websocket. */
export const serverRequestSchemas = {
  authenticate: z.strictObject({ token: z.string().max(4096).meta({ description: 'An API token; scope read is enough.' }) }),
  subscribe: z.strictObject({ events, rooms: rooms.optional() }).meta({ description: 'Takes the place of an earlier subscription.' }),
  unsubscribe: z.strictObject({}),
  ping: z.strictObject({}),
} as const;
export type ServerMethod = keyof typeof serverRequestSchemas;
export type ServerRequestData<M extends ServerMethod> = z.output<(typeof serverRequestSchemas)[M]>;

const empty = z.strictObject({});
export const serverAnswerSchemas = {
  authenticate: z.object({
    name: z.string().meta({ description: 'Name of the token.' }),
    scope: z.enum(['admin', 'read']),
    svcAddress: z.string(),
  }),
  subscribe: z.object({ events: z.array(eventTypeSchema), rooms: rooms.nullable() }),
  unsubscribe: empty,
  ping: empty,
} as const satisfies Record<ServerMethod, z.ZodType>;
export type ServerAnswerData<M extends ServerMethod> = z.output<(typeof serverAnswerSchemas)[M]>;

/** What comes after subscribe, live. */
export const serverEventSchema = z.object({ event: z.literal('roomEvent'), data: roomEventSchema }).meta({ id: 'event_roomEvent' });
export type ServerEvent = z.infer<typeof serverEventSchema>;
