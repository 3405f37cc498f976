// Component process: forks a sandboxed process, exchanges messages, monitors it and guarantees its end.
import { type ChildProcess, fork } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { setPriority } from 'node:os';
import { dirname, extname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { Log } from '../../common/log.ts';
import { parentDeathSignalCommand } from '../../common/parent-death-signal.ts';
import { Timer } from '../../common/timer.ts';
import { maxMessageBytes, maxWaitingMessages } from './limits.ts';
import { memoryLimit, oomKills, watchMemory } from './memory-watch.ts';
import { TrackGrowth } from './track-growth.ts';
import { MarksReader } from './track-marks.ts';

/** What a component process does. */
export type Role = 'compose' | 'record' | 'render' | 'sip';

export type ComponentProcessOptions<Report> = {
  log: Log;
  role: Role;
  /** Path of an entry that replaces main.ts, for tests. */
  module?: string | undefined;
  reportSchema: z.ZodType<Report>;
  onReport: (report: Report) => void;
  /**
   * The process has ended; called once, also after end(). `reason` is the message. `tracks` are those marked with markTrack(); if it
   * exceeded its memory limit, those that most likely caused the growth; none if all processes together exceeded the limit, or if another
   * process killed it.
   */
  onExit: (reason: string, tracks: number[]) => void;
  /** Absolute paths of folders with read or write permission; otherwise it can only read its program. */
  reads?: readonly string[];
  writes?: readonly string[];
  /** Nice value of its scheduling priority (setpriority(2)). */
  niceness?: number;
  /** Memory limit in bytes; lower in a small container. */
  maxMemory?: number;
  /** Milliseconds without a heartbeat after which it counts as hanging. */
  silence?: number;
};

/** Has the extension of this file: compiled or not. */
const main = join(import.meta.dirname, `main${extname(import.meta.filename)}`);
const defaultMaxMemory = 1024 * 1024 * 1024;
/** Forwarding media has priority. */
const defaultNiceness = 5;
/** A component process can only read programs and the font, nothing else of the checkout or image. */
const root = join(import.meta.dirname, '../../..');
const programs = [join(root, 'api'), join(root, 'node'), join(root, 'node_modules'), join(root, 'package.json'), '/usr/share/fonts'];
/** Compile cache of component processes: separate from that of the node, which they could otherwise modify. */
const compiledFolder = 'components';
/** Maximum JavaScript heap in megabytes. */
const maxHeap = 256;
const defaultSilence = 6000;
/** Milliseconds for a process to start, until its first heartbeat: loading its program takes long on a busy CPU. */
export const startTimeoutMs = 15_000;
/** Milliseconds to wait for a heartbeat that may be queued, because this process was blocked itself. */
const secondCheck = 500;
/** Maximum of stderr lines that are logged. */
const maxLines = 100;

const tooMuchMemory = 'The process exceeded its memory limit';
const tooMuchTogether = 'The process used the most memory when all components exceeded their limit';

export class ComponentProcess<Command extends object, Report> {
  readonly #options: ComponentProcessOptions<Report>;
  readonly #child: ChildProcess;
  readonly #messageSchema: z.ZodType<{ alive: true } | { report: Report }>;
  readonly #ended: Promise<unknown>;
  readonly #marks = new MarksReader();
  readonly #growth = new TrackGrowth();
  readonly #oomKills = oomKills();
  #unwatch: (() => void) | undefined;
  #silence: Timer | undefined;
  #waiting = 0;
  /** Reason for which it was killed. */
  #fault: string | undefined;

  constructor(options: ComponentProcessOptions<Report>) {
    this.#options = options;
    this.#messageSchema = z.union([z.strictObject({ alive: z.literal(true) }), z.strictObject({ report: options.reportSchema })]);
    const running = getCompileCacheDir();
    const compiled = running === undefined ? [] : [join(dirname(running), compiledFolder)];
    const own = [`--max-old-space-size=${maxHeap}`, '--disable-warning=ExperimentalWarning', ...permissionsOf(options, compiled)];
    const [execPath = process.execPath, ...execArgv] = [...parentDeathSignalCommand, process.execPath, ...own];
    this.#child = fork(options.module ?? main, [options.role], {
      execPath,
      execArgv,
      // The environment of the node contains secrets, so it is not inherited.
      env: Object.fromEntries(compiled.map((folder) => ['NODE_COMPILE_CACHE', folder])),
      stdio: ['ignore', 'ignore', 'pipe', 'ipc', this.#marks.file],
    });
    if (this.#child.pid !== undefined) this.#begun(this.#child.pid);
    this.#ended = new Promise<void>((resolve) => {
      this.#child.once('exit', (code, signal) => {
        this.#silence?.stop();
        this.#unwatch?.();
        const tracks = this.#marks.close();
        resolve();
        const reason = this.#fault ?? (signal ? `The process was ended by ${signal}` : `The process exited with code ${code ?? 'unknown'}`);
        options.onExit(reason, this.#blamed(tracks, signal));
      });
      // If it could not be started, there is no exit event.
      this.#child.once('error', (error) => {
        if (this.#child.pid !== undefined) return;
        this.#marks.close();
        resolve();
        options.onExit(`Could not start the process: ${error.message}`, []);
      });
    });
    this.#child.on('message', (message) => this.#handle(message));
    this.#logErrors();
    this.#watch(Math.max(startTimeoutMs, options.silence ?? 0));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** @throws RangeError if the message is too large */
  send(command: Command): void {
    if (Buffer.byteLength(JSON.stringify(command)) > maxMessageBytes) throw new RangeError('The command exceeds the maximum message size');
    if (!this.#child.connected) return;
    if (this.#waiting >= maxWaitingMessages) {
      this.#kill('The process stopped reading commands');
      return;
    }
    this.#waiting += 1;
    this.#child.send(command, () => {
      this.#waiting -= 1;
    });
  }

  /** Closes its pipe, so that it exits, and kills it after the deadline. Resolves when it has ended. Idempotent. */
  async end(deadline: number): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    const killer = new Timer(deadline, () => this.#kill('The process did not exit in time'));
    await this.#ended;
    killer.stop();
  }

  /** `marked`: tracks that were in progress at its end. */
  #blamed(marked: number[], signal: NodeJS.Signals | null): number[] {
    if (this.#fault === tooMuchMemory) return this.#growth.greatest();
    // No crash ends with SIGKILL: the kernel sends it for lack of memory, and else another process, at a moment that no track determines.
    if (this.#fault === undefined && signal === 'SIGKILL' && oomKills() === this.#oomKills) return [];
    return this.#fault === tooMuchTogether ? [] : marked;
  }

  #handle(message: unknown): void {
    this.#watch();
    const parsed = this.#messageSchema.safeParse(message);
    if (!parsed.success) this.#kill('The process sent an invalid report');
    else if ('report' in parsed.data) this.#options.onReport(parsed.data.report);
  }

  #begun(pid: number): void {
    const { maxMemory = defaultMaxMemory, niceness = defaultNiceness } = this.#options;
    this.#unwatch = watchMemory({
      pid,
      limit: memoryLimit(maxMemory),
      onMeasure: (bytes) => this.#growth.check(bytes, this.#marks.read()),
      onTooMuch: (alone) => this.#kill(alone ? tooMuchMemory : tooMuchTogether),
    });
    setNiceness(pid, niceness);
  }

  #watch(silence = this.#options.silence ?? defaultSilence): void {
    this.#silence?.stop();
    this.#silence = new Timer(silence, () => {
      this.#silence = new Timer(secondCheck, () => this.#kill('The process stopped sending heartbeats'));
    });
  }

  #kill(fault: string): void {
    this.#fault ??= fault;
    this.#silence?.stop();
    this.#child.kill('SIGKILL');
  }

  #logErrors(): void {
    if (!this.#child.stderr) return;
    let lines = 0;
    createInterface({ input: this.#child.stderr }).on('line', (line) => {
      lines += 1;
      if (lines <= maxLines) this.#options.log.warn({ pid: this.pid, line: line.slice(0, 500) }, 'component process wrote to stderr');
    });
  }
}

/** Permission model of Node.js: denies everything else, such as threads, child processes and environments of other processes in /proc. */
function permissionsOf(
  { module = main, reads = [], writes = [] }: Pick<ComponentProcessOptions<never>, 'module' | 'reads' | 'writes'>,
  compiled: string[],
): string[] {
  const written = [...writes, ...compiled];
  return [
    '--permission',
    // node-av is an addon.
    '--allow-addons',
    '--disable-warning=SecurityWarning',
    ...[...programs, dirname(module), ...reads, ...written].map((path) => `--allow-fs-read=${path}`),
    ...written.map((path) => `--allow-fs-write=${path}`),
  ];
}

/** First that of its first thread, because threads that it creates later inherit it (sched(7)); on a busy computer it already has others. */
function setNiceness(pid: number, niceness: number): void {
  try {
    setPriority(pid, niceness);
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), niceness);
  } catch {
    // It has already ended.
  }
}
