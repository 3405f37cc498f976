// Work on one recording of the render queue: downloads it if required, renders it, and stores the result.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { maxRenderProblems } from '../../../api/recording.ts';
import type { Report } from '../../../api/recording-report.ts';
import { maxReasonLength, type RenderOptions, renderedName } from '../../../api/render.ts';
import type { Log } from '../../common/log.ts';
import { markUploadPending, updateReportFile } from '../../storage/report-file.ts';
import type { Uploads } from '../../storage/upload.ts';
import type { RecordingDownloader } from './recording-download.ts';
import { render } from './render-runner.ts';

/** A queued or running job of the queue. */
export type Job = {
  id: string;
  folder: string;
  /** True if it exists only in S3. */
  archived: boolean;
  /** True if it is being uploaded to S3, so that the next one may start. */
  leaves: boolean;
  options: RenderOptions;
  state: 'queued' | 'running';
  progress: number;
  waitsFor: string | undefined;
  problems: string[];
  ending: AbortController;
  over: PromiseWithResolvers<void>;
};

export type RenderWorkDeps = {
  log: Log;
  uploads: Pick<Uploads, 'reopen'>;
  archived: Pick<RecordingDownloader, 'fetch' | 'keep'>;
  /** The result is being uploaded, so that the next job may start. */
  onLeaves: () => void;
};

/** @throws Error, or the reason of `ending` */
export async function workOn(job: Job, { log, uploads, archived, onLeaves }: RenderWorkDeps): Promise<void> {
  const { id, folder } = job;
  const began = performance.now();
  const going = {
    signal: job.ending.signal,
    onWait: (message: string) => {
      job.waitsFor = message;
    },
  };
  if (job.archived) {
    job.waitsFor = 'Downloading from S3';
    await archived.fetch(id, going);
    job.waitsFor = undefined;
  }
  const length = await renderFiles(job, log);
  const rendered = await renderedFacts(job, length);
  if (job.archived) {
    job.leaves = true;
    job.waitsFor = 'Uploading to S3';
    onLeaves();
    await archived.keep(id, rendered, going);
  } else {
    // The report lists the additional file.
    await updateReportFile(folder, (report) => ({ ...markUploadPending(report), rendered }));
    await uploads.reopen(id);
  }
  log.info({ recording: id, length, took: performance.now() - began }, 'recording rendered');
}

/** @returns milliseconds of the file */
function renderFiles(job: Job, log: Log): Promise<number> {
  const { id, folder, options, ending } = job;
  return render({
    ...options,
    folder,
    output: join(folder, renderedName),
    lowPriority: true,
    log: log.child({ recording: id }),
    signal: ending.signal,
    onProgress: (time, whole) => {
      job.progress = whole === null || whole === 0 ? 0 : Math.min(1, time / whole);
    },
    onProblem: (message) => {
      if (job.problems.length < maxRenderProblems) job.problems.push(message.slice(0, maxReasonLength));
    },
  });
}

async function renderedFacts({ folder, options, problems }: Job, duration: number): Promise<NonNullable<Report['rendered']>> {
  const { size } = await stat(join(folder, renderedName));
  return { file: renderedName, time: new Date().toISOString(), duration, bytes: size, ...options, problems };
}
