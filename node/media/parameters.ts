// Checks what clients send about their media before it reaches a worker: every field that is used, bounded; the rest is dropped.
import type { DtlsParameters, RtpCapabilities, RtpHeaderExtensionUri, RtpParameters, SctpStreamParameters } from 'mediasoup/types';
import { z } from 'zod';
import { ServiceError } from '../errors.ts';
import type { Kind } from '../rooms/views.ts';
import { isOfferedExtension } from './codecs.ts';

const uint32 = z.number().int().min(1).max(0xffff_ffff);
const uint16 = z.number().int().min(0).max(0xffff);
const payloadType = z.number().int().min(0).max(127);
const token = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[\x21-\x7e]+$/, 'may contain only visible ASCII characters');
/** Values of format parameters: what mediasoup puts on the wire, so integers of 32 bits. */
const parameterValue = z.union([z.string().max(256), z.number().int().min(-0x8000_0000).max(0x7fff_ffff), z.number().min(-1e9).max(1e9)]);
const parameters = z
  .record(z.string().min(1).max(64), parameterValue)
  .refine((value) => Object.keys(value).length <= 32, 'has more than 32 entries');
const rtcpFeedback = z.array(z.object({ type: token(32), parameter: z.string().max(32).optional() })).max(32);
const mimeType = z
  .string()
  .max(64)
  .regex(/^(audio|video)\/[A-Za-z0-9.+-]+$/i, 'must be like audio/opus');

const codec = z.object({
  mimeType,
  payloadType,
  clockRate: uint32,
  channels: z.number().int().min(1).max(8).optional(),
  parameters: parameters.optional(),
  rtcpFeedback: rtcpFeedback.optional(),
});
const encoding = z.object({
  ssrc: uint32.optional(),
  rid: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,32}$/, 'must be 1 to 32 alphanumeric characters, hyphens or underscores')
    .optional(),
  codecPayloadType: payloadType.optional(),
  rtx: z.object({ ssrc: uint32 }).optional(),
  dtx: z.boolean().optional(),
  scalabilityMode: z
    .string()
    .regex(/^[LS][1-4]T[1-4]h?(_KEY(_SHIFT)?)?$/, 'must be a scalability mode like L1T3')
    .optional(),
  maxBitrate: z.number().int().min(1).max(1e12).optional(),
});
const rtpParametersSchema = z.object({
  mid: token(32).optional(),
  codecs: z.array(codec).min(1).max(16),
  headerExtensions: z
    .array(
      z.object({
        uri: token(256),
        id: z.number().int().min(1).max(255),
        encrypt: z.boolean().optional(),
        parameters: parameters.optional(),
      }),
    )
    .max(32)
    .optional(),
  encodings: z.array(encoding).max(8).optional(),
  rtcp: z.object({ cname: z.string().max(255).optional(), reducedSize: z.boolean().optional() }).optional(),
  msid: z.string().max(256).optional(),
});

const rtpCapabilitiesSchema = z.object({
  codecs: z
    .array(
      z.object({
        kind: z.enum(['audio', 'video']).optional(),
        mimeType,
        preferredPayloadType: payloadType.optional(),
        clockRate: uint32,
        channels: z.number().int().min(1).max(8).optional(),
        parameters: parameters.optional(),
        rtcpFeedback: rtcpFeedback.optional(),
      }),
    )
    .max(128)
    .optional(),
  headerExtensions: z
    .array(
      z.object({
        kind: z.enum(['audio', 'video']),
        uri: token(256),
        preferredId: z.number().int().min(1).max(255),
        preferredEncrypt: z.boolean().optional(),
        direction: z.enum(['sendrecv', 'sendonly', 'recvonly', 'inactive']).optional(),
      }),
    )
    .max(64)
    .optional(),
});

const dtlsParametersSchema = z.object({
  role: z.enum(['auto', 'client', 'server']).optional(),
  // RFC 8122, section 5: any case; the worker compares with upper case.
  fingerprints: z
    .array(
      z.object({
        algorithm: z
          .string()
          .toLowerCase()
          .pipe(z.enum(['sha-1', 'sha-224', 'sha-256', 'sha-384', 'sha-512'])),
        value: z
          .string()
          .regex(/^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){19,63}$/, 'must be a fingerprint like AB:CD:...')
          .toUpperCase(),
      }),
    )
    .min(1)
    .max(16),
});

const sctpStreamParametersSchema = z
  .object({
    // RFC 8832, section 6: stream 65535 is reserved.
    streamId: z.number().int().min(0).max(65_534),
    ordered: z.boolean().optional(),
    maxPacketLifeTime: uint16.nullable().optional(),
    maxRetransmits: uint16.nullable().optional(),
  })
  .transform(({ streamId, ordered, maxPacketLifeTime, maxRetransmits }) => ({
    streamId,
    ordered,
    maxPacketLifeTime: maxPacketLifeTime ?? undefined,
    maxRetransmits: maxRetransmits ?? undefined,
  }))
  .refine(
    (value) => value.maxPacketLifeTime === undefined || value.maxRetransmits === undefined,
    'may have maxPacketLifeTime or maxRetransmits, not both',
  )
  .refine(
    (value) => value.ordered !== true || (value.maxPacketLifeTime === undefined && value.maxRetransmits === undefined),
    'must not be ordered where maxPacketLifeTime or maxRetransmits is given',
  );

/**
 * RTP parameters of a track to be published: one codec (with its retransmissions, RFC 4588), no SSRC or RID twice.
 * `knownExtensions`: those that the room has; others are left out.
 * @throws ServiceError `invalid_field`
 */
export function checkRtpParameters(input: unknown, kind: Kind, knownExtensions: ReadonlySet<string>): RtpParameters {
  const value = check(rtpParametersSchema, 'rtpParameters', input);
  const media = value.codecs.filter(({ mimeType }) => !isRtx(mimeType));
  const encodings = value.encodings ?? [];
  const first = media[0];
  if (!first || isRtx(value.codecs[0]?.mimeType ?? '')) throw refuse('rtpParameters.codecs must begin with a media codec');
  if (media.length > 1) throw refuse('rtpParameters.codecs must name one codec, with or without its rtx');
  if (value.codecs.length > 2) throw refuse('rtpParameters.codecs names more than one rtx');
  if (value.codecs.some(({ mimeType }) => !mimeType.toLowerCase().startsWith(`${kind}/`)))
    throw refuse(`rtpParameters.codecs must be of kind ${kind}`);
  const rtx = value.codecs[1];
  if (rtx && rtx.parameters?.apt !== first.payloadType)
    throw refuse('rtpParameters.codecs has an rtx whose apt is not the payload type of its codec');
  if (rtx && rtx.payloadType === first.payloadType) throw refuse('rtpParameters.codecs has a payload type twice');
  if (encodings.some(({ codecPayloadType }) => codecPayloadType !== undefined && codecPayloadType !== first.payloadType))
    throw refuse('rtpParameters.encodings has a codecPayloadType that is not in codecs');
  if (kind === 'audio' && encodings.length > 1) throw refuse('rtpParameters.encodings of audio may have one entry only');
  const ssrcs = encodings.flatMap(({ ssrc, rtx }) => [ssrc, rtx?.ssrc]);
  if (hasTwice(ssrcs)) throw refuse('rtpParameters.encodings has an ssrc twice');
  if (hasTwice(encodings.map(({ rid }) => rid))) throw refuse('rtpParameters.encodings has a rid twice');
  if (encodings.length > 1 && encodings.some(({ ssrc, rid }) => ssrc === undefined && rid === undefined))
    throw refuse('rtpParameters.encodings must each have an ssrc or a rid');
  if (!/\/(vp9|av1)$/i.test(first.mimeType) && encodings.some(({ scalabilityMode = '' }) => /^[LS][2-9]/.test(scalabilityMode)))
    throw refuse('rtpParameters.encodings has a scalabilityMode with several spatial layers, which this codec has not');
  const extensions = value.headerExtensions ?? [];
  if (hasTwice(extensions.map(({ id }) => id)) || hasTwice(extensions.map(({ uri }) => uri)))
    throw refuse('rtpParameters.headerExtensions has an id or a uri twice');
  const headerExtensions = extensions
    .filter(({ uri }) => knownExtensions.has(uri) && isOfferedExtension(uri))
    .map((extension) => ({ ...extension, uri: extension.uri as RtpHeaderExtensionUri }));
  return { ...value, headerExtensions };
}

/**
 * What a receiver can decode.
 * @throws ServiceError `invalid_field`
 */
export function checkRtpCapabilities(input: unknown): RtpCapabilities {
  return check(rtpCapabilitiesSchema, 'rtpCapabilities', input) as RtpCapabilities;
}

/** @throws ServiceError `invalid_field` */
export function checkDtlsParameters(input: unknown): DtlsParameters {
  return check(dtlsParametersSchema, 'dtlsParameters', input);
}

/** @throws ServiceError `invalid_field` */
export function checkSctpStreamParameters(input: unknown): SctpStreamParameters {
  return check(sctpStreamParametersSchema, 'sctpStreamParameters', input);
}

/** @throws ServiceError `invalid_field` */
export function checkInteger(name: string, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max) throw refuse(`${name} must be an integer from ${min} to ${max}`);
}

export function refuse(sentence: string, cause?: unknown): ServiceError {
  return new ServiceError('invalid_field', sentence, { cause });
}

function check<Schema extends z.ZodType>(schema: Schema, name: string, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const path = (issue?.path ?? []).map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step).slice(0, 64)}`)).join('');
  throw refuse(`${name}${path} is not valid: ${(issue?.message ?? 'wrong value').replace(/\.$/, '')}`);
}

function isRtx(mimeType: string): boolean {
  return /\/rtx$/i.test(mimeType);
}

function hasTwice(values: readonly (string | number | undefined)[]): boolean {
  const given = values.filter((value) => value !== undefined);
  return new Set(given).size < given.length;
}
