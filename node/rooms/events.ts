// Events of rooms, as sockets and webhooks give them: one schema, one list of kinds.
import { z } from 'zod';
import { metadataSchema, trackViewSchema } from './views.ts';

/** Every kind of event. The order here is that of README's table. */
export const eventTypes = [
  'RoomCreated',
  'RoomDeleted',
  'RoomCrashed',
  'PeerAdded',
  'PeerConnected',
  'PeerDisconnected',
  'PeerDeleted',
  'PeerCrashed',
  'PeerMetadataUpdated',
  'TrackAdded',
  'TrackRemoved',
  'TrackMetadataUpdated',
] as const;
export const eventTypeSchema = z.enum(eventTypes).meta({ id: 'EventType' });
export type EventType = z.infer<typeof eventTypeSchema>;

export const roomEventSchema = z
  .object({
    id: z.string().meta({ description: 'Unique for the event; the same wherever and however often it is delivered.' }),
    type: eventTypeSchema,
    time: z.iso.datetime(),
    seq: z.number().int().positive().optional().meta({
      description:
        'Counts the events of one incarnation of a room, without holes. Missing where another node tells of a room that was lost with its node.',
    }),
    node: z.string(),
    incarnation: z.string(),
    roomId: z.string(),
    peerId: z.string().optional(),
    componentId: z.string().optional(),
    track: trackViewSchema.optional(),
    metadata: metadataSchema.nullable().optional(),
    reason: z.string().optional().meta({
      description: '`node_lost`: the room was lost with its node; such an event has the id `<incarnation>-lost`, whichever node tells it.',
    }),
  })
  .meta({ id: 'RoomEvent', description: 'Something that happened in a room.' });
export type RoomEvent = z.infer<typeof roomEventSchema>;

/** What the room adds to an event itself is left to the room: id, time, seq, node, incarnation, roomId. */
export type RoomEventDetail = Pick<RoomEvent, 'type' | 'peerId' | 'componentId' | 'track' | 'metadata' | 'reason'>;
export type RoomEventListener = (event: RoomEvent) => void;
