// Offer and answer (RFC 3264) for the one audio stream of a call: creates offers and answers, and applies received ones.
import { isIP } from 'node:net';
import { type CallCodec, type CallKeys, callCodecs, type NegotiatedMedia } from '../audio/session.ts';
import { type Crypto, type Direction, type Format, type Media, parseSdp } from './session-description.ts';

/** Content of local descriptions. */
export type LocalMediaDescription = {
  ip: string;
  port: number;
  /** Session id of `o=`. */
  sessionId: number;
  /** Incremented with every description that differs. */
  version: number;
  direction: Direction;
  /** Base64 of master key and salt, for SDES. */
  key: string;
};

export type Negotiated = { agreed: NegotiatedMedia /** Undefined if the remote party created the answer. */; answer: string | undefined };

/** Offer and answer do not match; the message states the reason. */
export class SdpNegotiationError extends Error {}

type Suite = CallKeys['suite'];
const suites: readonly string[] = ['AES_CM_128_HMAC_SHA1_80', 'AES_CM_128_HMAC_SHA1_32'] satisfies readonly Suite[];

const offered: readonly { payloadType: number; codec: CallCodec; map: string; fmtp?: string }[] = [
  { payloadType: 96, codec: 'opus', map: 'opus/48000/2', fmtp: 'useinbandfec=1;stereo=0' },
  { payloadType: 9, codec: 'G722', map: 'G722/8000' },
  { payloadType: 8, codec: 'PCMA', map: 'PCMA/8000' },
  { payloadType: 0, codec: 'PCMU', map: 'PCMU/8000' },
];
/** Payload types by clock rate, which must be that of the codec (RFC 4733, section 2.5.1.2). */
const offeredEvents = { 48000: 100, 8000: 101 } as const;
/** Clock rate of DTMF if the remote party does not offer that of the codec: many only know this one, and use it with every codec. */
const commonEventRate = 8000;
const comfortNoise = 13;
/** Milliseconds of audio in a packet. */
const packetTime = 20;

/** `held`: the previous agreement; only its codec is offered again. */
export function createOffer(local: LocalMediaDescription, held?: NegotiatedMedia): string {
  if (held) return describe(local, [audioLine(local, held, 'RTP/AVP')]);
  const formats = [...offered.map(({ payloadType }) => payloadType), ...Object.values(offeredEvents), comfortNoise];
  const lines = [
    `m=audio ${local.port} RTP/AVP ${formats.join(' ')}`,
    ...offered.flatMap(({ payloadType, map, fmtp }) => formatLines(payloadType, map, fmtp)),
    ...Object.entries(offeredEvents).flatMap(([rate, payloadType]) => formatLines(payloadType, `telephone-event/${rate}`, '0-15')),
    ...formatLines(comfortNoise, 'CN/8000'),
    `a=ptime:${packetTime}`,
    'a=rtcp-mux',
    `a=${local.direction}`,
  ];
  return describe(local, [lines]);
}

/**
 * Accepts the first usable audio stream, with its first known codec; the other streams are rejected (section 6). @throws
 * SdpNegotiationError
 */
export function createAnswer(text: string, local: LocalMediaDescription, before?: NegotiatedMedia): Negotiated {
  const offer = parseSdp(text);
  if (!offer) throw new SdpNegotiationError('The session description is invalid');
  for (const [index, media] of offer.media.entries()) {
    const taken = agreeOn(media, local, before);
    if (!taken) continue;
    const sections = offer.media.map((each, at) => (at === index ? audioLine(local, taken.agreed, media.protocol, taken) : refused(each)));
    return { agreed: taken.agreed, answer: describe({ ...local, direction: taken.agreed.direction }, sections) };
  }
  throw new SdpNegotiationError('The session description has no supported audio stream');
}

/** Applies an answer to createOffer(). @throws SdpNegotiationError */
export function applyAnswer(text: string, local: LocalMediaDescription, before?: NegotiatedMedia): NegotiatedMedia {
  const answer = parseSdp(text);
  const media = answer?.media[0];
  if (!answer || !media) throw new SdpNegotiationError('The answer is invalid');
  if (answer.media.length !== 1) throw new SdpNegotiationError('The answer has other media streams than the offer');
  // Keys that were not offered are ignored. An encrypted call must never fall back to unencrypted audio.
  const secured = before?.keys !== undefined;
  const taken = agreeOn(secured ? media : { ...media, cryptos: [] }, local, before);
  if (secured && !taken?.agreed.keys) throw new SdpNegotiationError('The answer is not encrypted');
  if (!taken) throw new SdpNegotiationError('The answer accepts no offered codec');
  return taken.agreed;
}

type Taken = { agreed: NegotiatedMedia; crypto: Crypto | undefined; rtcpMux: boolean };

function agreeOn(media: Media, local: LocalMediaDescription, before: NegotiatedMedia | undefined): Taken | undefined {
  if (media.kind !== 'audio' || media.port === 0 || media.ip === undefined) return undefined;
  const secure = /^RTP\/SAVPF?$/.test(media.protocol);
  if (!secure && !/^RTP\/AVPF?$/.test(media.protocol)) return undefined;
  const crypto = media.cryptos.find(({ suite }) => suites.includes(suite));
  if (secure && !crypto) return undefined;
  const codec = media.formats.map((format) => ({ format, codec: codecOf(format) })).find((each) => each.codec !== undefined);
  if (!codec?.codec) return undefined;
  // RFC 2543 signals hold with an address of zeros.
  const held = media.ip === '0.0.0.0' || media.ip === '::';
  if (held && !before) return undefined;
  if (!held && !isReachable(media.ip, local.ip)) return undefined;
  const clockRate = codec.format.clockRate;
  const find = (name: string, rate = clockRate) =>
    media.formats.find((format) => format.name === name && format.clockRate === rate)?.payloadType;
  const events = find('telephone-event');
  const commonEvents = events === undefined ? find('telephone-event', commonEventRate) : undefined;
  const keys = crypto && { suite: crypto.suite as Suite, local: local.key, remote: crypto.key };
  const agreed: NegotiatedMedia = {
    codec: codec.codec,
    payloadType: codec.format.payloadType,
    dtmfPayloadType: events ?? commonEvents,
    ...(commonEvents !== undefined && { dtmfClockRate: commonEventRate }),
    comfortNoisePayloadType: find('cn'),
    remote: held && before ? before.remote : { ip: media.ip, port: media.port },
    keys,
    direction: held ? 'recvonly' : answered(media.direction, local.direction),
  };
  return { agreed, crypto, rtcpMux: media.rtcpMux };
}

function codecOf({ name, clockRate }: Format): CallCodec | undefined {
  const codec = callCodecs.find((each) => each.toLowerCase() === name);
  return codec !== undefined && clockRate === (codec === 'opus' ? 48_000 : 8000) ? codec : undefined;
}

/** Local direction for a remote direction (section 6.1). */
function answered(remote: Direction, wanted: Direction): Direction {
  const sends = (remote === 'sendrecv' || remote === 'recvonly') && (wanted === 'sendrecv' || wanted === 'sendonly');
  const receives = (remote === 'sendrecv' || remote === 'sendonly') && (wanted === 'sendrecv' || wanted === 'recvonly');
  if (sends) return receives ? 'sendrecv' : 'sendonly';
  return receives ? 'recvonly' : 'inactive';
}

/** Rejects addresses at which this node would send to itself or to a group: loopback only if the local address is loopback. */
function isReachable(ip: string, ownIp: string): boolean {
  if (isIP(ip) !== isIP(ownIp)) return false;
  const loopback = (address: string) => address.startsWith('127.') || address === '::1';
  if (loopback(ip)) return loopback(ownIp);
  if (isIP(ip) === 6) return !/^(ff|fe[89ab]|::$|::ffff:)/i.test(ip);
  const first = Number(ip.split('.')[0]);
  return first !== 0 && first < 224 && !ip.startsWith('169.254.');
}

function audioLine(
  local: LocalMediaDescription,
  negotiatedMedia: NegotiatedMedia,
  protocol: string,
  taken?: Pick<Taken, 'crypto' | 'rtcpMux'>,
): string[] {
  const { codec, payloadType, dtmfPayloadType: events, comfortNoisePayloadType: noise, keys } = negotiatedMedia;
  const found = offered.find((each) => each.codec === codec);
  const rate = codec === 'opus' ? 48_000 : 8000;
  const formats = [payloadType, events, noise].filter((each) => each !== undefined);
  const crypto = keys && `a=crypto:${taken?.crypto?.tag ?? 1} ${keys.suite} inline:${keys.local}`;
  const secured = keys && taken === undefined ? protocol.replace('/AVP', '/SAVP') : protocol;
  return [
    `m=audio ${local.port} ${secured} ${formats.join(' ')}`,
    ...formatLines(payloadType, found?.map ?? `${codec}/${rate}`, found?.fmtp),
    ...(events === undefined ? [] : formatLines(events, `telephone-event/${negotiatedMedia.dtmfClockRate ?? rate}`, '0-15')),
    ...(noise === undefined ? [] : formatLines(noise, `CN/${rate}`)),
    ...(crypto ? [crypto] : []),
    `a=ptime:${packetTime}`,
    ...(taken === undefined || taken.rtcpMux ? ['a=rtcp-mux'] : []),
    `a=${taken ? negotiatedMedia.direction : local.direction}`,
  ];
}

/** A rejected stream has port 0 (section 6). */
function refused({ kind, protocol, rawFormats }: Media): string[] {
  return [`m=${kind} 0 ${protocol} ${rawFormats[0] ?? '0'}`];
}

function formatLines(payloadType: number, map: string, fmtp?: string): string[] {
  return [`a=rtpmap:${payloadType} ${map}`, ...(fmtp === undefined ? [] : [`a=fmtp:${payloadType} ${fmtp}`])];
}

function describe({ ip, sessionId, version }: LocalMediaDescription, sections: readonly (readonly string[])[]): string {
  const address = `IN IP${isIP(ip)} ${ip}`;
  return `${['v=0', `o=- ${sessionId} ${version} ${address}`, 's=-', `c=${address}`, 't=0 0', ...sections.flat()].join('\r\n')}\r\n`;
}
