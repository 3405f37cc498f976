// Messages between a node and a render process.
import { z } from 'zod';
import { layouts } from '../../../api/component/hls.ts';

const pixels = (most: number) => z.int().min(16).max(most).multipleOf(2);
const sentence = z.string().max(1000);

export const renderCommandSchema = z.strictObject({
  type: z.literal('start'),
  /** Absolute path of the folder of the recording. */
  folder: z.string().max(4096),
  /** Absolute path of the output file. */
  output: z.string().max(4096),
  width: pixels(3840),
  height: pixels(2160),
  framerate: z.int().min(1).max(60),
  layout: z.enum(layouts),
});
export type RenderCommand = z.infer<typeof renderCommandSchema>;

/** Times are milliseconds of the recording. */
export const renderReportSchema = z.discriminatedUnion('type', [
  /** `time` of about `length` milliseconds is rendered; `length` is null while unknown. */
  z.strictObject({ type: z.literal('progress'), time: z.number().min(0), length: z.number().min(0).nullable() }),
  /** A part of the recording is missing in the output. */
  z.strictObject({ type: z.literal('problem'), sentence }),
  z.strictObject({ type: z.literal('done'), duration: z.number().min(0) }),
  z.strictObject({ type: z.literal('failed'), sentence }),
]);
export type RenderReport = z.infer<typeof renderReportSchema>;
