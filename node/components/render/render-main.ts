// Render process: reads the report of a recording, plays its files and writes one MP4.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { validationMessage } from '../../../api/derive/validation-messages.ts';
import { maxReport, type Report, reportSchema } from '../../../api/recording-report.ts';
import { reportName } from '../../storage/report-file.ts';
import { connectToParent } from '../process/child-ipc.ts';
import { diskErrorMessage } from '../process/disk-error.ts';
import { renderPlan } from './plan.ts';
import { RenderJob } from './render-job.ts';
import { type RenderCommand, type RenderReport, renderCommandSchema } from './render-messages.ts';

/** Milliseconds between two progress reports. */
const progressInterval = 500;
/** Maximum of problem messages. */
const maxProblems = 100;

const { send } = connectToParent<typeof renderCommandSchema, RenderReport>(renderCommandSchema, (command) => void render(command));
let problems = 0;

async function render(command: RenderCommand): Promise<void> {
  try {
    const report = await readReport(command.folder);
    if (report.type === 'hls') throw new Error('This is a persistent stream, not a recording of tracks; it is already composed');
    const plan = renderPlan(report);
    for (const sentence of plan.skipped) tell(sentence);
    let told = 0;
    const onProgress = (time: number) => {
      if (performance.now() - told < progressInterval) return;
      told = performance.now();
      send({ type: 'progress', time, length: plan.length ?? null });
    };
    send({ type: 'done', duration: await RenderJob.run({ ...command, plan, onProgress, onProblem: tell }) });
  } catch (error) {
    send({ type: 'failed', sentence: diskErrorMessage(error) });
  }
}

function tell(sentence: string): void {
  problems += 1;
  if (problems <= maxProblems) send({ type: 'problem', sentence: sentence.slice(0, 1000) });
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
