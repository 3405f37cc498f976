// Options of an hls component.
import { z } from 'zod';
import { kube, rule } from '../core/kube.ts';
import { integer, type OptionRule, origins, originsRule, subscribeMode, trueOrFalse } from './option.ts';
import { s3InRoom, s3TargetSchema } from './s3-target.ts';

export const layouts = ['grid', 'speaker', 'single'] as const;
export type Layout = (typeof layouts)[number];

/** Defaults for options that are omitted or null. Times in seconds. */
export const hlsDefaults = {
  lowLatency: true,
  persistent: false,
  subscribeMode: 'auto',
  width: 1280,
  height: 720,
  framerate: 24,
  segmentDuration: 2,
  layout: 'grid',
  names: false,
  captions: false,
} as const;

/** Sides of video frames are even, because H.264 here uses 4:2:0 chroma subsampling. */
const evenInteger = (least: number, most: number) =>
  integer(least, most)
    .refine((value) => value % 2 === 0, 'to be even')
    .register(kube, { rules: [rule('self % 2 == 0', 'must be even')] });

export const hlsOptionsSchema = z
  .strictObject({
    lowLatency: trueOrFalse.meta({ description: 'Low-latency HLS: viewers lag about 1.5 s.', default: hlsDefaults.lowLatency }),
    persistent: trueOrFalse.meta({ description: 'Keep the stream as video on demand after it ends.', default: hlsDefaults.persistent }),
    targetWindowDuration: integer(1, 86_400)
      .nullable()
      .optional()
      .meta({ description: 'Seconds that viewers can seek back; default: the whole stream.' }),
    subscribeMode: subscribeMode.meta({
      description: 'auto: the layout contains all peers and components. manual: only origins and later subscriptions.',
      default: hlsDefaults.subscribeMode,
    }),
    origins,
    width: evenInteger(16, 3840)
      .nullable()
      .optional()
      .meta({ description: 'Of the composed video, in pixels; even.', default: hlsDefaults.width }),
    height: evenInteger(16, 2160)
      .nullable()
      .optional()
      .meta({ description: 'Of the composed video, in pixels; even.', default: hlsDefaults.height }),
    framerate: integer(1, 60).nullable().optional().meta({ description: 'Frames per second.', default: hlsDefaults.framerate }),
    segmentDuration: integer(1, 30).nullable().optional().meta({ description: 'Seconds.', default: hlsDefaults.segmentDuration }),
    layout: z
      .enum(layouts, { error: `to be ${layouts.slice(0, -1).join(', ')} or ${layouts.at(-1)}` })
      .nullable()
      .optional()
      .meta({
        description: 'grid: all participants. speaker: the dominant speaker large. single: the dominant speaker alone.',
        default: hlsDefaults.layout,
      }),
    names: trueOrFalse.meta({ description: 'Show the names of peers below their videos.', default: hlsDefaults.names }),
    captions: trueOrFalse.meta({
      description: 'Offer the final transcripts of agents as captions: a rendition with WebVTT.',
      default: hlsDefaults.captions,
    }),
    s3: s3TargetSchema.nullable().optional().register(kube, s3InRoom),
  })
  .meta({ id: 'HlsOptions', description: 'One composed stream of the room for any number of viewers.' });

export const hlsRules: readonly OptionRule[] = [
  {
    option: 's3',
    rule: '(has(self.persistent) && self.persistent)',
    message: 'needs persistent, because other streams are not kept',
  },
  originsRule,
];
