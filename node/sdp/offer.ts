// SDP of a client (RFC 8829): one bundled transport (RFC 9143) and its sections, with every value validated.
import type { MediaDescription, SessionDescription } from 'sdp-transform';
import type { z } from 'zod';
import { dtlsParametersSchema } from '../../api/media-objects.ts';
import type { Kind } from '../../api/track.ts';
import { type Codec, readCodecs } from './codecs.ts';
import { offerRejected, parseDescription, type SdpLimits } from './description.ts';
import { type Encoding, readEncodings, sentRids } from './encodings.ts';

/** Header extension that names the section of a packet (RFC 9143, section 16.2). */
export const midExtension = 'urn:ietf:params:rtp-hdrext:sdes:mid';

export type Direction = 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive';
export type DtlsParameters = z.output<typeof dtlsParametersSchema>;
/** ICE credentials (RFC 8839, section 5.4). */
export type IceCredentials = { usernameFragment: string; password: string };

export type MediaSection = {
  kind: Kind;
  mid: string;
  direction: Direction;
  /** True if the section has no transport: its track ended for good, or the other side did not accept it. */
  rejected: boolean;
  /** In the order of the offer. */
  codecs: Codec[];
  extensions: { uri: string; id: number }[];
  /** From the smallest to the largest. */
  encodings: Encoding[];
  /** In the order of the offer; empty without RIDs. */
  rids: string[];
  cname: string | undefined;
  /** Id of the track that is sent (RFC 8830). */
  trackId: string | undefined;
};
/** Data channels over SCTP (RFC 8841). */
export type DataSection = { kind: 'application'; mid: string; sctpPort: number; maxMessageSize: number | undefined };
export type Section = MediaSection | DataSection;

export type Offer = {
  ice: IceCredentials;
  /** `role`: that of the offerer. */
  dtls: DtlsParameters;
  /** Header extensions with one and with two bytes may be mixed (RFC 8285, section 4.1.2). */
  mixedExtensions: boolean;
  sections: Section[];
};

const maxExtensions = 32;
const maxExtensionId = 255;
/** RFC 8841, section 6.1: without the attribute. */
const defaultMaxMessageSize = 64 * 1024;
/** Role of the offerer by its setup attribute (RFC 8842, section 5): the answerer prefers to wait. */
const roles: Partial<Record<string, 'client' | 'server'>> = { actpass: 'client', active: 'client', passive: 'server' };

/** An offer, or the answer of a client to an offer of the server. @throws ServiceError `offer_rejected` */
export function parseOffer(text: string, limits?: SdpLimits): Offer {
  const description = parseDescription(text, limits);
  const { media } = description;
  if (media.length === 0) throw offerRejected('The offer has no section');
  const sections = media.map((section, index) => readSection(section, index, description));
  const mids = sections.map(({ mid }) => mid);
  if (new Set(mids).size < mids.length) throw offerRejected('Two sections of the offer have the same mid');
  const tagged = media[bundledFirst(description, sections)];
  if (!tagged) throw offerRejected('The offer must bundle all its sections (RFC 9143)');
  if (tagged.type !== 'application' && !tagged.rtcpMux) throw offerRejected('The offer must use rtcp-mux (RFC 5761)');
  return {
    ice: readIce(tagged, description),
    dtls: readDtls(tagged, description),
    mixedExtensions: description.extmapAllowMixed !== undefined || tagged.extmapAllowMixed !== undefined,
    sections,
  };
}

/** @throws ServiceError `offer_rejected` */
export function readIce(section: Pick<MediaDescription, 'iceUfrag' | 'icePwd'>, description: SessionDescription): IceCredentials {
  const usernameFragment = String(section.iceUfrag ?? description.iceUfrag ?? '');
  const password = String(section.icePwd ?? description.icePwd ?? '');
  if (!/^[A-Za-z0-9+/=_-]{4,256}$/.test(usernameFragment)) throw offerRejected('The SDP has no valid ice-ufrag');
  if (!/^[A-Za-z0-9+/=_-]{22,256}$/.test(password)) throw offerRejected('The SDP has no valid ice-pwd');
  return { usernameFragment, password };
}

/** Index of the section whose transport all others use. Encoders may list sections in the group that the offer does not have. */
function bundledFirst({ groups = [] }: SessionDescription, sections: readonly Section[]): number {
  const mids = sections.map(({ mid }) => mid);
  const group = groups.find(({ type }) => type === 'BUNDLE');
  if (!group) return mids.length === 1 ? 0 : -1;
  const bundled = String(group.mids).trim().split(/\s+/);
  // RFC 9143, section 7.3.3: a rejected section is not in the group.
  if (sections.some((section) => !bundled.includes(section.mid) && !isRejected(section))) return -1;
  return mids.indexOf(bundled.find((mid) => mids.includes(mid)) ?? '');
}

/** True for a section without a transport. */
export function isRejected(section: Section): boolean {
  return section.kind !== 'application' && section.rejected;
}

function readDtls(section: MediaDescription, description: SessionDescription): DtlsParameters {
  const setup = section.setup ?? description.setup ?? 'actpass';
  const role = roles[setup];
  if (!role) throw offerRejected('The setup attribute must be actpass, active or passive (RFC 8842)');
  const { type, hash } = section.fingerprint ?? description.fingerprint ?? {};
  if (type === undefined) throw offerRejected('The offer has no fingerprint; media must be encrypted with DTLS');
  const fingerprints = [{ algorithm: String(type), value: String(hash) }];
  const dtls = dtlsParametersSchema.safeParse({ role, fingerprints });
  if (!dtls.success) throw offerRejected('The fingerprint of the offer is invalid');
  return dtls.data;
}

function readSection(section: MediaDescription, index: number, description: SessionDescription): Section {
  const mid = String(section.mid ?? '');
  // RFC 8843 allows longer tokens; header extensions have room for 16 bytes.
  if (!/^[\x21-\x7e]{1,32}$/.test(mid)) throw offerRejected(`Section ${index} of the offer has no mid of at most 32 characters`);
  if (section.type === 'application') return readData(section, mid);
  const { type: kind, protocol } = section;
  if (kind !== 'audio' && kind !== 'video') throw offerRejected(`Section ${mid} is neither audio nor video`);
  if (!/^(?:(?:UDP|TCP)\/TLS\/)?RTP\/SAVPF?$/.test(protocol)) throw offerRejected(`Section ${mid} does not use encrypted RTP`);
  const rejected = section.port === 0 && section.bundleOnly === undefined;
  const codecs = readCodecs(section, kind);
  const extensions = readExtensions(section, mid);
  const rids = sentRids(section, mid);
  return {
    kind,
    mid,
    direction: rejected ? 'inactive' : (section.direction ?? description.direction ?? 'sendrecv'),
    rejected,
    codecs,
    extensions,
    encodings: readEncodings(section, mid, rids),
    rids,
    cname: cnameOf(section),
    trackId: trackIdOf(section),
  };
}

function readData({ protocol, sctpPort, maxMessageSize }: MediaDescription, mid: string): DataSection {
  if (!/^(?:(?:UDP|TCP)\/)?DTLS\/SCTP$/.test(protocol) || sctpPort === undefined || sctpPort < 1 || sctpPort > 0xffff)
    throw offerRejected(`Section ${mid} has no data channels over SCTP (RFC 8841)`);
  const size = maxMessageSize ?? defaultMaxMessageSize;
  // 0 means any size.
  return { kind: 'application', mid, sctpPort, maxMessageSize: size === 0 ? undefined : size };
}

function readExtensions({ ext = [] }: MediaDescription, mid: string): MediaSection['extensions'] {
  if (ext.length > maxExtensions) throw offerRejected(`Section ${mid} has more than ${maxExtensions} header extensions`);
  const read = ext
    .filter((each) => each['encrypt-uri'] === undefined && each.direction !== 'inactive')
    .map(({ value, uri }) => ({ uri: String(uri), id: Number(value) }));
  const repeats = (field: 'uri' | 'id') => new Set(read.map((each) => each[field])).size < read.length;
  const invalid = read.some(({ id, uri }) => !(id >= 1 && id <= maxExtensionId) || !/^[\x21-\x7e]{1,256}$/.test(uri));
  if (invalid || repeats('id') || repeats('uri')) throw offerRejected(`Section ${mid} has an invalid or a duplicate header extension`);
  return read;
}

function cnameOf({ ssrcs = [] }: MediaDescription): string | undefined {
  const cname = ssrcs.find(({ attribute }) => attribute === 'cname')?.value;
  return cname === undefined ? undefined : String(cname).slice(0, 255);
}

function trackIdOf({ msid: [first] = [] }: MediaDescription): string | undefined {
  return first?.appdata === undefined ? undefined : String(first.appdata).slice(0, 255);
}
