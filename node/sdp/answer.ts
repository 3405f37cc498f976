// SDP of the server (RFC 8829): describes a transport of the media worker (ICE lite) and what it receives or sends in each section.
import { randomBytes } from 'node:crypto';
import { type MediaDescription, type SessionDescription, write } from 'sdp-transform';
import type { z } from 'zod';
import type { transportOptionsSchema } from '../../api/media-objects.ts';
import type { Kind } from '../../api/track.ts';
import { type RtpParameters, writeCodecs } from './codecs.ts';
import { offerRejected } from './description.ts';
import type { DataSection, IceCredentials, Offer } from './offer.ts';

export type TransportOptions = z.output<typeof transportOptionsSchema>;
export type MediaAnswer = {
  kind: Kind;
  mid: string;
  direction: 'recvonly' | 'sendonly' | 'inactive';
  parameters: RtpParameters;
  /** The RIDs to receive, as the offer lists them. */
  rids: readonly string[];
  /** Stream and track id of what is sent. */
  msid?: { id: string; appdata: string };
};
/** A section without a transport and media, with the codecs of the offer: Pion fails if its codec is missing. */
export type RejectedSection = { kind: Kind; mid: string; direction: 'inactive'; codecs: RtpParameters['codecs'] };
export type AnswerSection = MediaAnswer | RejectedSection | Pick<DataSection, 'kind' | 'mid'>;
type DescriptionOptions = {
  transport: TransportOptions;
  /** In the order of the offer; at least one is not rejected. */
  sections: readonly AnswerSection[];
  /** Of newSessionId(). */
  sessionId: bigint;
  /** Grows with each description of a session. */
  version?: number;
};
export type AnswerOptions = DescriptionOptions & { offer: Pick<Offer, 'dtls' | 'mixedExtensions'> };
type Setup = 'active' | 'passive' | 'actpass';

/** Port of sections whose address is that of the ICE candidates (RFC 8839, section 4.2.1.3). */
const discardPort = 9;
const anyAddress = { version: 4, ip: '0.0.0.0' };

/** Random, up to 63 bits (RFC 8829, section 5.2.1). */
export function newSessionId(): bigint {
  return randomBytes(8).readBigUInt64BE() >> 1n;
}

export function writeAnswer({ offer, ...options }: AnswerOptions): string {
  return writeDescription(options, offer.dtls.role === 'server' ? 'active' : 'passive', offer.mixedExtensions);
}

/** An offer of the server: its sections keep their position in the later offers of a session. */
export function writeOffer(options: DescriptionOptions): string {
  return writeDescription(options, 'actpass', true);
}

function writeDescription(options: DescriptionOptions, setup: Setup, mixedExtensions: boolean): string {
  const { transport, sections, sessionId, version = 1 } = options;
  const accepted = sections.filter((section) => !isRejected(section));
  const media = sections.map((section) => {
    if (isRejected(section)) return rejectedSection(section);
    const described = section.kind === 'application' ? dataSection(section, transport) : mediaSection(section);
    const tagged = section === accepted[0];
    return { ...described, ...transportLines(setup, transport), ...(tagged && candidateLines(transport)) };
  });
  return write({
    version: 0,
    origin: { username: '-', sessionId: String(sessionId), sessionVersion: version, netType: 'IN', ipVer: 4, address: '127.0.0.1' },
    name: '-',
    timing: { start: 0, stop: 0 },
    icelite: 'ice-lite',
    iceOptions: 'trickle',
    ...(mixedExtensions && { extmapAllowMixed: 'extmap-allow-mixed' }),
    msidSemantic: { semantic: 'WMS', token: '*' },
    // RFC 9143, section 7.3.3: without rejected sections.
    groups: [{ type: 'BUNDLE', mids: accepted.map(({ mid }) => mid).join(' ') }],
    media,
  });
}

/** The ICE part of an answer after an ICE restart (RFC 8840, section 4.4). */
export function writeIceFragment(
  { kind, mid }: { kind: AnswerSection['kind']; mid: string },
  credentials: IceCredentials,
  transport: Pick<TransportOptions, 'iceCandidates'>,
): string {
  const section: MediaDescription = { ...emptySection(kind), mid, ...iceLines(credentials), ...candidateLines(transport) };
  const description = { icelite: 'ice-lite', iceOptions: 'trickle', media: [section] };
  const lines = write(description as SessionDescription).split('\r\n');
  return `${lines.filter((line) => /^[am]=/.test(line)).join('\r\n')}\r\n`;
}

export function isRejected(section: AnswerSection): section is RejectedSection {
  return 'codecs' in section;
}

function rejectedSection({ kind, mid, direction, codecs }: RejectedSection): MediaDescription {
  return { ...emptySection(kind), port: 0, connection: anyAddress, mid, direction, ...(codecs.length > 0 && writeCodecs(codecs)) };
}

/** Without formats; the grammar requires one. */
function emptySection(kind: AnswerSection['kind']) {
  return { type: kind, port: discardPort, protocol: 'UDP/TLS/RTP/SAVPF', payloads: '0', rtp: [], fmtp: [] };
}

function dataSection({ mid }: { mid: string }, { sctpParameters }: TransportOptions): MediaDescription {
  if (!sctpParameters) throw offerRejected(`Section ${mid} offers data channels, which are not available here`);
  const { port, maxMessageSize } = sctpParameters;
  return {
    ...{ type: 'application', port: discardPort, protocol: 'UDP/DTLS/SCTP', payloads: 'webrtc-datachannel', rtp: [], fmtp: [] },
    ...{ connection: anyAddress, mid, sctpPort: port, maxMessageSize },
  };
}

function mediaSection({ kind, mid, direction, parameters, rids, msid }: MediaAnswer): MediaDescription {
  const codecs = direction === 'sendonly' ? parameters.codecs : parameters.codecs.map(receivable);
  return {
    ...{ type: kind, port: discardPort, protocol: 'UDP/TLS/RTP/SAVPF', connection: anyAddress, mid, direction },
    ...{ rtcpMux: 'rtcp-mux', rtcpRsize: 'rtcp-rsize' },
    ...writeCodecs(codecs),
    ext: (parameters.headerExtensions ?? []).map(({ id, uri }) => ({ value: id, uri })),
    ...(rids.length > 0 && {
      rids: rids.map((id) => ({ id, direction: 'recv' })),
      ...(rids.length > 1 && { simulcast: { dir1: 'recv', list1: rids.join(';') } }),
    }),
    ...(msid && { msid: [msid], ...sentLines(parameters, msid) }),
  };
}

/** The SSRCs of what is sent, and of its retransmissions (RFC 5576). */
function sentLines({ encodings = [], rtcp }: RtpParameters, msid: { id: string; appdata: string }): Partial<MediaDescription> {
  const ssrcs = encodings.flatMap(({ ssrc, rtx }) => [ssrc, rtx?.ssrc]).filter((ssrc) => ssrc !== undefined);
  const pairs = encodings.flatMap(({ ssrc, rtx }) => (ssrc !== undefined && rtx ? [`${ssrc} ${rtx.ssrc}`] : []));
  return {
    ssrcs: ssrcs.flatMap((id) => [
      { id, attribute: 'cname', value: rtcp?.cname ?? msid.id },
      { id, attribute: 'msid', value: `${msid.id} ${msid.appdata}` },
    ]),
    ...(pairs.length > 0 && { ssrcGroups: pairs.map((ssrcs) => ({ semantics: 'FID', ssrcs })) }),
  };
}

/** In an answer that receives, format parameters state what is received (RFC 7587, section 7.1), not what the publisher prefers to get. */
function receivable(codec: RtpParameters['codecs'][number]): RtpParameters['codecs'][number] {
  if (codec.mimeType.toLowerCase() !== 'audio/opus') return codec;
  const { minptime, stereo, usedtx, 'sprop-stereo': sentStereo } = codec.parameters ?? {};
  return {
    ...codec,
    parameters: {
      ...(minptime !== undefined && { minptime }),
      useinbandfec: 1,
      ...((stereo === 1 || sentStereo === 1) && { stereo: 1 }),
      ...(usedtx !== undefined && { usedtx }),
    },
  };
}

function transportLines(setup: Setup, transport: TransportOptions): Partial<MediaDescription> {
  const { fingerprints } = transport.dtlsParameters;
  const fingerprint = fingerprints.find(({ algorithm }) => algorithm === 'sha-256') ?? fingerprints[0];
  return {
    ...iceLines(transport.iceParameters),
    ...(fingerprint && { fingerprint: { type: fingerprint.algorithm, hash: fingerprint.value } }),
    setup,
  };
}

function iceLines({ usernameFragment, password }: IceCredentials): Partial<MediaDescription> {
  return { iceUfrag: usernameFragment, icePwd: password };
}

function candidateLines({ iceCandidates }: Pick<TransportOptions, 'iceCandidates'>): Partial<MediaDescription> {
  return {
    candidates: iceCandidates.map(({ foundation, protocol, priority, address, port, type, tcpType }) => ({
      ...{ foundation, component: 1, transport: protocol, priority, ip: address, port, type },
      ...(tcpType !== undefined && { tcptype: tcpType }),
    })),
    endOfCandidates: 'end-of-candidates',
  };
}
