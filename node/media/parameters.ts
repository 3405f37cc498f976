// Media parameters: validates client input before it reaches a media worker. Every used field is bounded, unknown fields are dropped.
import type { DtlsParameters, RtpCapabilities, RtpHeaderExtensionUri, RtpParameters, SctpStreamParameters } from 'mediasoup/types';
import type { z } from 'zod';
import { ServiceError } from '../../api/errors.ts';
import { dtlsParametersSchema, rtpCapabilitiesSchema, rtpParametersSchema, sctpStreamParametersSchema } from '../../api/media-objects.ts';
import type { Kind } from '../../api/track.ts';
import { isOfferedExtension, isRtx } from './codecs.ts';
import { withoutReceiverNumbers } from './receivers/receiver-numbers.ts';

/**
 * RTP parameters of a track to publish: one codec (with its retransmissions, RFC 4588), no duplicate SSRC or RID. `knownExtensions`: header
 * extensions of the room; others are removed.
 * @throws ServiceError `invalid_field`
 */
export function checkRtpParameters(input: unknown, kind: Kind, knownExtensions: ReadonlySet<string>): RtpParameters {
  const value = check(rtpParametersSchema, 'rtpParameters', input);
  const media = value.codecs.filter((each) => !isRtx(each));
  const encodings = value.encodings ?? [];
  const first = media[0];
  if (!first || value.codecs[0] !== first) throw invalidParameter('rtpParameters.codecs must begin with a media codec');
  if (media.length > 1) throw invalidParameter('rtpParameters.codecs must name one codec, with or without its rtx');
  if (value.codecs.length > 2) throw invalidParameter('rtpParameters.codecs has more than one rtx');
  if (value.codecs.some(({ mimeType }) => !mimeType.toLowerCase().startsWith(`${kind}/`)))
    throw invalidParameter(`rtpParameters.codecs must be of kind ${kind}`);
  const rtx = value.codecs[1];
  if (rtx && rtx.parameters?.apt !== first.payloadType)
    throw invalidParameter('rtpParameters.codecs has an rtx whose apt is not the payload type of its codec');
  if (rtx && rtx.payloadType === first.payloadType) throw invalidParameter('rtpParameters.codecs has a duplicate payload type');
  if (encodings.some(({ codecPayloadType }) => codecPayloadType !== undefined && codecPayloadType !== first.payloadType))
    throw invalidParameter('rtpParameters.encodings has a codecPayloadType that is not in codecs');
  if (kind === 'audio' && encodings.length > 1)
    throw invalidParameter('rtpParameters.encodings of audio must not have more than one entry');
  const ssrcs = encodings.flatMap(({ ssrc, rtx }) => [ssrc, rtx?.ssrc]);
  if (hasTwice(ssrcs)) throw invalidParameter('rtpParameters.encodings has a duplicate ssrc');
  if (hasTwice(encodings.map(({ rid }) => rid))) throw invalidParameter('rtpParameters.encodings has a duplicate rid');
  if (encodings.length > 1 && encodings.some(({ ssrc, rid }) => ssrc === undefined && rid === undefined))
    throw invalidParameter('rtpParameters.encodings must each have an ssrc or a rid');
  if (!/\/(vp9|av1)$/i.test(first.mimeType) && encodings.some(({ scalabilityMode = '' }) => /^[LS][2-9]/.test(scalabilityMode)))
    throw invalidParameter('rtpParameters.encodings has a scalabilityMode with several spatial layers, which this codec does not support');
  const extensions = value.headerExtensions ?? [];
  if (hasTwice(extensions.map(({ id }) => id)) || hasTwice(extensions.map(({ uri }) => uri)))
    throw invalidParameter('rtpParameters.headerExtensions has a duplicate id or uri');
  const headerExtensions = extensions
    .filter(({ uri }) => knownExtensions.has(uri) && isOfferedExtension(uri))
    .map((extension) => ({ ...extension, uri: extension.uri as RtpHeaderExtensionUri }));
  return { ...value, headerExtensions };
}

/**
 * RTP capabilities of a receiver.
 * @throws ServiceError `invalid_field`
 */
export function checkRtpCapabilities(input: unknown): RtpCapabilities {
  return withoutReceiverNumbers(check(rtpCapabilitiesSchema, 'rtpCapabilities', input) as RtpCapabilities);
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
  if (!Number.isInteger(value) || value < min || value > max) throw invalidParameter(`${name} must be an integer from ${min} to ${max}`);
}

export function invalidParameter(message: string, cause?: unknown): ServiceError {
  return new ServiceError('invalid_field', message, { cause });
}

function check<Schema extends z.ZodType>(schema: Schema, name: string, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const path = (issue?.path ?? []).map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step).slice(0, 64)}`)).join('');
  throw invalidParameter(`${name}${path} is invalid: ${(issue?.message ?? 'invalid value').replace(/\.$/, '')}`);
}

function hasTwice(values: readonly (string | number | undefined)[]): boolean {
  const given = values.filter((value) => value !== undefined);
  return new Set(given).size < given.length;
}
