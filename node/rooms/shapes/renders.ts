// Rendering recordings to one MP4 each, as callers ask for it and see it: the same interface for one node and for a cluster.
import { z } from 'zod';
import { hlsDefaults, layouts } from './component-options.ts';
import type { RecordingArchive } from './recordings.ts';

/** What is made, beside the files of the recording. */
export const renderedName = 'rendered.mp4';

const pixels = (most: number) => {
  const rule = `to be an even integer from 16 to ${most}`;
  return z.int({ error: rule }).min(16, rule).max(most, rule).multipleOf(2, rule);
};
const rate = 'to be an integer from 1 to 60';

export const renderOptionsSchema = z
  .strictObject({
    width: pixels(3840).default(hlsDefaults.width),
    height: pixels(2160).default(hlsDefaults.height),
    framerate: z.int({ error: rate }).min(1, rate).max(60, rate).default(hlsDefaults.framerate),
    layout: z
      .enum(layouts, { error: `to be one of ${layouts.join(', ')}` })
      .default('grid')
      .meta({ description: 'grid: all pictures. speaker: the loudest large. single: the loudest alone.' }),
  })
  .meta({ id: 'RenderOptions', description: 'The picture that is rendered.' });
export type RenderOptions = z.output<typeof renderOptionsSchema>;

export const renderViewSchema = z
  .object({
    state: z.enum(['none', 'queued', 'running', 'done', 'failed']).meta({
      description: `none: nobody asked, or it was cancelled. queued: one recording is rendered at a time on each node. done: the recording has the file ${renderedName}.`,
    }),
    progress: z.number().min(0).max(1).meta({ description: '0 while nobody knows how long the recording is.' }),
    reason: z.string().max(500).optional().meta({ description: 'Why it failed, or what it waits for.' }),
    problems: z.array(z.string()).max(100).optional().meta({ description: 'What of the recording is not in the file, a sentence each.' }),
  })
  .meta({ id: 'Render', description: 'What has become of rendering a recording.' });
export type RenderView = z.infer<typeof renderViewSchema>;

export interface RenderControl {
  /**
   * Renders it when its turn comes, where it is or, if only S3 has it, here; where it is queued or running already, that goes on.
   * @throws ServiceError `not_found`, `bad_request` for a stream, `conflict` while the recording is being made, `unavailable` where the queue is
   * full or the disk refuses
   */
  render(recordingId: string, options: RenderOptions): Promise<RenderView>;
  /** @throws ServiceError `not_found` */
  getRender(recordingId: string): Promise<RenderView>;
  /** Nothing half-made is left. What was rendered before stays. @throws ServiceError `not_found` */
  cancelRender(recordingId: string): Promise<void>;
}

/** Recordings in the S3 storage of all nodes, as rendering needs them. All fail with ServiceError `unavailable` where it cannot be asked. */
export interface RenderSource extends Pick<RecordingArchive, 'open'> {
  /** Whether there is such a storage. */
  isThere(): boolean;
  /**
   * Puts a file of the disk beside those of a recording, under its own name, then the report as it is with it.
   * @throws ServiceError also `not_found` where the report is gone; what the disk throws
   */
  add(id: string, path: string, changeReport: (report: object) => object, signal: AbortSignal): Promise<void>;
}

/** Of one node, as the cluster uses it. */
export interface LocalRenderService extends RenderControl {
  /** Whether a recording that only S3 has is worked on here, or failed here a while ago. Never fails. */
  holds(recordingId: string): Promise<boolean>;
}
