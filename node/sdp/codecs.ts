// Codecs in SDP: reads and writes rtpmap, fmtp and rtcp-fb, and compares codecs with those of a room.
import { isSameProfile } from 'h264-profile-level-id';
import type { MediaDescription } from 'sdp-transform';
import type { z } from 'zod';
import type { rtpCapabilitiesSchema, rtpParametersSchema } from '../../api/media-objects.ts';
import type { Kind } from '../../api/track.ts';
import { offerRejected } from './description.ts';

export type RtpCapabilities = z.output<typeof rtpCapabilitiesSchema>;
export type CodecCapability = NonNullable<RtpCapabilities['codecs']>[number];
export type RtpParameters = z.output<typeof rtpParametersSchema>;
/** A codec as one side offers it. */
export type Codec = RtpParameters['codecs'][number] & {
  parameters: Record<string, string | number>;
  rtcpFeedback: { type: string; parameter?: string | undefined }[];
};

/** Limits of one section. */
const maxCodecs = 128;
const maxParameters = 32;
const maxParameterLength = 256;
/** Payload types of RTP that shares its port with RTCP (RFC 5761, section 4). */
const maxPayloadType = 127;

/** The codecs of a section in the order of the offer. Formats without a name are omitted. @throws ServiceError `offer_rejected` */
export function readCodecs(section: MediaDescription, kind: Kind): Codec[] {
  const payloadTypes = String(section.payloads ?? '').split(' ');
  if (payloadTypes.length > maxCodecs) throw offerRejected(`A section has more than ${maxCodecs} codecs`);
  return [...new Set(payloadTypes)].flatMap((text) => {
    const payloadType = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
    const rtp = section.rtp.find(({ payload }) => payload === payloadType);
    const { codec, rate, encoding } = rtp ?? {};
    if (!(payloadType <= maxPayloadType) || !/^[\w.-]{1,32}$/.test(String(codec)) || !isClockRate(rate)) return [];
    const channels = kind === 'audio' ? { channels: encoding === undefined ? 1 : Number(encoding) } : {};
    if (channels.channels !== undefined && !(channels.channels >= 1 && channels.channels <= 8)) return [];
    return [
      {
        mimeType: `${kind}/${codec}`,
        payloadType,
        clockRate: rate,
        ...channels,
        parameters: readParameters(section, payloadType),
        rtcpFeedback: readFeedback(section, payloadType),
      },
    ];
  });
}

export function isRtx({ mimeType }: { mimeType: string }): boolean {
  return /\/rtx$/i.test(mimeType);
}

/** The retransmissions of a codec (RFC 4588) in a section. */
export function rtxOf({ payloadType }: Codec, codecs: readonly Codec[]): Codec | undefined {
  return codecs.find((each) => isRtx(each) && each.parameters.apt === payloadType);
}

/** The codecs of a room for one kind of media. */
export function codecsOf({ codecs = [] }: RtpCapabilities, kind: Kind): CodecCapability[] {
  return codecs.filter(({ mimeType }) => mimeType.toLowerCase().startsWith(`${kind}/`));
}

/** The name in SDP, for example `H264`. */
export function nameOf({ mimeType }: { mimeType: string }): string {
  return mimeType.slice(mimeType.indexOf('/') + 1);
}

/** Names of codecs, in a message. */
export function namesOf(capabilities: readonly { mimeType: string }[]): string {
  return [...new Set(capabilities.filter((each) => !isRtx(each)).map(nameOf))].join(', ');
}

/** True if a room with this capability forwards the codec. Profiles must be equal, because the node does not transcode. */
export function isSupportedBy(codec: Codec, capability: CodecCapability): boolean {
  const name = codec.mimeType.toLowerCase();
  if (name !== capability.mimeType.toLowerCase() || codec.clockRate !== capability.clockRate) return false;
  if ((codec.channels ?? 1) !== (capability.channels ?? 1)) return false;
  const supported = capability.parameters ?? {};
  const equal = (parameter: string) => (codec.parameters[parameter] ?? 0) === (supported[parameter] ?? 0);
  if (name === 'video/h264') return equal('packetization-mode') && isSameProfile(codec.parameters, supported);
  if (name === 'video/vp9') return equal('profile-id');
  if (name === 'video/av1') return equal('profile');
  return true;
}

/** The codec with the feedback that both sides support. */
export function withFeedback(codec: Codec, supported: Codec['rtcpFeedback'] = []): Codec {
  const known = ({ type, parameter = '' }: Codec['rtcpFeedback'][number]) =>
    supported.some((each) => each.type === type && (each.parameter ?? '') === parameter);
  return { ...codec, rtcpFeedback: codec.rtcpFeedback.filter(known) };
}

/** The lines of codecs in a section. */
export function writeCodecs(codecs: RtpParameters['codecs']): Pick<MediaDescription, 'payloads' | 'rtp' | 'fmtp' | 'rtcpFb'> {
  return {
    payloads: codecs.map(({ payloadType }) => payloadType).join(' '),
    rtp: codecs.map((codec) => ({
      payload: codec.payloadType,
      codec: nameOf(codec),
      rate: codec.clockRate,
      ...((codec.channels ?? 1) > 1 && { encoding: codec.channels }),
    })),
    fmtp: codecs.flatMap(({ payloadType, parameters = {} }) => {
      const config = Object.entries(parameters).map(([name, value]) => `${name}=${value}`);
      return config.length > 0 ? [{ payload: payloadType, config: config.join(';') }] : [];
    }),
    rtcpFb: codecs.flatMap(({ payloadType, rtcpFeedback = [] }) =>
      rtcpFeedback.map(({ type, parameter }) => ({ payload: payloadType, type, ...(parameter && { subtype: parameter }) })),
    ),
  };
}

function isClockRate(rate: number | undefined): rate is number {
  return typeof rate === 'number' && Number.isInteger(rate) && rate >= 1 && rate <= 1_000_000;
}

/** Integers become numbers. Values without a name are for codecs that no room has. */
function readParameters({ fmtp }: MediaDescription, payloadType: number): Record<string, string | number> {
  const config = fmtp.find(({ payload }) => payload === payloadType)?.config;
  const entries = String(config ?? '')
    .split(';')
    .slice(0, maxParameters)
    .flatMap((entry) => {
      const separator = entry.indexOf('=');
      const name = entry.slice(0, Math.max(0, separator)).trim().toLowerCase();
      const value = entry.slice(separator + 1).trim();
      if (!/^[\w-]{1,64}$/.test(name) || value === '' || value.length > maxParameterLength) return [];
      return [[name, parameterValueOf(name, value)] as const];
    });
  return Object.fromEntries(entries);
}

function parameterValueOf(name: string, value: string): string | number {
  // FFmpeg writes the flags of the constrained baseline profile with three digits.
  if (name === 'profile-level-id') return value.replace(/^42200([0-9a-f]{2})$/i, '42e0$1');
  return /^\d{1,9}$/.test(value) ? Number(value) : value;
}

function readFeedback({ rtcpFb = [] }: MediaDescription, payloadType: number): Codec['rtcpFeedback'] {
  return rtcpFb
    .filter(({ payload }) => payload === payloadType || payload === '*')
    .slice(0, maxParameters)
    .map(({ type, subtype }) => ({ type: String(type), ...(subtype !== undefined && { parameter: String(subtype) }) }));
}
