// Options of an hls component, and what follows from them.
import { z } from 'zod';
import { ServiceError } from '../../errors.ts';
import { issueSentence } from '../../sentences.ts';
import { conflictSentences, s3PlaceSchema } from '../../storage/upload.ts';
import { layouts } from './composer-messages.ts';
import type { PlaylistTimes } from './playlist.ts';

const subscribeModes = ['auto', 'manual'] as const;

function integer(least: number, most: number) {
  const rule = `to be an integer from ${least} to ${most}`;
  return z.int({ error: rule }).min(least, rule).max(most, rule);
}
const even = (value: number) => value % 2 === 0;
const trueOrFalse = z.boolean({ error: 'to be true or false' }).nullable().optional();

const optionsSchema = z.strictObject({
  lowLatency: trueOrFalse,
  persistent: trueOrFalse,
  targetWindowDuration: integer(1, 86_400).nullable().optional(),
  subscribeMode: z.enum(subscribeModes, { error: 'to be auto or manual' }).nullable().optional(),
  width: integer(16, 3840).refine(even, 'to be even').nullable().optional(),
  height: integer(16, 2160).refine(even, 'to be even').nullable().optional(),
  framerate: integer(1, 60).nullable().optional(),
  segmentDuration: integer(1, 30).nullable().optional(),
  layout: z
    .enum(layouts, { error: `to be ${layouts.slice(0, -1).join(', ')} or ${layouts.at(-1)}` })
    .nullable()
    .optional(),
  names: trueOrFalse,
  s3: s3PlaceSchema.nullable().optional(),
});

/** Milliseconds that parts last about: whole pictures of them. */
const partDuration = 250;
const defaultSegment = 2;
/** Bits per second of 1280x720 at 24, of sound, and the least and most for pictures. */
const referenceBitrate = 2_000_000;
const referencePixels = 1280 * 720 * 24;
const audioBitrate = 128_000;
const leastBitrate = 150_000;
const mostBitrate = 20_000_000;

export type HlsOptions = ReturnType<typeof readOptions>;

/** Durations are seconds, as callers say them. @throws ServiceError with what is wrong */
export function readOptions(options: unknown, hasServerS3: boolean) {
  const parsed = optionsSchema.safeParse(options);
  if (!parsed.success) throw new ServiceError('invalid_field', issueSentence(parsed.error, options, 'options'));
  const { data } = parsed;
  const read = {
    lowLatency: data.lowLatency ?? true,
    persistent: data.persistent ?? false,
    targetWindowDuration: data.targetWindowDuration ?? null,
    subscribeMode: data.subscribeMode ?? ('auto' as const),
    width: data.width ?? 1280,
    height: data.height ?? 720,
    framerate: data.framerate ?? 24,
    segmentDuration: data.segmentDuration ?? defaultSegment,
    layout: data.layout ?? ('grid' as const),
    names: data.names ?? false,
    s3: data.s3 ?? undefined,
  };
  if (read.s3 && !read.persistent)
    throw new ServiceError('bad_request', 'Option s3 is for persistent streams only: the others are not kept');
  if (read.s3 && hasServerS3) throw new ServiceError('bad_request', conflictSentences.credentials);
  return read;
}

export function timesOf({ lowLatency, segmentDuration, framerate }: Pick<HlsOptions, 'lowLatency' | 'segmentDuration' | 'framerate'>): {
  times: PlaylistTimes;
  partDuration: number;
} {
  const pictures = Math.max(1, Math.round((partDuration * framerate) / 1000));
  const part = Math.ceil((pictures * 1000) / framerate);
  return { times: { target: segmentDuration * 1000, partTarget: lowLatency ? part : undefined }, partDuration: part };
}

/** Bits per second: what a picture needs grows more slowly than its size. */
export function bitratesOf({ width, height, framerate }: Pick<HlsOptions, 'width' | 'height' | 'framerate'>): {
  video: number;
  audio: number;
} {
  const video = Math.round(referenceBitrate * ((width * height * framerate) / referencePixels) ** 0.75);
  return { video: Math.min(mostBitrate, Math.max(leastBitrate, video)), audio: audioBitrate };
}

/** As callers see them: without the keys of S3. */
export function shownOptions({ s3, ...shown }: HlsOptions) {
  if (!s3) return shown;
  const { bucket, region = null, endpoint = null, pathPrefix = null } = s3;
  return { ...shown, s3: { bucket, region, endpoint, pathPrefix } };
}
