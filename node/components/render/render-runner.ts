// Renders a recording to one MP4 in a separate process. The file appears only when it is complete.
import { rename, rm } from 'node:fs/promises';
import { constants } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { ServiceError } from '../../../api/errors.ts';
import type { Log } from '../../common/log.ts';
import { ComponentProcess } from '../process/component-process.ts';
import { isFfmpegAvailable } from '../process/installed.ts';
import { type RenderCommand, type RenderReport, renderReportSchema } from './render-process.ts';

export type RenderOptions = Omit<RenderCommand, 'type'> & {
  /** True if all other processes have priority. */
  lowPriority?: boolean;
  log: Log;
  /** Called at most twice a second with the rendered milliseconds and the approximate total; null while unknown. */
  onProgress: (time: number, length: number | null) => void;
  /** Called for each part of the recording that is missing in the output. */
  onProblem: (message: string) => void;
  /** Cancels the rendering. */
  signal: AbortSignal;
};

const endTimeoutMs = 3000;
/** Bytes: frames of many participants, and the lookahead of the encoder. */
const maxMemory = 2 * 1024 * 1024 * 1024;
/** Milliseconds without a heartbeat: long, because disks can be slow and no client waits. */
const silence = 60_000;

/** @returns duration of the file in milliseconds. @throws ServiceError with the reason, or the reason of `signal` */
export async function render({ log, onProgress, onProblem, signal, lowPriority = false, ...wanted }: RenderOptions): Promise<number> {
  if (!isFfmpegAvailable()) throw new ServiceError('unavailable', 'Rendering requires the package node-av, which is not installed');
  signal.throwIfAborted();
  const unfinished = join(dirname(wanted.output), `.${basename(wanted.output)}.${process.pid}.part`);
  const result = Promise.withResolvers<number>();
  const handleReport = (report: RenderReport) => {
    if (report.type === 'progress') onProgress(report.time, report.length);
    else if (report.type === 'problem') onProblem(report.message);
    else if (report.type === 'done') result.resolve(report.duration);
    else result.reject(new ServiceError('bad_request', report.message));
  };
  const child = new ComponentProcess<RenderCommand, RenderReport>({
    log,
    role: 'render',
    reportSchema: renderReportSchema,
    onReport: handleReport,
    onExit: (reason) => result.reject(new ServiceError('unavailable', `The render process crashed: ${reason}`)),
    reads: [wanted.folder],
    writes: [dirname(unfinished)],
    ...(lowPriority && { niceness: constants.priority.PRIORITY_LOW }),
    maxMemory,
    silence,
  });
  const abort = () => result.reject(signal.reason);
  signal.addEventListener('abort', abort);
  try {
    child.send({ type: 'start', ...wanted, output: unfinished });
    const duration = await result.promise;
    await rename(unfinished, wanted.output);
    return duration;
  } finally {
    signal.removeEventListener('abort', abort);
    await child.end(endTimeoutMs);
    await rm(unfinished, { force: true });
  }
}
