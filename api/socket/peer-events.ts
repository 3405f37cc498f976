// Peer events: messages of the server to a peer. One zod union is the source of the wire format, the types and AsyncAPI.
import { z } from 'zod';
import { componentTypeSchema } from '../component/types.ts';
import { transcriptSchema } from '../events.ts';
import { jsonSchema, metadataSchema } from '../json.ts';
import { mediaObjects } from '../media-objects.ts';
import { attributesSchema, permissionsSchema } from '../peer.ts';
import { kindSchema, trackViewSchema } from '../track.ts';

/** A peer as other peers see it. */
export const remotePeerSchema = z
  .object({
    id: z.string(),
    metadata: metadataSchema.nullable(),
    attributes: attributesSchema.optional().meta({ description: 'Omitted if the peer has none, and by nodes before 0.8.' }),
    tracks: z.array(trackViewSchema),
  })
  .meta({ id: 'RemotePeer' });
export type RemotePeer = z.infer<typeof remotePeerSchema>;

const componentStateSchema = z.enum(['starting', 'running']).meta({ id: 'ComponentState' });
/** A component as peers see it, without its options: they contain file names, phone numbers and storage targets. */
export const remoteComponentSchema = z
  .object({ id: z.string(), type: componentTypeSchema, state: componentStateSchema, tracks: z.array(trackViewSchema) })
  .meta({ id: 'RemoteComponent', description: 'A component as peers see it; the metadata of its tracks is `{source: <type>}`.' });
export type RemoteComponent = z.infer<typeof remoteComponentSchema>;

/** Exactly one of the two is the publisher of a track. */
const origin = { peerId: z.string().optional(), componentId: z.string().optional() };
const track = { trackId: z.string() };
/** A track that the server will send, after trackReady or tracksReady. */
const subscribedTrackSchema = z
  .object({
    ...origin,
    ...track,
    transportId: z.string(),
    kind: kindSchema,
    rtpParameters: mediaObjects.rtpParameters,
    paused: z.boolean(),
    replaces: z
      .literal(true)
      .optional()
      .meta({ description: 'The publisher moves: the track is received already, and continues until this peer requests `tracksFlowing`.' }),
  })
  .meta({ id: 'SubscribedTrack' });
export type SubscribedTrack = z.infer<typeof subscribedTrackSchema>;

const audioLevelSchema = z.object({
  peerId: z.string(),
  level: z.number().meta({ description: 'Loudness in dBov (RFC 6464): -127 (silent) to 0.' }),
});
export type AudioLevel = z.infer<typeof audioLevelSchema>;

const eventWith = <Name extends string, Data extends z.ZodObject>(name: Name, data: Data) =>
  z.object({ event: z.literal(name), data }).meta({ id: `event_${name}` });
const event = <Name extends string, Shape extends z.ZodRawShape>(name: Name, shape: Shape) => eventWith(name, z.object(shape));

/** The room as a peer gets it when it joins. */
export const presentSchemas = {
  roomMetadata: metadataSchema.nullable().optional().meta({ description: 'Metadata of the room. Omitted by nodes before 0.8.' }),
  peers: z.array(remotePeerSchema),
  components: z.array(remoteComponentSchema),
  activeSpeaker: z.string().nullable().meta({ description: 'Id of the peer that is speaking; null: none.' }),
};
/** What a backend may change before a peer joins. */
export const ownSchemas = {
  permissions: permissionsSchema,
  attributes: attributesSchema
    .optional()
    .meta({ description: 'Attributes of this peer. Omitted if it has none, and by nodes before 0.8.' }),
};

export const peerEventSchema = z.discriminatedUnion('event', [
  event('admitted', { ...ownSchemas, ...presentSchemas }),
  event('peerJoined', { peer: remotePeerSchema }),
  event('peerLeft', { peerId: z.string() }),
  event('peerMetadataUpdated', {
    peerId: z.string().meta({ description: 'The id of this peer if the backend changed its metadata.' }),
    metadata: metadataSchema.nullable(),
  }),
  event('peerAttributesUpdated', {
    peerId: z.string().meta({ description: 'The id of this peer if the backend changed its attributes.' }),
    attributes: attributesSchema.meta({ description: 'All attributes of the peer.' }),
  }),
  event('roomMetadataUpdated', { metadata: metadataSchema.nullable() }),
  event('componentAdded', { component: remoteComponentSchema }),
  event('componentUpdated', { componentId: z.string(), state: componentStateSchema }),
  event('componentRemoved', { componentId: z.string() }),
  event('trackAdded', { ...origin, track: trackViewSchema }),
  event('trackRemoved', { ...origin, ...track }),
  event('trackMetadataUpdated', { ...track, metadata: metadataSchema.nullable() }),
  event('trackPaused', { ...track, by: z.enum(['publisher', 'server']) }),
  event('trackResumed', { ...track, by: z.enum(['publisher', 'server']) }),
  event('tracksSubscribed', { tracks: z.array(subscribedTrackSchema) }),
  eventWith('trackSubscribed', subscribedTrackSchema),
  event('trackUnsubscribed', { ...track }),
  event('trackNotSupported', {
    ...origin,
    ...track,
    encoding: z.string().meta({
      description:
        'Codec of the track. The capabilities of this peer do not include it, or of H.264 not its profile, so it does not receive the track.',
    }),
  }),
  event('dataTrackSubscribed', {
    peerId: z.string(),
    dataTrackId: z.string(),
    transportId: z.string(),
    sctpStreamParameters: mediaObjects.sctpStreamParameters,
    label: z.string(),
    protocol: z.string(),
    channel: z.number().int().optional().meta({
      description:
        'Number of the channel among those of this data track, for clients with the feature `paths`: the server sends messages after `dataReady`. Channels after the first one follow it, with `dataSwitched`.',
    }),
  }),
  event('dataTrackUnsubscribed', { dataTrackId: z.string() }),
  event('dataSwitched', {
    dataTrackId: z.string(),
    channel: z.number().int().meta({ description: 'The channel of all later messages.' }),
    messages: z
      .number()
      .int()
      .nullable()
      .meta({ description: 'Number of messages that the server has sent on the channel before this one; null: unknown, it was lost.' }),
  }),
  event('holdData', {
    dataTrackId: z.string().meta({ description: 'A data channel of this peer. It queues messages from now on, and requests `dataHeld`.' }),
  }),
  event('continueData', {
    dataTrackId: z.string(),
    replaced: z
      .literal(true)
      .optional()
      .meta({ description: 'From now on messages are sent over the new path, on the channel that this peer published with `replaces`.' }),
  }),
  event('layersChanged', {
    ...track,
    layers: z.object({ spatialLayer: z.number().int(), temporalLayer: z.number().int().optional() }).nullable(),
  }),
  event('layersWanted', {
    ...track,
    spatialLayer: z
      .number()
      .int()
      .nullable()
      .meta({ description: 'Index of the largest encoding that a receiver of this video needs, 0 the smallest; null: none.' }),
  }),
  event('audioLevels', {
    levels: z.array(audioLevelSchema).meta({ description: 'The loudest peers, at most 8, the loudest first; empty: no peer is audible.' }),
  }),
  event('activeSpeaker', { peerId: z.string().nullable() }),
  event('data', {
    from: z.string().nullable().meta({ description: 'Id of the peer that sent it; null for the server.' }),
    label: z.string(),
    payload: jsonSchema,
  }),
  event('transcriptAdded', {
    from: z.string().meta({ description: 'Id of the agent that transcribed it.' }),
    transcript: transcriptSchema,
  }),
  event('dataDropped', {
    messages: z
      .number()
      .int()
      .positive()
      .meta({ description: 'Number of `data` and `transcriptAdded` messages dropped because this socket was too slow.' }),
  }),
  event('rpcRequested', {
    rpcId: z.string(),
    from: z.string().nullable().meta({ description: 'Id of the requesting peer; null for the backend.' }),
    method: z.string(),
    payload: jsonSchema,
  }),
  event('rpcResponded', { rpcId: z.string(), payload: jsonSchema }),
  event('rpcFailed', { rpcId: z.string(), code: z.string(), message: z.string() }),
  event('iceServersUpdated', { iceServers: z.array(mediaObjects.iceServer) }),
  event('permissionsUpdated', { permissions: permissionsSchema }),
  event('tokenUpdated', { token: z.string() }),
  event('migrate', {
    reason: z.enum(['lost', 'moved']).meta({
      description:
        '`lost`: the transports of this peer were lost. It creates new ones in the same session, and publishes its tracks again with their keys: they keep their ids for all peers. Tracks without a key were removed. What it received is announced again. `moved`: it creates further transports, the new path, receives and publishes everything there too, and then requests `usePath`.',
    }),
    path: z.string().optional().meta({ description: 'With `moved`: the new path.' }),
  }),
  event('pathUsed', { path: z.string().meta({ description: 'The path that this peer uses only: the former one is closed.' }) }),
  event('pathClosed', { path: z.string().meta({ description: 'A new path that the server has closed: this peer keeps its former one.' }) }),
  event('draining', {
    deadline: z.iso.datetime().nullable().meta({ description: 'Latest end of rooms of this node; null: the drain was cancelled.' }),
  }),
]);
export type PeerEvent = z.infer<typeof peerEventSchema>;

/** Receivers of a broadcast; default: all connected peers of the room. `to` selects peers, `except` excludes one. */
export type Target = { to?: readonly string[]; except?: string };
