// Rendering a recording to one MP4: request body and state.
import { z } from 'zod';
import { hlsDefaults, layouts } from './component/hls.ts';
import { renderProblemsSchema } from './recording.ts';

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

export const maxReasonLength = 500;
export const renderViewSchema = z
  .object({
    state: z.enum(['none', 'queued', 'running', 'done', 'failed']).meta({
      description: `none: not requested, or cancelled. queued: each node renders one recording at a time. done: the recording has the file ${renderedName}.`,
    }),
    progress: z.number().min(0).max(1).meta({ description: '0 while the duration of the recording is unknown.' }),
    reason: z.string().max(maxReasonLength).optional().meta({ description: 'Why rendering failed, or what it waits for.' }),
    problems: renderProblemsSchema.optional(),
  })
  .meta({ id: 'Render', description: 'State of rendering a recording.' });
export type RenderView = z.infer<typeof renderViewSchema>;
