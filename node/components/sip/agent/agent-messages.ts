// What a SIP user agent starts with and reports.
import { z } from 'zod';
import { port, ssrc } from '../../process/track-messages.ts';
import { registrarSchema } from '../wire/registrar.ts';
import { dialogSchema } from './dialog.ts';

const range = z.strictObject({ min: port, max: port });
export const callId = z.string().min(1).max(64);
export const phoneNumber = z.string().max(128);
export const messageText = z.string().max(500);

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

/** Reason of the end of a call. `status`, `phrase`: of the SIP response that ended it. */
const callEndSchema = z.strictObject({
  reason: z.string().max(64),
  status: z.int().min(300).max(699).optional(),
  phrase: z.string().max(128).optional(),
});
export type CallEnd = z.infer<typeof callEndSchema>;

export const userAgentReports = [
  z.strictObject({ type: z.literal('registered') }),
  z.strictObject({ type: z.literal('unregistered'), problem: messageText }),
  /** An incoming call, to be admitted or rejected with `admit`; it is reported as `ended` in the end. */
  z.strictObject({ type: z.literal('admissionRequested'), callId }),
  /** An incoming call that is being answered. */
  z.strictObject({ type: z.literal('incoming'), callId, phoneNumber }),
  z.strictObject({ type: z.literal('ringing'), callId }),
  /** `ssrc`: of its audio in the room. */
  z.strictObject({ type: z.literal('answered'), callId, ssrc, dialog: dialogSchema.optional() }),
  z.strictObject({ type: z.literal('ended'), callId, end: callEndSchema }),
  /** `duration` in milliseconds. */
  z.strictObject({ type: z.literal('digit'), callId, digit: z.string().regex(/^[0-9A-D*#]$/), duration: z.number().min(0).max(600_000) }),
] as const;
export type UserAgentReport = z.infer<(typeof userAgentReports)[number]>;
