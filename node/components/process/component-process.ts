// A process of one component that works on media: forked, spoken with, watched, and ended for certain.
import { type ChildProcess, fork } from 'node:child_process';
import { getCompileCacheDir } from 'node:module';
import { setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { Log } from '../../common/log.ts';
import { parentDeathSignalCommand } from '../../common/parent-death-signal.ts';
import { Timer } from '../../common/timer.ts';
import { maxMessageBytes, maxWaitingMessages } from './limits.ts';
import { memoryLimit, watchMemory } from './memory-watch.ts';
import { TrackGrowth } from './track-growth.ts';
import { MarksReader } from './track-marks.ts';

export type ComponentProcessOptions<Report> = {
  log: Log;
  /** Path of the module that calls connectToParent(). */
  module: string;
  reportSchema: z.ZodType<Report>;
  onReport: (report: Report) => void;
  /**
   * It is gone, for whatever reason; called once, also after end(). `reason` is a sentence, `tracks` are those (markTrack()) that it was at
   * work on; where it was killed for its memory those that it most likely grew for, and none where all processes together had too much.
   */
  onExit: (reason: string, tracks: number[]) => void;
  /** Absolute paths of folders that it may read, and that it may also write to; else it reads its own program alone. */
  reads?: readonly string[];
  writes?: readonly string[];
  /** How nice it is to other processes (setpriority(2)). */
  niceness?: number;
  /** Bytes of memory that it may have, all in all; less where the container is small. */
  maxMemory?: number;
  /** Milliseconds without a sign of life after which it hangs. */
  silence?: number;
};

const defaultMaxMemory = 1024 * 1024 * 1024;
/** Forwarding media comes first. */
const defaultNiceness = 5;
/** What an av process may read: programs and the font, nothing else of the checkout or image. */
const root = join(import.meta.dirname, '../../..');
const programs = [join(root, 'node'), join(root, 'node_modules'), join(root, 'package.json'), '/usr/share/fonts'];
/** Where what its programs were compiled to is kept: not where this process has its own, which it could change there. */
const compiledFolder = 'components';
/** Megabytes of JavaScript among them. */
const maxHeap = 256;
const defaultSilence = 6000;
/** Milliseconds for a process to start, and until its first sign of life: its program is read first, which takes a while on a busy machine. */
export const startTimeoutMs = 15_000;
/** Milliseconds for signs of life that wait behind a busy moment of this process. */
const secondLook = 500;
/** Lines of its errors that are logged. */
const maxLines = 100;

const tooMuchMemory = 'It used too much memory';
const tooMuchTogether = 'It used most of the memory of all components, which was too much';

export class ComponentProcess<Command extends object, Report> {
  readonly #options: ComponentProcessOptions<Report>;
  readonly #child: ChildProcess;
  readonly #messageSchema: z.ZodType<{ alive: true } | { report: Report }>;
  readonly #gone: Promise<unknown>;
  readonly #marks = new MarksReader();
  readonly #growth = new TrackGrowth();
  #unwatch: (() => void) | undefined;
  #silence: Timer | undefined;
  #waiting = 0;
  /** Why it was killed. */
  #fault: string | undefined;

  constructor(options: ComponentProcessOptions<Report>) {
    this.#options = options;
    this.#messageSchema = z.union([z.strictObject({ alive: z.literal(true) }), z.strictObject({ report: options.reportSchema })]);
    const running = getCompileCacheDir();
    const compiled = running === undefined ? [] : [join(dirname(running), compiledFolder)];
    const own = [`--max-old-space-size=${maxHeap}`, '--disable-warning=ExperimentalWarning', ...permissionsOf(options, compiled)];
    const [execPath = process.execPath, ...execArgv] = [...parentDeathSignalCommand, process.execPath, ...own];
    this.#child = fork(options.module, {
      execPath,
      execArgv,
      // Of this process's environment, which holds secrets, nothing.
      env: Object.fromEntries(compiled.map((folder) => ['NODE_COMPILE_CACHE', folder])),
      stdio: ['ignore', 'ignore', 'pipe', 'ipc', this.#marks.file],
    });
    if (this.#child.pid !== undefined) this.#begun(this.#child.pid);
    this.#gone = new Promise<void>((resolve) => {
      this.#child.once('exit', (code, signal) => {
        this.#silence?.stop();
        this.#unwatch?.();
        const tracks = this.#marks.close();
        resolve();
        const reason = this.#fault ?? (signal ? `It was ended by ${signal}` : `It ended with code ${code ?? 'unknown'}`);
        options.onExit(reason, this.#blamed(tracks));
      });
      // It could not be started: then there is no exit.
      this.#child.once('error', (error) => {
        if (this.#child.pid !== undefined) return;
        this.#marks.close();
        resolve();
        options.onExit(`It could not be started: ${error.message}`, []);
      });
    });
    this.#child.on('message', (message) => this.#hear(message));
    this.#logErrors();
    this.#watch(Math.max(startTimeoutMs, options.silence ?? 0));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** @throws RangeError for what is larger than a message may be */
  send(command: Command): void {
    if (Buffer.byteLength(JSON.stringify(command)) > maxMessageBytes) throw new RangeError('A command is too large');
    if (!this.#child.connected) return;
    if (this.#waiting >= maxWaitingMessages) {
      this.#kill('It reads no commands');
      return;
    }
    this.#waiting += 1;
    this.#child.send(command, () => {
      this.#waiting -= 1;
    });
  }

  /** Takes its pipe away, at which it ends, and kills it where it does not. Resolves when it is gone. Idempotent. */
  async end(deadline: number): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    const killer = new Timer(deadline, () => this.#kill('It did not end in time'));
    await this.#gone;
    killer.stop();
  }

  /** `marked`: what it was at work on when it ended. */
  #blamed(marked: number[]): number[] {
    if (this.#fault === tooMuchMemory) return this.#growth.greatest();
    return this.#fault === tooMuchTogether ? [] : marked;
  }

  #hear(message: unknown): void {
    this.#watch();
    const parsed = this.#messageSchema.safeParse(message);
    if (!parsed.success) this.#kill('It said what nobody understands');
    else if ('report' in parsed.data) this.#options.onReport(parsed.data.report);
  }

  #begun(pid: number): void {
    const { maxMemory = defaultMaxMemory, niceness = defaultNiceness } = this.#options;
    this.#unwatch = watchMemory({
      pid,
      limit: memoryLimit(maxMemory),
      onLook: (bytes) => this.#growth.look(bytes, this.#marks.read()),
      onTooMuch: (alone) => this.#kill(alone ? tooMuchMemory : tooMuchTogether),
    });
    try {
      // Threads that it makes later take it from its first one (sched(7)).
      setPriority(pid, niceness);
    } catch {
      // It has ended already.
    }
  }

  #watch(silence = this.#options.silence ?? defaultSilence): void {
    this.#silence?.stop();
    this.#silence = new Timer(silence, () => {
      this.#silence = new Timer(secondLook, () => this.#kill('It did not show life any more'));
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
      if (lines <= maxLines) this.#options.log.warn({ pid: this.pid, line: line.slice(0, 500) }, 'an av process wrote an error');
    });
  }
}

/** Node.js's permission model: what is not allowed here is refused, e.g. the environment of other processes in /proc, threads and children. */
function permissionsOf(
  { module, reads = [], writes = [] }: Pick<ComponentProcessOptions<never>, 'module' | 'reads' | 'writes'>,
  compiled: string[],
): string[] {
  const written = [...writes, ...compiled];
  return [
    '--permission',
    // node-av is one.
    '--allow-addons',
    '--disable-warning=SecurityWarning',
    ...[...programs, dirname(module), ...reads, ...written].map((path) => `--allow-fs-read=${path}`),
    ...written.map((path) => `--allow-fs-write=${path}`),
  ];
}
