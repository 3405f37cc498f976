// SDP (RFC 8866) of one audio stream: parses it within bounds and validates every value.
// Not sdp-transform: it loses media lines that it cannot read (`m=audio 4000/2 …`), and takes 40 times as long for a hostile description.
import { isIP } from 'node:net';

export type Direction = 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive';
export type Format = { payloadType: number /** Lower case. */; name: string; clockRate: number; fmtp: string | undefined };
export type Crypto = { tag: number; suite: string /** Base64 of master key and salt. */; key: string };
export type Media = {
  kind: string;
  port: number;
  protocol: string;
  /** Formats verbatim, for a rejection that repeats them. */
  rawFormats: string[];
  formats: Format[];
  /** Undefined if neither the stream nor the session has an address. */
  ip: string | undefined;
  direction: Direction;
  cryptos: Crypto[];
  rtcpMux: boolean;
};
export type SessionDescription = { media: Media[] };

const maxLength = 16 * 1024;
const maxLines = 400;
const maxLine = 1024;
const maxMedia = 16;
const maxFormats = 64;
const maxCryptos = 16;

/** RFC 3551, table 4: formats that need no rtpmap. */
const staticFormats: Record<number, readonly [string, number]> = {
  0: ['pcmu', 8000],
  8: ['pcma', 8000],
  9: ['g722', 8000],
  13: ['cn', 8000],
};
const directions: readonly string[] = ['sendrecv', 'sendonly', 'recvonly', 'inactive'];

/** @returns undefined if the description is invalid. Never throws. */
export function parseSdp(text: string): SessionDescription | undefined {
  if (text.length > maxLength) return undefined;
  const lines = text.split(/\r?\n/).filter((line) => line !== '');
  if (lines[0] !== 'v=0' || lines.length > maxLines || lines.some((line) => line.length > maxLine || !/^[a-z]=/.test(line)))
    return undefined;
  const starts = lines.flatMap((line, at) => (line.startsWith('m=') ? [at] : []));
  if (starts.length > maxMedia) return undefined;
  const session = lines.slice(0, starts[0]);
  const sessionIp = addressOf(session);
  if (sessionIp === null) return undefined;
  const media: Media[] = [];
  for (const [index, start] of starts.entries()) {
    const one = mediaOf(lines.slice(start, starts[index + 1]), sessionIp, directionOf(session));
    if (!one) return undefined;
    media.push(one);
  }
  return { media };
}

function mediaOf(lines: readonly string[], sessionIp: string | undefined, sessionDirection: Direction | undefined): Media | undefined {
  const [, kind = '', portText, protocol = '', list = ''] =
    /^m=([A-Za-z0-9-]{1,32}) (\d{1,5})(?:\/\d{1,5})? ([A-Za-z0-9/-]{1,64})((?: [!-~]{1,64})*) *$/.exec(lines[0] ?? '') ?? [];
  const port = Number(portText);
  if (kind === '' || !(port <= 65_535)) return undefined;
  const rawFormats = list.split(' ').filter((each) => each !== '');
  if (rawFormats.length > maxFormats) return undefined;
  const ip = addressOf(lines);
  if (ip === null) return undefined;
  return {
    kind,
    port,
    protocol: protocol.toUpperCase(),
    rawFormats,
    formats: formatsOf(rawFormats, lines),
    ip: ip ?? sessionIp,
    direction: directionOf(lines) ?? sessionDirection ?? 'sendrecv',
    cryptos: cryptosOf(lines),
    rtcpMux: lines.includes('a=rtcp-mux'),
  };
}

/** @returns undefined without an address, null for an invalid one */
function addressOf(lines: readonly string[]): string | undefined | null {
  const line = lines.find((each) => each.startsWith('c='));
  if (line === undefined) return undefined;
  // A name would require DNS, and a TTL means multicast.
  const [, version, ip = ''] = /^c=IN IP([46]) ([0-9A-Fa-f:.]{2,45})$/.exec(line.trimEnd()) ?? [];
  return version !== undefined && isIP(ip) === Number(version) ? ip : null;
}

function directionOf(lines: readonly string[]): Direction | undefined {
  const found = lines.find((line) => line.startsWith('a=') && directions.includes(line.slice(2).trimEnd()));
  return found?.slice(2).trimEnd() as Direction | undefined;
}

function formatsOf(payloadTypes: readonly string[], lines: readonly string[]): Format[] {
  const named = new Map<number, { name: string; clockRate: number }>();
  const fmtps = new Map<number, string>();
  for (const line of lines) {
    const map = /^a=rtpmap:(\d{1,3}) ([A-Za-z0-9-]{1,32})\/(\d{1,6})(?:\/\d{1,2})?\s*$/.exec(line);
    if (map) named.set(Number(map[1]), { name: (map[2] ?? '').toLowerCase(), clockRate: Number(map[3]) });
    const fmtp = /^a=fmtp:(\d{1,3}) (.{1,256})$/.exec(line);
    if (fmtp) fmtps.set(Number(fmtp[1]), fmtp[2] ?? '');
  }
  return payloadTypes.flatMap((text) => {
    const payloadType = Number(text);
    if (!/^\d{1,3}$/.test(text) || payloadType > 127) return [];
    const known = staticFormats[payloadType];
    const format = named.get(payloadType) ?? (known && { name: known[0], clockRate: known[1] });
    return format ? [{ payloadType, ...format, fmtp: fmtps.get(payloadType) }] : [];
  });
}

/** Usable keys (RFC 4568, section 6): one key, without MKI and without session parameters. */
function cryptosOf(lines: readonly string[]): Crypto[] {
  return lines
    .flatMap((line) => {
      const match = /^a=crypto:(\d{1,9}) ([A-Za-z0-9_]{1,64}) inline:([A-Za-z0-9+/]{40})(?:\|(?:2\^\d{1,2}|\d{1,15}))?\s*$/.exec(line);
      return match ? [{ tag: Number(match[1]), suite: match[2] ?? '', key: match[3] ?? '' }] : [];
    })
    .slice(0, maxCryptos);
}
