// Room events as sockets and webhooks deliver them: one schema and one list of types.
import { z } from 'zod';
import { eventCallSchema } from './call.ts';
import type { eventFields } from './event-fields.ts';
import { metadataSchema } from './json.ts';
import { trackViewSchema } from './track.ts';

/** Every event type and when it occurs; docs/reference/events.md is generated from it. */
export const eventDescriptions = {
  RoomCreated: 'A room was created.',
  RoomDeleted: 'A room ended (deleted, purged, or its node shut down); its last event except those of uploads. `reason` gives the cause.',
  RoomCrashed: 'A room ended because of a failure, for example of its media worker; its last event.',
  PeerAdded: 'A peer was created.',
  PeerConnected: 'The peer connected and was authenticated.',
  PeerDisconnected:
    'The peer disconnected permanently: it left, its resume window expired, it was removed or crashed, or its room or node ended. Exactly one per disconnect; for a lost node emitted before `RoomCrashed`, without `seq`.',
  PeerDeleted: 'The peer was removed: by REST, by timeout, or with its room.',
  PeerCrashed: 'The peer was removed because its session failed.',
  PeerMetadataUpdated: 'The metadata of the peer changed.',
  TrackAdded: "A track was published; after its peer's `PeerConnected`.",
  TrackRemoved: "A track ended; before its peer's `PeerDisconnected`.",
  TrackMetadataUpdated: 'The metadata of a track changed.',
  ComponentAdded: 'A component was added; before its `TrackAdded`.',
  ComponentRemoved: 'A component finished (`reason` `finished`), was removed, or ended with its room; after its `TrackRemoved`.',
  ComponentCrashed: 'A component was removed because it failed; `reason` gives the cause.',
  ComponentTrackDropped:
    'A component continues without a track of the room, because it cannot process the track or is out of capacity. `track` is the track, `reason` the cause.',
  HlsPlayable: 'The stream of an `hls` component can be played.',
  HlsUploaded: 'A persistent stream was uploaded to S3 completely. `recordingId` is its id. Has no `seq` and may follow `RoomDeleted`.',
  HlsUploadCrashed:
    'The storage rejected a persistent stream, or was unreachable for 24 hours after the end of the stream. The files stay on their node; `reason` gives the cause. A rejection is reported at once, also while the stream runs; if the problem is fixed within those 24 hours, `HlsUploaded` follows. Otherwise like `HlsUploaded`.',
  RecordingUploaded: 'A recording was uploaded to S3 completely. `recordingId` is its id. Has no `seq` and may follow `RoomDeleted`.',
  RecordingUploadCrashed:
    'The storage rejected a recording, or was unreachable for 24 hours after the end of the recording. The files stay on their node; `reason` gives the cause. A rejection is reported at once, also while recording; if the problem is fixed within those 24 hours, `RecordingUploaded` follows. Otherwise like `RecordingUploaded`.',
  SipCallRinging: 'The remote party of an outgoing call is ringing. `call` describes the call.',
  SipCallStarted: 'A call was answered by the remote party, or by the component if incoming. `call` describes the call.',
  SipCallEnded: 'A call ended, answered or not. `reason` gives the cause, `call` the SIP status.',
  SipDigitReceived: 'The remote party pressed a key (DTMF): `digit`.',
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
    id: z.string().meta({ description: 'Unique id of the event, the same in every delivery.' }),
    type: eventTypeSchema,
    time: z.iso.datetime(),
    seq: z.number().int().positive().optional().meta({
      description:
        'Numbers the events of one room incarnation without gaps. Missing if another node reports a room that was lost with its node, and in upload events, which outlive the room.',
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
        '`node_lost`: the room was lost with its node. The event has the id `<incarnation>-lost` on every node, and the `PeerDisconnected` events before it `<incarnation>-lost-<peerId>`.',
    }),
  })
  .meta({ id: 'RoomEvent', description: 'Something that happened in a room.' });
export type RoomEvent = z.infer<typeof roomEventSchema>;

/** True if another node emitted the event because the room was lost with its node. */
export function isOfLostRoom({ id, incarnation }: Pick<RoomEvent, 'id' | 'incarnation'>): boolean {
  return id.startsWith(`${incarnation}-lost`);
}

type EventField<Type extends EventType> = (typeof eventFields)[Type][number];
type DetailOf<Type extends EventType> = { type: Type } & Required<Pick<RoomEvent, Exclude<EventField<Type>, 'origin'>>> &
  ('origin' extends EventField<Type> ? { peerId: string } | { componentId: string } : unknown);
/** An event without the fields that the room adds: id, time, seq, node, incarnation, roomId. */
export type RoomEventDetail = { [Type in EventType]: DetailOf<Type> }[EventType];
export type RoomEventListener = (event: RoomEvent) => void;
