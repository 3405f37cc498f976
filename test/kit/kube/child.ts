// Child process of a test: its output is written to a file, and it ends with the process of the test in any case.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { parentDeathSignalCommand } from '../../../node/common/parent-death-signal.ts';

export type ChildOptions = {
  /** File to which its output is appended. */
  log: string;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** Command prefix, for example to run it in a network namespace; must exec the command. */
  wrap?: readonly string[];
};

export type ChildEnd = { code: number | null; signal: NodeJS.Signals | null };

export class Child {
  readonly ended: Promise<ChildEnd>;
  readonly log: string;
  readonly #process: ChildProcess;
  #end: ChildEnd | undefined;

  constructor(command: readonly string[], { log, env, cwd, wrap = [] }: ChildOptions) {
    const [program = '', ...args] = [...wrap, ...parentDeathSignalCommand, ...command];
    const output = openSync(log, 'a');
    this.log = log;
    this.#process = spawn(program, args, { stdio: ['ignore', output, output], env, cwd });
    closeSync(output);
    this.ended = this.#waitForEnd();
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** undefined while it runs. */
  get end(): ChildEnd | undefined {
    return this.#end;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Sends the signal, and kills it after the timeout. */
  async stop(signal: NodeJS.Signals = 'SIGKILL', timeoutMs = 30_000): Promise<ChildEnd> {
    this.signal(signal);
    const timer = setTimeout(() => this.signal('SIGKILL'), timeoutMs);
    const end = await this.ended;
    clearTimeout(timer);
    return end;
  }

  /** The end of its output. */
  tail(bytes = 3_000): string {
    return existsSync(this.log) ? readFileSync(this.log, 'utf8').slice(-bytes) : '';
  }

  async #waitForEnd(): Promise<ChildEnd> {
    try {
      const [code, signal] = (await once(this.#process, 'exit')) as [number | null, NodeJS.Signals | null];
      this.#end = { code, signal };
    } catch {
      // It could not be started.
      this.#end = { code: 127, signal: null };
    }
    return this.#end;
  }
}
