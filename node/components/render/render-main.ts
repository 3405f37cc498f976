// The process that renders a recording: reads its report, plays its files, writes one.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { validationMessage } from '../../common/validation-messages.ts';
import { maxReport, type Report, reportSchema } from '../../rooms/shapes/recording-report.ts';
import { reportName } from '../../storage/report-file.ts';
import { connectToParent } from '../process/child-ipc.ts';
import { diskErrorMessage } from '../process/disk-error.ts';
import { renderPlan } from './plan.ts';
import { RenderJob } from './render-job.ts';
import { type RenderCommand, type RenderReport, renderCommandSchema } from './render-messages.ts';

/** Milliseconds between two reports of how far it is. */
const progressInterval = 500;
/** Sentences about what is missing; more help nobody. */
const maxProblems = 100;

const { send } = connectToParent<typeof renderCommandSchema, RenderReport>(renderCommandSchema, (command) => void render(command));
let problems = 0;

async function render(command: RenderCommand): Promise<void> {
  try {
    const report = await readReport(command.folder);
    if (report.type === 'hls') throw new Error('This is a stream that was kept, not a recording of tracks: it is composed already');
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

/** @throws Error with a sentence */
async function readReport(folder: string): Promise<Report> {
  const file = await open(join(folder, reportName), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      throw new Error(
        error.code === 'ENOENT' ? `There is no ${reportName} in the folder` : `${reportName} cannot be opened (${error.code})`,
      );
    },
  );
  try {
    const { size } = await file.stat();
    if (size > maxReport) throw new Error(`${reportName} is too large`);
    const parsed = reportSchema.safeParse(parse(await file.readFile('utf8')));
    if (!parsed.success) throw new Error(`${reportName} is none of a recording: ${validationMessage(parsed.error, undefined, 'it')}`);
    return parsed.data;
  } finally {
    await file.close();
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${reportName} is no JSON`);
  }
}
