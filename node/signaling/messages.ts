// The peer websocket's messages, one zod union per direction: they validate, give the types and make AsyncAPI.
import { z } from 'zod';
import { mediaObjects } from '../rooms/shapes/media-objects.ts';
import { peerEventSchema, remoteComponentSchema, remotePeerSchema } from '../rooms/shapes/peer-events.ts';
import { jsonSchema, kindSchema, metadataSchema, permissionsSchema } from '../rooms/shapes/views.ts';

const id = z.string().min(1).max(128);
const transportId = id;
const trackId = id;
const direction = z.enum(['send', 'recv']);
const layer = z.number().int().min(0).max(7);

/** Data of each request by its method. */
export const requestSchemas = {
  authenticate: z.strictObject({
    token: z.string().max(4096),
    resume: z.string().max(128).optional().meta({ description: 'The sessionId of a session whose socket was lost.' }),
    received: z.int().min(0).optional().meta({
      description:
        'With resume: how many frames (answers and events) of the session have arrived, over all its sockets, answers to authenticate not counted; the server sends what follows them.',
    }),
    takeover: z.boolean().optional().meta({ description: 'Replace the socket that is connected as this peer now.' }),
    incarnation: z.string().max(64).optional().meta({
      description:
        'With a session that was lost: the room that it was in. Where that very room is gone, but not ended, the refusal is `unavailable` or `room_not_found`: it may be made again.',
    }),
  }),
  checkConnection: z.strictObject({ token: z.string().max(4096) }).meta({
    description:
      'In place of authenticate as the first request: nobody enters, nobody is told. The answer is what a transport needs to try ICE (RFC 8445) with; the socket is then only there to be closed, and so it is after half a minute.',
  }),
  join: z.strictObject({ rtpCapabilities: mediaObjects.rtpCapabilities, metadata: metadataSchema.nullable().optional() }),
  createTransport: z.strictObject({ direction, sctp: z.boolean().default(false) }).meta({
    description:
      'sctp: also for data channels. A peer that may not send data gets a transport without it; it then receives no data channels either.',
  }),
  connectTransport: z.strictObject({ transportId, dtlsParameters: mediaObjects.dtlsParameters }),
  restartIce: z.strictObject({ transportId }),
  publish: z.strictObject({
    transportId,
    kind: kindSchema,
    rtpParameters: mediaObjects.rtpParameters,
    metadata: metadataSchema.nullable().optional(),
    key: z.string().min(1).max(64).optional().meta({
      description:
        'What the peer calls the track, the same whenever it publishes it again, e.g. with a new session: a mute by the server holds then, and what the server removed is refused (track_not_found). Without it a mute holds for the next track of its kind and `metadata.source`.',
    }),
    paused: z.boolean().default(false),
  }),
  unpublish: z.strictObject({ trackId }),
  pauseTrack: z.strictObject({ trackId }),
  resumeTrack: z.strictObject({ trackId }),
  trackReady: z.strictObject({ trackId }).meta({
    description:
      'The receiver of a trackSubscribed is ready: its media flows. Three of trackReady, setPreferredLayers and setPriority for each trackSubscribed do not count towards the rate of messages.',
  }),
  tracksReady: z.strictObject({ trackIds: z.array(trackId).min(1).max(4096) }).meta({
    description: 'trackReady for each of them; those that are gone meanwhile are left out. Nodes before 0.8 do not know it.',
  }),
  subscribe: z.strictObject({ trackId }),
  unsubscribe: z.strictObject({ trackId }),
  setSubscription: z.strictObject({ mode: z.enum(['auto', 'manual']) }),
  setPreferredLayers: z.strictObject({ trackId, spatialLayer: layer, temporalLayer: layer.optional() }),
  setPriority: z.strictObject({ trackId, priority: z.int().min(1).max(255) }),
  setPeerMetadata: z
    .strictObject({ metadata: metadataSchema.nullable() })
    .meta({ description: 'The others see one change a second at most: of those that come faster the last, at the end of the second.' }),
  setTrackMetadata: z.strictObject({ trackId, metadata: metadataSchema.nullable() }).meta({ description: 'As setPeerMetadata.' }),
  publishData: z.strictObject({
    transportId,
    sctpStreamParameters: mediaObjects.sctpStreamParameters,
    label: z.string().max(128),
    protocol: z.string().max(128).default(''),
  }),
  unpublishData: z.strictObject({ dataTrackId: id }),
  sendData: z.strictObject({ label: z.string().min(1).max(128), payload: jsonSchema, to: z.array(id).max(1000).optional() }).meta({
    description:
      'A payload of at most 16 KiB of JSON, unless the node says otherwise (SVC_DATA_MESSAGE_MAX_BYTES): else too_large. A peer may send 16 of the largest messages a second, and its room deliver 512: else too_many_requests. Who does not read them in time loses them and is told how many: dataDropped.',
  }),
  ping: z.strictObject({
    received: z.int().min(0).optional().meta({ description: 'How many frames of the session have arrived: the server forgets them.' }),
  }),
  getStats: z.strictObject({}),
  leave: z.strictObject({}),
} as const;
export type Method = keyof typeof requestSchemas;
export type RequestData<M extends Method> = z.output<(typeof requestSchemas)[M]>;

const empty = z.strictObject({});
/** Data of the answer to each request. */
export const responseSchemas = {
  authenticate: z.object({
    sessionId: z.string(),
    resumed: z.boolean(),
    lastRequest: z.int().meta({
      description:
        'Highest id of a request of this session that was taken, authenticate not counted; -1 where there was none. After a resume the client repeats those above it; answers to the others come by themselves.',
    }),
    peerId: z.string(),
    roomId: z.string(),
    incarnation: z.string().meta({ description: 'The very room: another one of the same id has another.' }),
    permissions: permissionsSchema,
    rtpCapabilities: mediaObjects.rtpCapabilities,
    iceServers: z.array(mediaObjects.iceServer),
    peers: z.array(remotePeerSchema),
    components: z.array(remoteComponentSchema),
    activeSpeaker: z.string().nullable().meta({ description: 'Id of the peer who speaks just now; null: nobody.' }),
    svcAddress: z.string().meta({ description: 'Address of the node that owns the room: host[:port][/path].' }),
    resumeWindow: z.int().meta({ description: 'Seconds that a lost socket may be resumed in.' }),
  }),
  checkConnection: z.object({
    roomId: z.string(),
    iceServers: z.array(mediaObjects.iceServer),
    transport: mediaObjects.transportOptions,
  }),
  join: empty,
  createTransport: mediaObjects.transportOptions,
  connectTransport: empty,
  restartIce: z.object({ iceParameters: mediaObjects.iceParameters }),
  publish: z.object({
    trackId: z.string(),
    muted: z.boolean().meta({ description: 'Muted by the server from its start: it was before it was published again.' }),
  }),
  unpublish: empty,
  pauseTrack: empty,
  resumeTrack: empty,
  trackReady: empty,
  tracksReady: empty,
  subscribe: empty,
  unsubscribe: empty,
  setSubscription: empty,
  setPreferredLayers: empty,
  setPriority: empty,
  setPeerMetadata: empty,
  setTrackMetadata: empty,
  publishData: z.object({ dataTrackId: z.string() }),
  unpublishData: empty,
  sendData: empty,
  ping: empty,
  getStats: z.object({
    published: z.record(z.string(), z.array(mediaObjects.streamStats)),
    subscribed: z.record(z.string(), z.array(mediaObjects.streamStats)),
    transports: z.object({ send: mediaObjects.transportStats.nullable(), recv: mediaObjects.transportStats.nullable() }),
  }),
  leave: empty,
} as const satisfies Record<Method, z.ZodType>;
export type ResponseData<M extends Method> = z.output<(typeof responseSchemas)[M]>;

/** The envelope of a request. Ids grow by one or more from request to request of a session. */
export const requestSchema = z.strictObject({
  id: z.int().min(0),
  method: z.string().max(64),
  data: z.record(z.string(), z.unknown()).optional(),
});
export const responseSchema = z.discriminatedUnion('ok', [
  z.object({ id: z.int(), ok: z.literal(true), data: z.record(z.string(), z.unknown()) }),
  z.object({ id: z.int(), ok: z.literal(false), error: z.object({ code: z.string(), message: z.string() }) }),
]);
export type SocketResponse = z.infer<typeof responseSchema>;
export const serverFrameSchema = z.union([responseSchema, peerEventSchema]);
