// Rendering: renders a recording to one MP4, with one interface for a single node and for a cluster.
import { z } from 'zod';
import { hlsDefaults, layouts } from './component-options.ts';
import type { RecordingArchive } from './recordings.ts';

/** Name of the rendered file in the folder of the recording. */
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
      .meta({ description: 'grid: all participants. speaker: the dominant speaker large. single: the dominant speaker alone.' }),
  })
  .meta({ id: 'RenderOptions', description: 'Size, frame rate and layout of the rendered video.' });
export type RenderOptions = z.output<typeof renderOptionsSchema>;

export const renderViewSchema = z
  .object({
    state: z.enum(['none', 'queued', 'running', 'done', 'failed']).meta({
      description: `none: not requested, or cancelled. queued: each node renders one recording at a time. done: the recording has the file ${renderedName}.`,
    }),
    progress: z.number().min(0).max(1).meta({ description: '0 while the duration of the recording is unknown.' }),
    reason: z.string().max(500).optional().meta({ description: 'Why rendering failed, or what it waits for.' }),
    problems: z.array(z.string()).max(100).optional().meta({ description: 'Missing parts of the recording, one sentence each.' }),
  })
  .meta({ id: 'Render', description: 'State of rendering a recording.' });
export type RenderView = z.infer<typeof renderViewSchema>;

export interface RenderControl {
  /**
   * Queues rendering on the node that stores the recording, or on this node if only S3 has it. If it is queued or running, nothing changes.
   * @throws ServiceError `not_found`, `bad_request` for a stream, `conflict` while the recording is running, `unavailable` if the queue is
   * full or the disk cannot be written
   */
  render(recordingId: string, options: RenderOptions): Promise<RenderView>;
  /** @throws ServiceError `not_found` */
  getRender(recordingId: string): Promise<RenderView>;
  /** Removes partial output; an earlier rendered file stays. @throws ServiceError `not_found` */
  cancelRender(recordingId: string): Promise<void>;
}

/**
 * Recordings in the S3 target shared by all nodes, as rendering uses them. All methods fail with ServiceError `unavailable` if it is
 * unreachable.
 */
export interface RenderSource extends Pick<RecordingArchive, 'open'> {
  /** True if an S3 target is configured. */
  isThere(): boolean;
  /**
   * Uploads a local file next to the files of a recording under the same name, then updates the report.
   * @throws ServiceError also `not_found` if the report does not exist; errors of the file system
   */
  add(id: string, path: string, changeReport: (report: object) => object, signal: AbortSignal): Promise<void>;
}

/** The renders of one node, as the cluster uses them. */
export interface LocalRenderService extends RenderControl {
  /** True if a recording that only S3 has is being rendered here, or failed here recently. Never fails. */
  holds(recordingId: string): Promise<boolean>;
}
