// Events of rooms, as sockets and webhooks give them: one schema, one list of kinds.
import { z } from 'zod';
import { eventCallSchema } from '../phone-calls.ts';
import type { eventFields } from './event-fields.ts';
import { metadataSchema, trackViewSchema } from './views.ts';

/** Every kind of event and when it happens; docs/reference/events.md is generated from it. */
export const eventDescriptions = {
  RoomCreated: 'A room was made.',
  RoomDeleted: 'A room ended (deleted, purged, or its node ended); the last of its events but those of uploads. `reason` says why.',
  RoomCrashed: 'A room ended by a fault, e.g. its media worker died; the last of its events.',
  PeerAdded: 'A peer was made.',
  PeerConnected: 'Its connection was authenticated.',
  PeerDisconnected:
    'The connection is over for good: left, lost beyond the resume window, removed, crashed, or its room or node ended. Once for every disconnect; of a lost node before `RoomCrashed`, without `seq`.',
  PeerDeleted: 'The peer was removed: by REST, by timeout, or with its room.',
  PeerCrashed: 'The peer was removed because of a fault of its session.',
  PeerMetadataUpdated: 'The peer has other metadata.',
  TrackAdded: "A track was published; after its peer's `PeerConnected`.",
  TrackRemoved: "A track ended; before its peer's `PeerDisconnected`.",
  TrackMetadataUpdated: 'A track has other metadata.',
  ComponentAdded: 'A component was added; before its `TrackAdded`.',
  ComponentRemoved: 'A component came to its end (`reason` `finished`), was removed, or ended with its room; after its `TrackRemoved`.',
  ComponentCrashed: 'A component was removed because of a fault; `reason` says which.',
  ComponentTrackDropped:
    'A component goes on without a track of the room: it broke it, or is more than it can carry. `track` says which, `reason` why.',
  HlsPlayable: 'The stream of an `hls` component can be played.',
  HlsUploaded: 'A persistent stream is in S3, all of it. `recordingId` names it. Comes without `seq`, also after `RoomDeleted`.',
  HlsUploadCrashed:
    'The storage refuses a persistent stream, or could not be reached for 24 hours after its end. It stays on its node; `reason` says why. A refusal is told at once, also while it is made; after a repair within those 24 hours `HlsUploaded` follows. Else as `HlsUploaded`.',
  RecordingUploaded: 'A recording is in S3, all of it. `recordingId` names it. Comes without `seq`, also after `RoomDeleted`.',
  RecordingUploadCrashed:
    'The storage refuses a recording, or could not be reached for 24 hours after its end. It stays on its node; `reason` says why. A refusal is told at once, also while it is made; after a repair within those 24 hours `RecordingUploaded` follows. Else as `RecordingUploaded`.',
  SipCallRinging: 'The far side of a phone call that a `sip` component makes rings. `call` says which.',
  SipCallStarted: 'A phone call was answered: by the far side, or by the component where it was called. `call` says which.',
  SipCallEnded: 'A phone call is over, answered or not. `reason` says why, `call` with which answer of SIP.',
  SipDigitReceived: 'A key was pressed at the far side of a phone call: `digit`.',
} as const;
export type EventType = keyof typeof eventDescriptions;
export const eventTypes = Object.keys(eventDescriptions) as EventType[];
export const eventTypeSchema = z.enum(eventTypes).meta({
  id: 'EventType',
  description: Object.entries(eventDescriptions)
    .map(([kind, when]) => `${kind}: ${when}`)
    .join('\n'),
});

export const roomEventSchema = z
  .object({
    id: z.string().meta({ description: 'Unique for the event; the same wherever and however often it is delivered.' }),
    type: eventTypeSchema,
    time: z.iso.datetime(),
    seq: z.number().int().positive().optional().meta({
      description:
        'Counts the events of one incarnation of a room, without holes. Missing where another node tells of a room that was lost with its node, and in events of uploads, which outlive the room.',
    }),
    node: z.string(),
    incarnation: z.string(),
    roomId: z.string(),
    peerId: z.string().optional(),
    componentId: z.string().optional(),
    recordingId: z.string().optional().meta({ description: 'Id of the recording or persistent stream that was uploaded.' }),
    track: trackViewSchema.optional(),
    call: eventCallSchema.optional(),
    digit: z.string().optional().meta({ description: 'One of 0-9, A-D, * and #.' }),
    metadata: metadataSchema.nullable().optional(),
    reason: z.string().optional().meta({
      description:
        '`node_lost`: the room was lost with its node; such an event has the id `<incarnation>-lost`, whichever node tells it, and the `PeerDisconnected` before it `<incarnation>-lost-<peerId>`.',
    }),
  })
  .meta({ id: 'RoomEvent', description: 'Something that happened in a room.' });
export type RoomEvent = z.infer<typeof roomEventSchema>;

/** Whether another node tells it of a room that was lost with its node. */
export function isOfLostRoom({ id, incarnation }: Pick<RoomEvent, 'id' | 'incarnation'>): boolean {
  return id.startsWith(`${incarnation}-lost`);
}

type EventField<Type extends EventType> = (typeof eventFields)[Type][number];
type DetailOf<Type extends EventType> = { type: Type } & Required<Pick<RoomEvent, Exclude<EventField<Type>, 'origin'>>> &
  ('origin' extends EventField<Type> ? { peerId: string } | { componentId: string } : unknown);
/** What the room adds to an event itself is left to the room: id, time, seq, node, incarnation, roomId. */
export type RoomEventDetail = { [Type in EventType]: DetailOf<Type> }[EventType];
export type RoomEventListener = (event: RoomEvent) => void;
