// What a node and the process that speaks SIP say to each other.
import { z } from 'zod';
import { dialogSchema } from './agent/dialogs.ts';
import { registrarSchema } from './wire/registrar.ts';

const port = z.int().min(1).max(65_535);
const range = z.strictObject({ min: port, max: port });
const callId = z.string().min(1).max(64);
const phoneNumber = z.string().max(128);
const ssrc = z.int().min(0).max(0xffff_ffff);
const sentence = z.string().max(500);
/** Commands that are answered have a number of their own. */
const request = z.int().min(0);

export const userAgentSettingsSchema = z.strictObject({
  registrar: registrarSchema,
  username: z.string().max(256),
  password: z.string().max(1024),
  /** What the far side is told in Via, Contact and SDP. */
  announcedIp: z.union([z.ipv4(), z.ipv6()]),
  /** UDP ports of SIP, of which the first free one is taken. */
  ports: range,
  /** Ports of RTP. */
  rtpPorts: range,
  /** Whether the registrar and the far sides of calls may be at private addresses. */
  allowPrivate: z.boolean(),
  answerIncoming: z.boolean(),
  /** Milliseconds that a call rings at most. */
  ringTimeout: z.int().min(1000).max(600_000),
  /** PEM of further certificate authorities. */
  ca: z.string().max(65_536).optional(),
  /** The same over restarts: a UUID (RFC 5626, section 4.1). */
  instanceId: z.uuid(),
  userAgent: z.string().max(128),
  /** On loopback, for sound from and to the room; left out: any. */
  roomPort: port.optional(),
  /** Of calls that an earlier process left. */
  orphanedDialogs: z.array(dialogSchema).max(200),
});
export type UserAgentSettings = z.infer<typeof userAgentSettingsSchema>;

export const sipCommandSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('start'), settings: userAgentSettingsSchema }),
  /** Where the room takes the voices of calls. */
  z.strictObject({ type: z.literal('connect'), ip: z.ipv4(), port }),
  /** A track of the room, to be heard by all calls. */
  z.strictObject({ type: z.literal('addTrack'), ssrc }),
  z.strictObject({ type: z.literal('removeTrack'), ssrc }),
  z.strictObject({ type: z.literal('call'), request, callId, phoneNumber }),
  z.strictObject({ type: z.literal('hangUp'), request, callId }),
  /** Whether a call that came may be answered. */
  z.strictObject({ type: z.literal('admit'), callId, admitted: z.boolean() }),
  z.strictObject({ type: z.literal('digits'), request, callId, digits: z.string().max(64) }),
  /** Hangs up and takes the registration back; answered with `closed`. */
  z.strictObject({ type: z.literal('close') }),
]);
export type SipCommand = z.infer<typeof sipCommandSchema>;

/** Why a call was over. `status`, `phrase`: of the answer of SIP that said so. */
const callEndSchema = z.strictObject({
  reason: z.string().max(64),
  status: z.int().min(300).max(699).optional(),
  phrase: z.string().max(128).optional(),
});
export type CallEnd = z.infer<typeof callEndSchema>;

export const sipReportSchema = z.discriminatedUnion('type', [
  /** It takes commands. */
  z.strictObject({ type: z.literal('ready') }),
  /** From here sound of the room may come: to this port of loopback. */
  z.strictObject({ type: z.literal('listening'), port }),
  /** From here its RTP may come. */
  z.strictObject({ type: z.literal('trackAdded'), ssrc }),
  /** A command was carried out, or not: `problem`. */
  z.strictObject({
    type: z.literal('done'),
    request,
    problem: z.strictObject({ code: z.enum(['bad_request', 'not_found', 'conflict', 'unavailable']), message: sentence }).optional(),
  }),
  z.strictObject({ type: z.literal('registered') }),
  z.strictObject({ type: z.literal('unregistered'), problem: sentence }),
  /** Somebody calls: whether that may be answered is to be said with `admit`; in the end it is told to be `ended`. */
  z.strictObject({ type: z.literal('asked'), callId }),
  /** Somebody calls and is answered. */
  z.strictObject({ type: z.literal('incoming'), callId, phoneNumber }),
  z.strictObject({ type: z.literal('ringing'), callId }),
  /** `ssrc`: of its voice on the way to the room. */
  z.strictObject({ type: z.literal('answered'), callId, ssrc, dialog: dialogSchema.optional() }),
  z.strictObject({ type: z.literal('ended'), callId, end: callEndSchema }),
  /** `duration` in milliseconds. */
  z.strictObject({ type: z.literal('digit'), callId, digit: z.string().regex(/^[0-9A-D*#]$/), duration: z.number().min(0).max(600_000) }),
  z.strictObject({ type: z.literal('closed') }),
]);
export type SipReport = z.infer<typeof sipReportSchema>;
