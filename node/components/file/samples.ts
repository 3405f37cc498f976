// Media samples of a file with their times: Opus packets of an Ogg file, or frames of an H.264 file.
import { h264Payloads } from '../rtp/h264-packetizer.ts';
import { AccessUnits, AnnexBSplitter } from './h264.ts';
import { OggOpusReader, opusSamples } from './ogg.ts';

/** RTP payloads of one sample. `timestamp` and `duration` are in units of the clock rate, from 0. */
export type MediaSample = { timestamp: number; duration: number; payloads: Buffer[] };

export const opusClockRate = 48_000;
export const videoClockRate = 90_000;

export type ByteChunks = AsyncIterable<Buffer>;

/** @throws MediaFileError */
export async function* readOpusSamples(byteChunks: ByteChunks): AsyncGenerator<MediaSample> {
  const reader = new OggOpusReader();
  let timestamp = 0;
  for await (const chunk of byteChunks) {
    for (const packet of reader.push(chunk)) {
      const duration = opusSamples(packet);
      if (duration === 0) continue;
      yield { timestamp, duration, payloads: [packet] };
      timestamp += duration;
    }
  }
}

/** @throws MediaFileError */
export async function* readH264Samples(byteChunks: ByteChunks, framerate: number): AsyncGenerator<MediaSample> {
  const splitter = new AnnexBSplitter();
  const units = new AccessUnits();
  let count = 0;
  const at = (frame: number) => Math.round((frame * videoClockRate) / framerate);
  const sample = (nals: readonly Buffer[]): MediaSample => {
    const timestamp = at(count);
    count += 1;
    return { timestamp, duration: at(count) - timestamp, payloads: h264Payloads(nals) };
  };
  for await (const chunk of byteChunks) {
    for (const nal of splitter.push(chunk)) {
      const unit = units.push(nal);
      if (unit) yield sample(unit);
    }
  }
  for (const nal of splitter.end()) {
    const unit = units.push(nal);
    if (unit) yield sample(unit);
  }
  const last = units.end();
  if (last) yield sample(last);
}
