// Matroska or WebM file of one track (RFC 9559): a head followed by whole clusters, so that it is playable at any moment.
import { element, elementWithLongSize, float, idBytes, ids, text, unknownSize, unsigned, voidElement } from './ebml.ts';

/** `defaultDuration`: milliseconds per frame, if constant. */
export type MatroskaTrack = { docType: 'webm' | 'matroska'; codecId: string; codecPrivate?: Buffer | undefined } & (
  | { kind: 'audio'; channels: number; defaultDuration: number }
  | { kind: 'video'; width: number; height: number }
);

/** Milliseconds since the first frame. */
export type MatroskaFrame = { time: number; data: Buffer; key: boolean };

export const trackNumber = 1;
/** Bytes reserved after the head of the segment for the seek head, which is only known at the end. */
export const seekHeadReserve = 26;
const durationReserve = 11;
const application = 'Mediarooms';
const millisecond = 1_000_000;
/** Pre-roll that an Opus decoder needs before a seek position (RFC 7845, section 4.6), in nanoseconds. */
const opusPreRoll = 80 * millisecond;
/** Milliseconds from 1970 to 2001, the epoch of Matroska dates. */
const epoch = 978_307_200_000;

/** Everything before the first cluster. `date`: milliseconds since 1970 of the first frame. */
export function matroskaHead(track: MatroskaTrack, date: number): Buffer {
  const head = element(ids.ebml, text(ids.docType, track.docType), unsigned(ids.docTypeVersion, 4), unsigned(ids.docTypeReadVersion, 2));
  const dateUtc = Buffer.alloc(8);
  dateUtc.writeBigInt64BE(BigInt(Math.round(date - epoch)) * BigInt(millisecond));
  const info = element(
    ids.info,
    unsigned(ids.timestampScale, millisecond),
    text(ids.muxingApp, application),
    text(ids.writingApp, application),
    element(ids.dateUtc, dateUtc),
    voidElement(durationReserve),
  );
  return Buffer.concat([
    head,
    idBytes(ids.segment),
    unknownSize,
    voidElement(seekHeadReserve),
    info,
    element(ids.tracks, trackEntry(track)),
  ]);
}

function trackEntry(track: MatroskaTrack): Buffer {
  const common = [
    unsigned(ids.trackNumber, trackNumber),
    unsigned(ids.trackUid, trackNumber),
    unsigned(ids.trackType, track.kind === 'video' ? 1 : 2),
    unsigned(ids.flagLacing, 0),
    text(ids.codecId, track.codecId),
    ...(track.codecPrivate ? [element(ids.codecPrivate, track.codecPrivate)] : []),
  ];
  if (track.kind === 'video') {
    const size = [unsigned(ids.pixelWidth, track.width), unsigned(ids.pixelHeight, track.height)];
    return element(ids.trackEntry, ...common, element(ids.video, ...size));
  }
  return element(
    ids.trackEntry,
    ...common,
    unsigned(ids.defaultDuration, Math.round(track.defaultDuration * millisecond)),
    unsigned(ids.seekPreRoll, opusPreRoll),
    element(ids.audio, float(ids.samplingFrequency, 48_000), unsigned(ids.channels, track.channels)),
  );
}

/** Frames in order, spanning at most 32 seconds. */
export function cluster(frames: readonly MatroskaFrame[]): Buffer {
  const start = frames[0]?.time ?? 0;
  const blocks = frames.map(({ time, data, key }) => {
    const head = Buffer.alloc(4);
    head[0] = 0x80 | trackNumber;
    head.writeInt16BE(time - start, 1);
    head[3] = key ? 0x80 : 0;
    return element(ids.simpleBlock, head, data);
  });
  return elementWithLongSize(ids.cluster, unsigned(ids.timestamp, start), ...blocks);
}

/** OpusHead (RFC 7845, section 5.1). The pre-skip is 0, because the recording starts in the middle of a stream. */
export function opusHead(channels: number): Buffer {
  const head = Buffer.alloc(19);
  head.write('OpusHead');
  head[8] = 1;
  head[9] = channels;
  head.writeUInt32LE(48_000, 12);
  return head;
}
