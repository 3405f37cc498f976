// Messages of the peer websocket: one zod union per direction for validation, types and AsyncAPI.
import { z } from 'zod';
import { jsonSchema, metadataSchema } from '../json.ts';
import { mediaObjects } from '../media-objects.ts';
import { attributesPatchSchema } from '../peer.ts';
import { kindSchema } from '../track.ts';
import { ownSchemas, presentSchemas } from './peer-events.ts';
import { rpcRequestSchema } from './rpc.ts';

/** Maximum size of a message of a peer, in bytes. */
export const maxMessageBytes = 256 * 1024;
/** Maximum length of an access token: it must fit into the first message. */
const maxAccessTokenLength = 7 * 1024;

const id = z.string().min(1).max(128);
const transportId = id;
const path = id.optional();
const trackId = id;
const channel = z.int().min(0);
const direction = z.enum(['send', 'recv']);
const layer = z.number().int().min(0).max(7);

/** Request data by method. */
export const requestSchemas = {
  authenticate: z
    .strictObject({
      token: z.string().max(4096).optional().meta({ description: 'The token of the peer. Either token or accessToken is required.' }),
      accessToken: z.string().max(maxAccessTokenLength).optional().meta({
        description:
          'A token that a backend signed: it creates the peer, and the room if it has the grant. It replaces a connected socket of the same identity, unless resume is set. Nodes before 0.8 do not support it.',
      }),
      resume: z.string().max(128).optional().meta({ description: 'The sessionId of a session with a lost socket.' }),
      received: z.int().min(0).optional().meta({
        description:
          'With resume: the number of frames (responses and events) received in the session over all its sockets, without responses to authenticate. The server sends the following ones.',
      }),
      takeover: z.boolean().optional().meta({ description: 'Replace the connected socket of this peer.' }),
      incarnation: z.string().max(64).optional().meta({
        description:
          'For a lost session: the incarnation of its room. If that room was lost but has not ended, the error is `unavailable` or `room_not_found`, because it may be recreated.',
      }),
    })
    .refine(({ token, accessToken }) => (token === undefined) !== (accessToken === undefined), {
      path: ['token'],
      error: 'to be set without accessToken',
    }),
  checkConnection: z.strictObject({ token: z.string().max(4096) }).meta({
    description:
      'Instead of authenticate as the first request: the peer does not join and other peers are not notified. The response contains the data of a transport for ICE checks (RFC 8445). The client then closes the socket; the server closes it after half a minute.',
  }),
  join: z.strictObject({ rtpCapabilities: mediaObjects.rtpCapabilities, metadata: metadataSchema.nullable().optional() }),
  createTransport: z.strictObject({ direction, sctp: z.boolean().default(false), path }).meta({
    description:
      'path: of the event `migrate`, for a transport of the new path. sctp: also for data channels. A peer without the permission to send data gets a transport without SCTP and receives no data channels.',
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
        'Name of the track, chosen by the peer and the same when it publishes the track again, for example in a new session: a mute by the server then persists, and a track removed by the server is rejected (track_not_found). Without it a mute persists for the next track of the same kind and `metadata.source`.',
    }),
    paused: z.boolean().default(false),
    encrypted: z.boolean().optional().meta({
      description:
        'The peer encrypts the frames of the track end to end, after the encoder. The first bytes of each frame, by which the server finds key frames, stay unencrypted (VP8: 10 of a key frame, 3 of others; H.264: all up to the slice header). Nodes before 0.8 do not support it.',
    }),
  }),
  unpublish: z.strictObject({ trackId }),
  pauseTrack: z.strictObject({ trackId }),
  resumeTrack: z.strictObject({ trackId }),
  trackReady: z.strictObject({ trackId }).meta({
    description:
      'The receiver of a track is ready and its media starts. Three of trackReady, setPreferredLayers, setPriority, dataReady and dataFlowing for each announced track do not count toward the message rate limit.',
  }),
  tracksReady: z.strictObject({ trackIds: z.array(trackId).min(1).max(4096), path }).meta({
    description: 'trackReady for each of them; tracks that have ended meanwhile are ignored. Nodes before 0.8 do not support it.',
  }),
  tracksFlowing: z.strictObject({ trackIds: z.array(trackId).min(1).max(4096), path }).meta({
    description: 'Tracks that were announced with `replaces` flow: the server ends what it replaces. Nodes before 0.8 do not support it.',
  }),
  usePath: z.strictObject({ path: id }).meta({
    description:
      'What this peer receives flows over the new path, and it publishes everything there: the server closes the former one, and sends `pathUsed`. Nodes before 0.8 do not support it.',
  }),
  subscribe: z.strictObject({ trackId }),
  unsubscribe: z.strictObject({ trackId }),
  setSubscription: z.strictObject({ mode: z.enum(['auto', 'manual']) }),
  setPreferredLayers: z.strictObject({ trackId, spatialLayer: layer, temporalLayer: layer.optional() }),
  setPriority: z.strictObject({ trackId, priority: z.int().min(1).max(255) }),
  setPeerMetadata: z
    .strictObject({ metadata: metadataSchema.nullable() })
    .meta({ description: 'Other peers receive at most one change per second: of faster changes the last one, at the end of the second.' }),
  setAttributes: z.strictObject({ attributes: attributesPatchSchema }).meta({
    description:
      'Like setPeerMetadata, for the changed attributes; null deletes one. Attributes that the backend set are rejected (forbidden). Nodes before 0.8 do not support it.',
  }),
  setTrackMetadata: z.strictObject({ trackId, metadata: metadataSchema.nullable() }).meta({ description: 'Like setPeerMetadata.' }),
  setRoomMetadata: z.strictObject({ metadata: metadataSchema.nullable() }).meta({
    description:
      'Set the metadata of the room (by permission `roomMetadata`). All peers, this one too, receive at most one change per second: of faster changes the last one. Nodes before 0.8 do not support it.',
  }),
  publishData: z.strictObject({
    transportId,
    sctpStreamParameters: mediaObjects.sctpStreamParameters,
    label: z.string().max(128),
    protocol: z.string().max(128).default(''),
    replaces: id.optional().meta({
      description:
        'Over a new path: id of the data channel that this peer publishes over its present path already. It keeps the id. Nodes before 0.8 do not support it.',
    }),
  }),
  unpublishData: z.strictObject({ dataTrackId: id }),
  dataReady: z.strictObject({ dataTrackId: id, channel }).meta({
    description:
      'The channel that `dataTrackSubscribed` announced is created. Without it the server sends nothing. Nodes before 0.8 do not support it.',
  }),
  dataFlowing: z.strictObject({ dataTrackId: id, channel }).meta({
    description: 'All messages of the channels before this one have arrived: the server closes them. Nodes before 0.8 do not support it.',
  }),
  dataHeld: z.strictObject({ dataTrackId: id, messages: z.int().min(0) }).meta({
    description:
      'Response to `holdData`: this peer sends nothing on the channel until `continueData`. messages: number of those that it has sent on it. Nodes before 0.8 do not support it.',
  }),
  sendData: z.strictObject({ label: z.string().min(1).max(128), payload: jsonSchema, to: z.array(id).max(1000).optional() }).meta({
    description:
      'A payload of at most 16 KiB of JSON, unless configured otherwise (SVC_DATA_MESSAGE_MAX_BYTES); larger ones get too_large. A peer may send 16 messages of maximum size per second, and its room deliver 512; beyond that: too_many_requests. Slow receivers lose messages and receive the number in dataDropped.',
  }),
  setAudioLevels: z.strictObject({ enabled: z.boolean() }).meta({
    description:
      'Receive `audioLevels` about three times a second while a peer is audible. A peer that reads too slowly misses some. Nodes before 0.8 do not support it.',
  }),
  setFeatures: z.strictObject({ features: z.array(z.string().min(1).max(64)).max(32) }).meta({
    description:
      'Events beyond those of 0.7 that this client handles: `tracksSubscribed` (instead of several trackSubscribed), `layersWanted`, `paths` (`migrate` with a path), and `migrate` (instead of close code 1001, if the media of this peer is lost with a media worker). Others are ignored. Send it before `join`. Nodes before 0.8 do not support it.',
  }),
  sendRpc: rpcRequestSchema.extend({ rpcId: id.meta({ description: 'Chosen by this peer, to find the response.' }), to: id }).meta({
    description:
      'Request something of another peer (by permission `data`). The response of the server means that the request was sent; `rpcResponded` or `rpcFailed` with the same rpcId follows. Nodes before 0.8 do not support it.',
  }),
  respondRpc: z.strictObject({
    rpcId: id,
    payload: jsonSchema.optional(),
    error: z.string().min(1).max(512).optional().meta({ description: 'Why the application rejects the request.' }),
  }),
  ping: z.strictObject({
    received: z.int().min(0).optional().meta({ description: 'The number of received frames of the session: the server deletes them.' }),
  }),
  getStats: z.strictObject({}),
  leave: z.strictObject({}),
} as const;
export type Method = keyof typeof requestSchemas;
export type RequestData<M extends Method> = z.output<(typeof requestSchemas)[M]>;

const empty = z.strictObject({});
/** Response data by method. */
export const responseSchemas = {
  authenticate: z.object({
    sessionId: z.string(),
    resumed: z.boolean(),
    lastRequest: z.int().meta({
      description:
        'Highest id of a request of this session that was accepted, authenticate not counted; -1 if there was none. After a resume the client repeats later requests; responses to the others are sent automatically.',
    }),
    peerId: z.string(),
    roomId: z.string(),
    incarnation: z.string().meta({ description: 'Incarnation of the room: a recreated room with the same id has another one.' }),
    waiting: z.literal(true).optional().meta({
      description:
        'This peer waits until it is admitted (event `admitted`); then there are no roomMetadata, peers and components. Until then the server holds its requests, except ping, setPeerMetadata, setAttributes and leave, and processes them once it is admitted.',
    }),
    ...ownSchemas,
    rtpCapabilities: mediaObjects.rtpCapabilities,
    iceServers: z.array(mediaObjects.iceServer),
    ...presentSchemas,
    svcAddress: z.string().meta({ description: 'Address of the node that owns the room: host[:port][/path].' }),
    resumeWindow: z.int().meta({ description: 'Time in seconds during which a lost socket may be resumed.' }),
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
    muted: z.boolean().meta({ description: 'Muted by the server from its start, because it was muted before it was published again.' }),
  }),
  unpublish: empty,
  pauseTrack: empty,
  resumeTrack: empty,
  trackReady: empty,
  tracksReady: empty,
  tracksFlowing: empty,
  usePath: empty,
  subscribe: empty,
  unsubscribe: empty,
  setSubscription: empty,
  setPreferredLayers: empty,
  setPriority: empty,
  setPeerMetadata: empty,
  setAttributes: empty,
  setTrackMetadata: empty,
  setRoomMetadata: empty,
  publishData: z.object({ dataTrackId: z.string() }),
  unpublishData: empty,
  dataReady: empty,
  dataFlowing: empty,
  dataHeld: empty,
  sendData: empty,
  setAudioLevels: empty,
  setFeatures: empty,
  sendRpc: empty,
  respondRpc: empty,
  ping: empty,
  getStats: z.object({
    published: z.record(z.string(), z.array(mediaObjects.streamStats)),
    subscribed: z.record(z.string(), z.array(mediaObjects.streamStats)),
    transports: z.object({ send: mediaObjects.transportStats.nullable(), recv: mediaObjects.transportStats.nullable() }),
  }),
  leave: empty,
} as const satisfies Record<Method, z.ZodType>;
export type ResponseData<M extends Method> = z.output<(typeof responseSchemas)[M]>;

/** Envelope of a request. Ids increase from request to request of a session. */
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
