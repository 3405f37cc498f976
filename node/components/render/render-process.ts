// Render process: reads the report of a recording, plays its files and writes one MP4.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { validationMessage } from '../../../api/derive/validation-messages.ts';
import { maxRenderProblems } from '../../../api/recording.ts';
import { maxReport, type Report, reportSchema } from '../../../api/recording-report.ts';
import { renderOptionsSchema } from '../../../api/render.ts';
import { reportName } from '../../storage/report-file.ts';
import { connectToParent } from '../process/child-ipc.ts';
import { diskErrorMessage } from '../process/disk-error.ts';
import { renderPlan } from './plan.ts';

const message = z.string().max(1000);

/** Absolute paths of the folder of the recording, and of the output file. */
const commandSchema = renderOptionsSchema.extend({ type: z.literal('start'), folder: z.string().max(4096), output: z.string().max(4096) });
export type RenderCommand = z.infer<typeof commandSchema>;

/** Times are milliseconds of the recording. */
export const renderReportSchema = z.discriminatedUnion('type', [
  /** `time` of about `length` milliseconds is rendered; `length` is null while unknown. */
  z.strictObject({ type: z.literal('progress'), time: z.number().min(0), length: z.number().min(0).nullable() }),
  /** A part of the recording is missing in the output. */
  z.strictObject({ type: z.literal('problem'), message }),
  z.strictObject({ type: z.literal('done'), duration: z.number().min(0) }),
  z.strictObject({ type: z.literal('failed'), message }),
]);
export type RenderReport = z.infer<typeof renderReportSchema>;

/** Milliseconds between two progress reports. */
const progressInterval = 500;

/** Runs the process. */
export async function render(): Promise<void> {
  // The node reads the schemas above without the codec library.
  const { RenderJob } = await import('./render-job.ts');
  let problems = 0;
  const tell = (text: string) => {
    problems += 1;
    if (problems <= maxRenderProblems) send({ type: 'problem', message: text.slice(0, 1000) });
  };
  const run = async (command: RenderCommand) => {
    const report = await readReport(command.folder);
    if (report.type === 'hls') throw new Error('This is a persistent stream, not a recording of tracks; it is already composed');
    const plan = renderPlan(report);
    for (const skipped of plan.skipped) tell(skipped);
    let reported = 0;
    const onProgress = (time: number) => {
      if (performance.now() - reported < progressInterval) return;
      reported = performance.now();
      send({ type: 'progress', time, length: plan.length ?? null });
    };
    send({ type: 'done', duration: await RenderJob.run({ ...command, plan, onProgress, onProblem: tell }) });
  };
  const { send } = connectToParent<typeof commandSchema, RenderReport>(commandSchema, (command) => {
    run(command).catch((error: unknown) => send({ type: 'failed', message: diskErrorMessage(error) }));
  });
}

/** @throws Error if the report is missing or invalid */
async function readReport(folder: string): Promise<Report> {
  const file = await open(join(folder, reportName), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      throw new Error(error.code === 'ENOENT' ? `The folder has no ${reportName}` : `Could not open ${reportName} (${error.code})`);
    },
  );
  try {
    const { size } = await file.stat();
    if (size > maxReport) throw new Error(`${reportName} is too large`);
    const parsed = reportSchema.safeParse(parse(await file.readFile('utf8')));
    if (!parsed.success) throw new Error(`${reportName} is not a valid report: ${validationMessage(parsed.error, undefined, 'it')}`);
    return parsed.data;
  } finally {
    await file.close();
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${reportName} is not valid JSON`);
  }
}
