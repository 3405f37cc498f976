// Renders a recording to one MP4, in a process of its own: the file is there when it is whole, or not at all.
import { rename, rm } from 'node:fs/promises';
import { constants } from 'node:os';
import { basename, dirname, extname, join } from 'node:path';
import { ServiceError } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import { ComponentProcess } from '../process/component-process.ts';
import { isFfmpegAvailable } from '../process/installed.ts';
import { type RenderCommand, type RenderReport, renderReportSchema } from './render-messages.ts';

export type RenderOptions = Omit<RenderCommand, 'type'> & {
  /** Whether everything else on the machine comes first. */
  lowPriority?: boolean;
  log: Log;
  /** At most twice a second. Milliseconds of the recording that are made, and how long it is about; null where nobody knows yet. */
  onProgress: (time: number, length: number | null) => void;
  /** Something of the recording is not in the file; a sentence. */
  onProblem: (sentence: string) => void;
  /** Ends it. */
  signal: AbortSignal;
};

/** Compiled or not, as this file is. */
const module = join(import.meta.dirname, `render-main${extname(import.meta.filename)}`);
const endTimeoutMs = 3000;
/** Bytes: pictures of many participants, and those that the encoder looks at. */
const maxMemory = 2 * 1024 * 1024 * 1024;
/** Milliseconds: disks are slow at times, and nobody is kept waiting. */
const silence = 60_000;

/** @returns milliseconds of the file. @throws ServiceError with what went wrong, the reason of `signal` where that came */
export async function render({ log, onProgress, onProblem, signal, lowPriority = false, ...wanted }: RenderOptions): Promise<number> {
  if (!isFfmpegAvailable()) throw new ServiceError('unavailable', 'Recordings cannot be rendered: the package node-av is not installed');
  signal.throwIfAborted();
  const unfinished = join(dirname(wanted.output), `.${basename(wanted.output)}.${process.pid}.part`);
  const result = Promise.withResolvers<number>();
  const hear = (report: RenderReport) => {
    if (report.type === 'progress') onProgress(report.time, report.length);
    else if (report.type === 'problem') onProblem(report.sentence);
    else if (report.type === 'done') result.resolve(report.duration);
    else result.reject(new ServiceError('bad_request', report.sentence));
  };
  const child = new ComponentProcess<RenderCommand, RenderReport>({
    log,
    module,
    reportSchema: renderReportSchema,
    onReport: hear,
    onExit: (reason) => result.reject(new ServiceError('unavailable', `The process that renders crashed: ${reason}`)),
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
