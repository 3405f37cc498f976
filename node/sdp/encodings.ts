// Encodings of a sending section: from RIDs with simulcast (RFC 8851, RFC 8853), or from SSRCs and their groups (RFC 5576).
import type { MediaDescription } from 'sdp-transform';
import type { RtpParameters } from './codecs.ts';
import { offerRejected } from './description.ts';

export type Encoding = NonNullable<RtpParameters['encodings']>[number];

/** More layers than a consumer can switch between. */
const maxEncodings = 8;
const maxSsrc = 0xffff_ffff;
/** If the streams have temporal layers, consumers may choose them; the mode is not part of SDP. */
const layered = 'L1T3';
/** Common names of layers, from the smallest to the largest. */
const namedLayers = [
  ['q', 'h', 'f'],
  ['l', 'm', 'h'],
  ['lo', 'mid', 'hi'],
  ['low', 'mid', 'high'],
  ['low', 'medium', 'high'],
];

/**
 * The encodings from the smallest to the largest; empty if the section names neither RIDs nor SSRCs. `rids`: its sentRids().
 * @throws ServiceError `offer_rejected`
 */
export function readEncodings(section: MediaDescription, mid: string, rids: readonly string[]): Encoding[] {
  if (rids.length > maxEncodings) throw offerRejected(`Section ${mid} has more than ${maxEncodings} encodings`);
  if (rids.length > 0) return sizeOrder(rids, section).map((rid) => ({ rid, ...(rids.length > 1 && { scalabilityMode: layered }) }));
  return ssrcEncodings(section, mid);
}

/** RIDs of the streams to send, in the order of the offer; a paused stream may start later. */
export function sentRids({ rids = [], simulcast, simulcast_03: draft }: MediaDescription, mid: string): string[] {
  if (draft) throw offerRejected(`Section ${mid} offers simulcast in the form of a draft; RFC 8853 is supported`);
  const sent = rids.filter(({ direction }) => direction === 'send').map(({ id }) => String(id));
  if (sent.some((rid) => !/^[A-Za-z0-9_-]{1,32}$/.test(rid)) || new Set(sent).size < sent.length)
    throw offerRejected(`Section ${mid} has an invalid or a duplicate RID`);
  const list = simulcast?.dir1 === 'send' ? simulcast.list1 : simulcast?.dir2 === 'send' ? simulcast.list2 : undefined;
  if (list === undefined) return sent;
  // Of alternatives for one stream the first is the preferred one.
  const listed = String(list)
    .split(';')
    .map((stream) => (stream.split(',', 1)[0] ?? '').replace(/^~/, ''));
  if (listed.some((rid) => !sent.includes(rid)) || new Set(listed).size < listed.length)
    throw offerRejected(`The simulcast of section ${mid} names a RID that the section does not have`);
  return listed;
}

/**
 * SDP does not say which layer is the largest. Limits of the layers decide, then common names, then numbers, of which encoders give 0 to the
 * largest. Otherwise the first is the smallest, as browsers create them.
 */
function sizeOrder(rids: readonly string[], { rids: lines = [] }: MediaDescription): string[] {
  const limits = new Map(lines.map(({ id, params }) => [String(id), limitOf(params)]));
  const by = (rank: (rid: string) => number) => [...rids].sort((a, b) => rank(a) - rank(b));
  const limitsOf = rids.map((rid) => limits.get(rid) ?? 0);
  if (limitsOf.every((limit) => limit > 0) && new Set(limitsOf).size === rids.length) return by((rid) => limits.get(rid) ?? 0);
  const names = namedLayers.find((known) => rids.every((rid) => known.includes(rid)));
  if (names) return by((rid) => names.indexOf(rid));
  if (rids.every((rid) => /^\d{1,2}$/.test(rid))) return by((rid) => -Number(rid));
  return [...rids];
}

/** A measure of the size of a layer (RFC 8851, section 5); 0 if it has no limit. */
function limitOf(params: string | undefined): number {
  const [, limit] = /(?:^|;)\s*(?:max-width|max-height|max-fs|max-br)=(\d{1,9})/.exec(String(params ?? '')) ?? [];
  return Number(limit ?? 0);
}

function ssrcEncodings({ ssrcs = [], ssrcGroups = [] }: MediaDescription, mid: string): Encoding[] {
  const groups = ssrcGroups.map(({ semantics, ssrcs: list }) => ({ semantics, ids: String(list).trim().split(/\s+/).map(Number) }));
  const known = [...new Set(ssrcs.map(({ id }) => Number(id)))];
  for (const id of [...known, ...groups.flatMap(({ ids }) => ids)])
    if (!(Number.isInteger(id) && id >= 1 && id <= maxSsrc)) throw offerRejected(`Section ${mid} has an invalid SSRC`);
  const repairs = new Map(groups.flatMap(({ semantics, ids: [media = 0, rtx = 0] }) => (semantics === 'FID' ? [[media, rtx]] : [])));
  const helpers = new Set(groups.flatMap(({ semantics, ids }) => (semantics === 'SIM' ? [] : ids.slice(1))));
  const layers = groups.find(({ semantics }) => semantics === 'SIM')?.ids ?? known.filter((id) => !helpers.has(id));
  if (layers.length > maxEncodings) throw offerRejected(`Section ${mid} has more than ${maxEncodings} encodings`);
  const all = layers.flatMap((ssrc) => [ssrc, repairs.get(ssrc) ?? []].flat());
  if (new Set(all).size < all.length) throw offerRejected(`Section ${mid} has a duplicate SSRC`);
  return layers.map((ssrc) => {
    const rtx = repairs.get(ssrc);
    return { ssrc, ...(rtx !== undefined && rtx > 0 && { rtx: { ssrc: rtx } }), ...(layers.length > 1 && { scalabilityMode: layered }) };
  });
}
