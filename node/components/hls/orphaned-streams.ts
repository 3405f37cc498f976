// Orphaned streams of ended processes: saves persistent ones as recordings and deletes the others.
import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { recordingIdSchema } from '../../../api/recording.ts';
import type { Report } from '../../../api/recording-report.ts';
import type { Log } from '../../common/log.ts';
import { Timer } from '../../common/timer.ts';
import { reportName, writeReportFile } from '../../storage/report-file.ts';
import type { Uploads } from '../../storage/upload.ts';
import { heartbeatTimeoutMs } from '../recording/recording.ts';
import { captionsName, mediaName, multivariantName } from './playlist/playlist.ts';
import { readStreamReport } from './stream-report.ts';

export type OrphanedStreamsOptions = {
  log: Log;
  /** Absolute path of the resources directory. */
  resources: string;
  uploads: Uploads;
  isRunning: (id: string) => boolean;
  now: () => number;
};

export function streamsFolder(resources: string): string {
  return join(resources, 'hls');
}

export function recordingsFolder(resources: string): string {
  return join(resources, 'recordings');
}

export class OrphanedStreams {
  readonly #options: OrphanedStreamsOptions;
  #again: Timer | undefined;
  #closed = false;

  constructor(options: OrphanedStreamsOptions) {
    this.#options = options;
  }

  /** Runs now, and again when no process can be working on the rest. Never rejects. */
  async start(): Promise<void> {
    const fresh = await this.recover();
    if (fresh > 0 && !this.#closed) this.#again = new Timer(heartbeatTimeoutMs, () => void this.recover());
  }

  close(): void {
    this.#closed = true;
    this.#again?.stop();
  }

  /** @returns the number of streams that another process may still be writing. Never rejects. */
  async recover(): Promise<number> {
    const { resources, isRunning, log } = this.#options;
    let fresh = 0;
    for (const id of await foldersIn(streamsFolder(resources))) {
      if (this.#closed) return fresh;
      if (isRunning(id)) continue;
      try {
        if (!(await this.#recoverOne(id))) fresh += 1;
      } catch (error) {
        // ENOENT: another node with the same folder was faster.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') log.error({ err: error, recording: id }, 'could not recover stream');
      }
    }
    await this.#resumeUploads().catch((error: unknown) => log.error({ err: error }, 'could not resume uploads of streams'));
    return fresh;
  }

  /**
   * Saves a stream of this process that could not be finished: the files that its playlist on disk lists become a recording, the other
   * files are deleted. @returns its folder; undefined if no media exists @throws Error if the disk write fails
   */
  async keep(id: string): Promise<string | undefined> {
    const found = await readStreamReport(join(streamsFolder(this.#options.resources), id));
    return found && (await this.#keepListed(id, found.report, this.#options.now()));
  }

  /** @returns false if another process may still be writing it */
  async #recoverOne(id: string): Promise<boolean> {
    const { resources, log, now } = this.#options;
    const folder = join(streamsFolder(resources), id);
    const found = await readStreamReport(folder);
    const touched = found?.touched ?? (await stat(folder)).mtimeMs;
    if (now() - touched < heartbeatTimeoutMs) return false;
    if (found && (await this.#keepListed(id, found.report, touched))) {
      log.info({ recording: id }, 'recovered orphaned stream');
    } else {
      await rm(folder, { recursive: true, force: true });
      log.info({ recording: id }, 'deleted orphaned stream');
    }
    return true;
  }

  /** `end`: milliseconds since 1970, used if the report has no end. */
  async #keepListed(id: string, report: Report, end: number): Promise<string | undefined> {
    const { resources } = this.#options;
    const folder = join(streamsFolder(resources), id);
    const files = await listedFiles(folder);
    if (!files) return undefined;
    const endTime = report.endTime ?? new Date(end).toISOString();
    const state = report.state === 'finished' ? 'finished' : 'recovered';
    for (const name of await readdir(folder)) if (!files.has(name)) await rm(join(folder, name), { recursive: true, force: true });
    await writeReportFile(folder, { ...report, state, endTime });
    await mkdir(recordingsFolder(resources), { recursive: true });
    const kept = join(recordingsFolder(resources), id);
    await rename(folder, kept);
    return kept;
  }

  /** Resumes uploads of streams whose process ended before all files were uploaded. */
  async #resumeUploads(): Promise<void> {
    const { uploads, resources, isRunning } = this.#options;
    for (const id of await uploads.orphaned('hls')) {
      if (this.#closed || isRunning(id) || (await exists(join(streamsFolder(resources), id)))) continue;
      const folder = join(recordingsFolder(resources), id);
      const files = await listedFiles(folder);
      const upload = await uploads.resume(id);
      if (!upload) continue;
      if (!files) {
        upload.discard();
        continue;
      }
      upload.relocated(folder);
      for (const file of files) upload.add(file);
      upload.finish();
    }
  }
}

async function foldersIn(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory() && recordingIdSchema.safeParse(entry.name).success).map(({ name }) => name);
}

/** Files of a persistent stream: those that its playlists list, and the playlists. Undefined if it has no playlist. */
async function listedFiles(folder: string): Promise<Set<string> | undefined> {
  const [text, captions] = await Promise.all(
    [mediaName, captionsName].map((name) => readFile(join(folder, name), 'utf8').catch(() => undefined)),
  );
  if (text === undefined || !(await exists(join(folder, multivariantName)))) return undefined;
  const named = [text, captions ?? ''].flatMap((each) => [...each.matchAll(/^#EXT-X-MAP:URI="([\w.-]+)"$|^([\w.-]+)$/gm)]);
  const playlists = [mediaName, multivariantName, ...(captions === undefined ? [] : [captionsName])];
  return new Set([...playlists, reportName, ...named.flatMap(([, init, segment]) => init ?? segment ?? [])]);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
