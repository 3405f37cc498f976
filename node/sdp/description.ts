// SDP text (RFC 8866): parses descriptions within bounds.
import { type MediaDescription, parse, type SessionDescription } from 'sdp-transform';
import { ServiceError } from '../../api/errors.ts';

export type SdpLimits = { length: number; lines: number; sections: number };

/** Limits of a description. An offer of Chromium has about 150 lines for each video section. */
const defaultLimits: SdpLimits = { length: 64 * 1024, lines: 2_000, sections: 32 };
/**
 * Of clients that negotiate again for each track: a browser keeps the sections of tracks that ended, and with one connection lists all codecs
 * in each section that receives, about 5 KB for video.
 */
export const renegotiationLimits: SdpLimits = { length: 960 * 1024, lines: 32_000, sections: 256 };
const maxLineLength = 2_048;

/** An SDP that this node does not accept. The message is for the client. */
export function offerRejected(message: string): ServiceError {
  return new ServiceError('offer_rejected', message);
}

/** @throws ServiceError `offer_rejected` */
export function parseDescription(text: string, limits: SdpLimits = defaultLimits): SessionDescription {
  if (!text.startsWith('v=0')) throw offerRejected('The SDP does not begin with v=0');
  return parseLines(text, limits);
}

/** A description or a part of one (RFC 8840). @throws ServiceError `offer_rejected` */
export function parseLines(text: string, { length, lines: maxLines, sections }: SdpLimits = defaultLimits): SessionDescription {
  if (text.length > length) throw offerRejected(`The SDP is longer than ${length} characters`);
  const lines = text.split(/\r\n|\n/);
  if (lines.at(-1) === '') lines.pop();
  if (lines.length > maxLines) throw offerRejected(`The SDP has more than ${maxLines} lines`);
  const invalid = lines.findIndex((line) => !isLine(line));
  if (invalid >= 0) throw offerRejected(`Line ${invalid + 1} of the SDP is invalid`);
  if (lines.filter((line) => line.startsWith('m=')).length > sections) throw offerRejected(`The SDP has more than ${sections} sections`);
  const description = parse(lines.join('\r\n'));
  for (const [index, section] of description.media.entries())
    if (!isSection(section)) throw offerRejected(`Section ${index} of the SDP has an invalid m= line`);
  return description;
}

function isLine(line: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is rejected
  return line.length <= maxLineLength && /^[a-z]=[^\x00-\x08\x0a-\x1f\x7f]*$/.test(line);
}

/** sdp-transform omits the fields of an m= line that it cannot read. */
function isSection({ type, port, protocol }: Partial<MediaDescription>): boolean {
  return typeof type === 'string' && type !== '' && typeof port === 'number' && port <= 0xffff && typeof protocol === 'string';
}
