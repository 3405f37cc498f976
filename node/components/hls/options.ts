// Options of an hls component, and values derived from them.

import { hlsDefaults, hlsOptionsSchema } from '../../../api/component/hls.ts';
import { originsOf } from '../../../api/component/option.ts';
import { shownPlace } from '../../../api/component/s3-target.ts';
import { invalidFieldError } from '../../../api/derive/validation-messages.ts';
import { ServiceError } from '../../../api/errors.ts';
import { conflictMessages } from '../../storage/upload.ts';
import { gopTiming } from './composer/frame-schedule.ts';
import type { PlaylistTimes } from './playlist/playlist.ts';

/**
 * Approximate duration of a part in milliseconds, rounded to whole frames. Players stay three parts behind the live edge (PART-HOLD-BACK).
 */
const partDuration = 250;
/** Bits per second: video of 1280x720 at 24 frames per second, audio, and the minimum and maximum of video. */
const referenceBitrate = 2_000_000;
const referencePixels = 1280 * 720 * 24;
const audioBitrate = 128_000;
const minBitrate = 150_000;
const maxBitrate = 20_000_000;

export type HlsOptions = ReturnType<typeof parseOptions>;

/** Durations are seconds, as in REST. @throws ServiceError if an option is invalid */
export function parseOptions(options: unknown, hasServerS3: boolean) {
  const parsed = hlsOptionsSchema.safeParse(options);
  if (!parsed.success) throw invalidFieldError(parsed.error, options, 'options', 'options');
  const { data } = parsed;
  const read = {
    lowLatency: data.lowLatency ?? hlsDefaults.lowLatency,
    persistent: data.persistent ?? hlsDefaults.persistent,
    targetWindowDuration: data.targetWindowDuration ?? null,
    subscribeMode: data.subscribeMode ?? hlsDefaults.subscribeMode,
    origins: originsOf(data),
    width: data.width ?? hlsDefaults.width,
    height: data.height ?? hlsDefaults.height,
    framerate: data.framerate ?? hlsDefaults.framerate,
    segmentDuration: data.segmentDuration ?? hlsDefaults.segmentDuration,
    layout: data.layout ?? hlsDefaults.layout,
    names: data.names ?? hlsDefaults.names,
    captions: data.captions ?? hlsDefaults.captions,
    s3: data.s3 ?? undefined,
  };
  if (read.s3 && !read.persistent)
    throw new ServiceError('bad_request', 'Option s3 requires persistent: true, because other streams are not stored', {
      field: 'options.s3',
    });
  if (read.s3 && hasServerS3) throw new ServiceError('bad_request', conflictMessages.credentials, { field: 'options.s3' });
  return read;
}

export function segmentTimings({
  lowLatency,
  segmentDuration,
  framerate,
}: Pick<HlsOptions, 'lowLatency' | 'segmentDuration' | 'framerate'>): {
  times: PlaylistTimes;
  partDuration: number;
} {
  const frames = Math.max(1, Math.round((partDuration * framerate) / 1000));
  const part = Math.ceil((frames * 1000) / framerate);
  const target = segmentDuration * 1000;
  const { perPart, perSegment } = gopTiming(framerate, part, target);
  return { times: { target, partTarget: lowLatency ? part : undefined, partsPerSegment: perSegment / perPart }, partDuration: part };
}

/** Bits per second. The bit rate of video grows more slowly than its frame size. */
export function bitratesOf({ width, height, framerate }: Pick<HlsOptions, 'width' | 'height' | 'framerate'>): {
  video: number;
  audio: number;
} {
  const video = Math.round(referenceBitrate * ((width * height * framerate) / referencePixels) ** 0.75);
  return { video: Math.min(maxBitrate, Math.max(minBitrate, video)), audio: audioBitrate };
}

/** Options as REST returns them: without S3 keys, and without origins, which may change. */
export function publicOptions({ s3, origins: _, ...shown }: HlsOptions) {
  return s3 ? { ...shown, s3: shownPlace(s3) } : shown;
}
