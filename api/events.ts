// Room events as sockets and webhooks deliver them: every event type once. Schema, types, SDK and documents are derived from it.
import { z } from 'zod';
import { eventCallSchema } from './call.ts';
import { metadataSchema } from './json.ts';
import { attributesSchema } from './peer.ts';
import { trackViewSchema } from './track.ts';

/** Longer ones are not reported. */
export const maxTranscriptText = 16 * 1024;

export const transcriptSchema = z
  .object({
    id: z.string().max(256).meta({ description: 'Id of the segment, chosen by the agent.' }),
    text: z.string().max(maxTranscriptText),
    speakerId: z.string().meta({ description: 'Id of the peer that spoke.' }),
    trackId: z.string().optional().meta({ description: 'Id of the track with the speech, if the agent names one of another peer.' }),
    language: z.string().max(64).optional(),
  })
  .meta({ id: 'Transcript', description: 'A part of speech as text.' });
export type Transcript = z.infer<typeof transcriptSchema>;

/** Fields that only some event types have. */
const detailSchemas = {
  peerId: z.string(),
  componentId: z.string(),
  recordingId: z.string().meta({ description: 'Id of the recording or persistent stream that was uploaded.' }),
  track: trackViewSchema,
  call: eventCallSchema,
  digit: z.string().meta({ description: 'One of 0-9, A-D, * and #.' }),
  metadata: metadataSchema.nullable(),
  attributes: attributesSchema,
  transcript: transcriptSchema,
  reason: z.string().meta({
    description:
      '`node_lost`: the room was lost with its node. The event has the id `<incarnation>-lost` on every node, and the `PeerDisconnected` events before it `<incarnation>-lost-<peerId>`.',
  }),
};
type DetailName = keyof typeof detailSchemas;
/** `origin`: `peerId` or `componentId`. */
type EventField = DetailName | 'origin';
/** `unless lost`: missing if another node reports a room that was lost with its node. `never`: the event may outlive its room. */
type EventSeq = 'always' | 'never' | 'unless lost';
type EventDefinition<Field extends EventField = EventField> = { when: string; fields: readonly Field[]; seq: EventSeq };

/** `fields`: present in addition to the common ones; other fields never are. The compiler enforces it for all emitters. */
const event = <const Field extends EventField = never>(
  when: string,
  fields: readonly Field[] = [],
  seq: EventSeq = 'always',
): EventDefinition<Field> => ({ when, fields, seq });

/** Every event type; docs/reference/events.md and the types of the SDK are generated from it. */
export const events = {
  RoomCreated: event('A room was created.'),
  RoomDeleted: event(
    'A room ended (deleted, purged, or its node shut down); its last event except those of uploads. `reason` gives the cause.',
    ['reason'],
  ),
  RoomCrashed: event('A room ended because of a failure, for example of its media worker; its last event.', ['reason'], 'unless lost'),
  RoomMetadataUpdated: event('The metadata of the room changed.', ['metadata']),
  PeerAdded: event('A peer was created.', ['peerId', 'metadata']),
  PeerWaiting: event(
    'The peer connected and was authenticated, and waits until it is admitted (`admission` of the room). Other peers do not see it.',
    ['peerId', 'metadata'],
  ),
  PeerWaitingEnded: event(
    'The peer does not wait any more; exactly one follows each `PeerWaiting`, unless the node is lost. `reason` is `admitted` (`PeerConnected` follows), `disconnected` (it left, or its resume window expired), or the reason of its removal, for example `denied` (`PeerDeleted` follows).',
    ['peerId', 'reason'],
  ),
  PeerConnected: event('The peer connected, was authenticated and joined the room.', ['peerId']),
  PeerDisconnected: event(
    'The peer disconnected permanently: it left, its resume window expired, it was removed or crashed, or its room or node ended. Exactly one per disconnect; for a lost node emitted before `RoomCrashed`, without `seq`.',
    ['peerId'],
    'unless lost',
  ),
  PeerDeleted: event('The peer was removed: by REST, by timeout, or with its room.', ['peerId', 'reason']),
  PeerCrashed: event('The peer was removed because its session failed.', ['peerId', 'reason']),
  PeerMetadataUpdated: event('The metadata of the peer changed.', ['peerId', 'metadata']),
  PeerAttributesUpdated: event('The attributes of the peer changed. `attributes` are all of them.', ['peerId', 'attributes']),
  TrackAdded: event("A track was published; after its peer's `PeerConnected`.", ['origin', 'track']),
  TrackRemoved: event("A track ended; before its peer's `PeerDisconnected`.", ['origin', 'track']),
  TrackMetadataUpdated: event('The metadata of a track changed.', ['peerId', 'track', 'metadata']),
  TranscriptAdded: event("An agent transcribed speech (LiveKit's transcriptions): a segment that is final. `peerId` is the agent.", [
    'peerId',
    'transcript',
  ]),
  ComponentAdded: event('A component was added; before its `TrackAdded`.', ['componentId']),
  ComponentRemoved: event('A component finished (`reason` `finished`), was removed, or ended with its room; after its `TrackRemoved`.', [
    'componentId',
    'reason',
  ]),
  ComponentCrashed: event('A component was removed because it failed; `reason` gives the cause.', ['componentId', 'reason']),
  ComponentTrackDropped: event(
    'A component continues without a track of the room, because it cannot process the track, the track is end-to-end encrypted, or the component is out of capacity. `track` is the track, `reason` the cause.',
    ['componentId', 'track', 'reason'],
  ),
  HlsPlayable: event('The stream of an `hls` component can be played.', ['componentId']),
  HlsUploaded: event(
    'A persistent stream was uploaded to S3 completely. `recordingId` is its id. Has no `seq` and may follow `RoomDeleted`.',
    ['componentId', 'recordingId'],
    'never',
  ),
  HlsUploadCrashed: event(
    'The storage rejected a persistent stream, or was unreachable for 24 hours after the end of the stream. The files stay on their node; `reason` gives the cause. A rejection is reported at once, also while the stream runs; if the problem is fixed within those 24 hours, `HlsUploaded` follows. Otherwise like `HlsUploaded`.',
    ['componentId', 'recordingId', 'reason'],
    'never',
  ),
  RecordingUploaded: event(
    'A recording was uploaded to S3 completely. `recordingId` is its id. Has no `seq` and may follow `RoomDeleted`.',
    ['componentId', 'recordingId'],
    'never',
  ),
  RecordingUploadCrashed: event(
    'The storage rejected a recording, or was unreachable for 24 hours after the end of the recording. The files stay on their node; `reason` gives the cause. A rejection is reported at once, also while recording; if the problem is fixed within those 24 hours, `RecordingUploaded` follows. Otherwise like `RecordingUploaded`.',
    ['componentId', 'recordingId', 'reason'],
    'never',
  ),
  SipCallRinging: event('The remote party of an outgoing call is ringing. `call` describes the call.', ['componentId', 'call']),
  SipCallStarted: event('A call was answered by the remote party, or by the component if incoming. `call` describes the call.', [
    'componentId',
    'call',
  ]),
  SipCallEnded: event('A call ended, answered or not. `reason` gives the cause, `call` the SIP status.', ['componentId', 'call', 'reason']),
  SipDigitReceived: event('The remote party pressed a key (DTMF): `digit`.', ['componentId', 'call', 'digit']),
};
export type EventType = keyof typeof events;
export const eventTypes = Object.keys(events) as EventType[];
export const eventTypeSchema = z.enum(eventTypes).meta({
  id: 'EventType',
  description: Object.entries(events)
    .map(([type, { when }]) => `${type}: ${when}`)
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
    ...z.object(detailSchemas).partial().shape,
  })
  .meta({ id: 'RoomEvent', description: 'Something that happened in a room.' });
export type RoomEvent = z.infer<typeof roomEventSchema>;

/** True if another node emitted the event because the room was lost with its node. */
export function isOfLostRoom({ id, incarnation }: Pick<RoomEvent, 'id' | 'incarnation'>): boolean {
  return id.startsWith(`${incarnation}-lost`);
}

type FieldOf<Type extends EventType> = (typeof events)[Type]['fields'][number];
type DetailOf<Type extends EventType> = { type: Type } & Pick<Required<RoomEvent>, FieldOf<Type> & DetailName> &
  ('origin' extends FieldOf<Type> ? { peerId: string } | { componentId: string } : unknown);
/** An event without the fields that the room adds: id, time, seq, node, incarnation, roomId. */
export type RoomEventDetail = { [Type in EventType]: DetailOf<Type> }[EventType];
export type RoomEventListener = (event: RoomEvent) => void;
