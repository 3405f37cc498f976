// Requests of LiveKit clients: reads the frames of their protocol, with every used field validated and bounded.
import { SignalRequest } from '@livekit/protocol';
import { z } from 'zod';
import { validationMessage } from '../../api/derive/validation-messages.ts';
import { ServiceError } from '../../api/errors.ts';
import { renegotiationLimits } from '../sdp/description.ts';

const maxLayers = 8;
/** As many tracks as a room may have for one client. */
const maxSids = 4_096;
/** Participants that one message names. */
const maxNamed = 1_000;

/** Messages about a track contain it. */
const sid = z
  .string()
  .max(64)
  .regex(/^[\x21-\x7e]*$/);
const sids = z.array(sid).max(maxSids);
const name = z.string().max(256);
const size = z.int().min(0).max(16_384);
const description = z.object({ type: z.string().max(16), sdp: z.string().max(renegotiationLimits.length), id: z.int().min(0) });
const subscription = z.object({
  trackSids: sids,
  subscribe: z.boolean(),
  participantTracks: z.array(z.object({ trackSids: sids })).max(maxSids),
});
const layer = z.object({ quality: z.int().min(0).max(3), width: size, height: size, bitrate: z.int().min(0) });

/** By the case of the message. Cases without a schema are ignored: this server does not need them. */
export const requestSchemas = {
  offer: description,
  answer: description,
  trickle: z.object({ candidateInit: z.string().max(4_096) }),
  addTrack: z.object({
    cid: z.string().min(1).max(256),
    name,
    /** 0: audio, 1: video. */
    type: z.int().min(0).max(1),
    source: z.int().min(0).max(4),
    width: size,
    height: size,
    muted: z.boolean(),
    stereo: z.boolean(),
    disableDtx: z.boolean(),
    stream: name,
    encryption: z.int().min(0).max(2),
    layers: z.array(layer).max(maxLayers),
    simulcastCodecs: z.array(z.object({ codec: z.string().max(32), cid: z.string().max(256) })).max(4),
    sid,
  }),
  mute: z.object({ sid, muted: z.boolean() }),
  subscription,
  subscriptionPermission: z.object({
    allParticipants: z.boolean(),
    trackPermissions: z
      .array(z.object({ participantSid: sid, participantIdentity: name, allTracks: z.boolean(), trackSids: sids }))
      .max(maxNamed),
  }),
  trackSetting: z.object({ trackSids: sids, disabled: z.boolean(), quality: z.int().min(0).max(3), width: size, height: size }),
  updateMetadata: z.object({
    metadata: z.string().max(16 * 1024),
    name,
    attributes: z.record(z.string().min(1).max(128), z.string().max(16 * 1024)),
    requestId: z.int().min(0),
  }),
  /** Of a client that resumed. */
  syncState: z.object({
    subscription: subscription.optional(),
    publishTracks: z.array(z.object({ track: z.object({ sid }).optional() })).max(maxSids),
    trackSidsDisabled: sids,
  }),
  ping: z.bigint(),
  pingReq: z.object({ timestamp: z.bigint() }),
  leave: z.object({}),
} as const satisfies Record<string, z.ZodType>;

export type RequestMethod = keyof typeof requestSchemas;
export type RequestData<Method extends RequestMethod> = z.output<(typeof requestSchemas)[Method]>;
export type Request = { [Method in RequestMethod]: { method: Method; data: RequestData<Method> } }[RequestMethod];

/** The request in a frame; undefined if it is one that this server ignores. @throws ServiceError `bad_request` */
export function readRequest(frame: Uint8Array): Request | undefined {
  const { case: method, value } = parse(frame).message;
  return method === undefined || !isUsed(method) ? undefined : validated(method, value);
}

/** @throws ServiceError `bad_request` */
export function validated(method: RequestMethod, value: unknown): Request {
  const result = requestSchemas[method].safeParse(value);
  if (!result.success) throw new ServiceError('bad_request', `${method}: ${validationMessage(result.error, value, 'the message')}`);
  // The schema of a method returns its data type; TypeScript loses that through the index.
  return { method, data: result.data } as Request;
}

function parse(frame: Uint8Array): SignalRequest {
  try {
    return SignalRequest.fromBinary(frame);
  } catch (error) {
    // Also RangeError: groups that are nested too deeply.
    throw new ServiceError('bad_request', 'The frame is not a SignalRequest', { cause: error });
  }
}

function isUsed(method: string): method is RequestMethod {
  return Object.hasOwn(requestSchemas, method);
}
