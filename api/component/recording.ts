// Options of a recording component.
import { z } from 'zod';
import { kube } from '../core/kube.ts';
import { type OptionRule, origins, originsRule, subscribeMode } from './option.ts';
import { s3InRoom, s3TargetSchema } from './s3-target.ts';

/** Defaults for options that are omitted or null. */
export const recordingDefaults = { subscribeMode: 'auto' } as const;

export const recordingOptionsSchema = z
  .strictObject({
    subscribeMode: subscribeMode.meta({
      description: 'auto: every track is recorded. manual: only tracks of origins and of later subscriptions.',
      default: recordingDefaults.subscribeMode,
    }),
    origins,
    pathPrefix: s3TargetSchema.shape.pathPrefix
      .nullable()
      .meta({ description: 'Prepended to every key in S3; requires credentials.' })
      .register(kube, { doc: 'Prepended to every key in S3; requires s3.' }),
    credentials: s3TargetSchema.nullable().optional().register(kube, s3InRoom),
  })
  .meta({ id: 'RecordingOptions', description: 'Records every track unchanged into a separate file.' });

export const recordingRules: readonly OptionRule[] = [{ option: 'pathPrefix', rule: 'has(self.s3)', message: 'needs s3' }, originsRule];
