// Messages between a node and the process of a sip component.
import { z } from 'zod';
import { dialogSchema } from './agent/dialogs.ts';
import { registrarSchema } from './wire/registrar.ts';

const port = z.int().min(1).max(65_535);
const range = z.strictObject({ min: port, max: port });
const callId = z.string().min(1).max(64);
const phoneNumber = z.string().max(128);
const ssrc = z.int().min(0).max(0xffff_ffff);
const sentence = z.string().max(500);
/** Number of a command that requires a response. */
const request = z.int().min(0);

export const userAgentSettingsSchema = z.strictObject({
  registrar: registrarSchema,
  username: z.string().max(256),
  password: z.string().max(1024),
  /** Address in Via, Contact and SDP. */
  announcedIp: z.union([z.ipv4(), z.ipv6()]),
  /** UDP ports of SIP; the first free one is used. */
  ports: range,
  /** Ports of RTP. */
  rtpPorts: range,
  /** True if the registrar and remote parties may have private addresses. */
  allowPrivate: z.boolean(),
  answerIncoming: z.boolean(),
  /** Maximum ringing time in milliseconds. */
  ringTimeout: z.int().min(1000).max(600_000),
  /** PEM of additional certificate authorities. */
  ca: z.string().max(65_536).optional(),
  /** UUID that stays the same across restarts (RFC 5626, section 4.1). */
  instanceId: z.uuid(),
  userAgent: z.string().max(128),
  /** Loopback port for audio from and to the room; undefined for any. */
  roomPort: port.optional(),
  /** Orphaned dialogs of an earlier process. */
  orphanedDialogs: z.array(dialogSchema).max(200),
});
export type UserAgentSettings = z.infer<typeof userAgentSettingsSchema>;

export const sipCommandSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('start'), settings: userAgentSettingsSchema }),
  /** Address at which the room receives call audio. */
  z.strictObject({ type: z.literal('connect'), ip: z.ipv4(), port }),
  /** A track of the room that all calls receive. */
  z.strictObject({ type: z.literal('addTrack'), ssrc }),
  z.strictObject({ type: z.literal('removeTrack'), ssrc }),
  z.strictObject({ type: z.literal('call'), request, callId, phoneNumber }),
  z.strictObject({ type: z.literal('hangUp'), request, callId }),
  /** True if an incoming call may be answered. */
  z.strictObject({ type: z.literal('admit'), callId, admitted: z.boolean() }),
  z.strictObject({ type: z.literal('digits'), request, callId, digits: z.string().max(64) }),
  /** Hangs up and unregisters; answered with `closed`. */
  z.strictObject({ type: z.literal('close') }),
]);
export type SipCommand = z.infer<typeof sipCommandSchema>;

/** Reason of the end of a call. `status`, `phrase`: of the SIP response that ended it. */
const callEndSchema = z.strictObject({
  reason: z.string().max(64),
  status: z.int().min(300).max(699).optional(),
  phrase: z.string().max(128).optional(),
});
export type CallEnd = z.infer<typeof callEndSchema>;

export const sipReportSchema = z.discriminatedUnion('type', [
  /** The process accepts commands. */
  z.strictObject({ type: z.literal('ready') }),
  /** Audio of the room can be sent to this port of loopback. */
  z.strictObject({ type: z.literal('listening'), port }),
  /** RTP of this track can be sent. */
  z.strictObject({ type: z.literal('trackAdded'), ssrc }),
  /** Result of a command; `problem` if it failed. */
  z.strictObject({
    type: z.literal('done'),
    request,
    problem: z.strictObject({ code: z.enum(['bad_request', 'not_found', 'conflict', 'unavailable']), message: sentence }).optional(),
  }),
  z.strictObject({ type: z.literal('registered') }),
  z.strictObject({ type: z.literal('unregistered'), problem: sentence }),
  /** An incoming call, to be admitted or rejected with `admit`; it is reported as `ended` in the end. */
  z.strictObject({ type: z.literal('asked'), callId }),
  /** An incoming call that is being answered. */
  z.strictObject({ type: z.literal('incoming'), callId, phoneNumber }),
  z.strictObject({ type: z.literal('ringing'), callId }),
  /** `ssrc`: of its audio in the room. */
  z.strictObject({ type: z.literal('answered'), callId, ssrc, dialog: dialogSchema.optional() }),
  z.strictObject({ type: z.literal('ended'), callId, end: callEndSchema }),
  /** `duration` in milliseconds. */
  z.strictObject({ type: z.literal('digit'), callId, digit: z.string().regex(/^[0-9A-D*#]$/), duration: z.number().min(0).max(600_000) }),
  z.strictObject({ type: z.literal('closed') }),
]);
export type SipReport = z.infer<typeof sipReportSchema>;
