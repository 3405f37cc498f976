// Machine of a test: one process owns its network, mounts and processes, and all of them end with it. Needs root.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { type CommandOptions, type CommandResult, runCommand } from '../../processes/command.ts';

/** Process 1: sets up namespaces, reports readiness, and reaps orphans until it is killed. */
const firstProcess = `set -e
mount --make-rshared /
mount -t tmpfs tmpfs /run
ip link set lo up
while [ $# -gt 1 ]; do mount --bind "$1" "$2"; shift 2; done
echo ready
while :; do sleep 3600 & wait $!; done`;

export type MachineOptions = {
  /** Its host name. */
  name: string;
  /** Bind mounts from folders of this machine, for example `{'/var/log': '/tmp/logs'}`; `/run` is empty and private. */
  folders?: Readonly<Record<string, string>>;
};

export class Machine {
  readonly name: string;
  /** Process id of its process 1 on this machine. */
  readonly pid: number;
  readonly #holder: ChildProcess;

  private constructor(name: string, holder: ChildProcess, pid: number) {
    this.name = name;
    this.#holder = holder;
    this.pid = pid;
  }

  /** It ends with this process in any case, enforced by the kernel. */
  static async start({ name, folders = {} }: MachineOptions): Promise<Machine> {
    const binds = Object.entries(folders).flatMap(([inside, outside]) => [outside, inside]);
    const spaces = ['--net', '--mount', '--pid', '--uts', '--fork', '--kill-child=KILL', '--mount-proc', '--propagation=private'];
    const inside = ['bash', '-c', `hostname ${name}\n${firstProcess}`, 'machine', ...binds];
    const holder = spawn('setpriv', ['--pdeathsig', 'KILL', '--', 'unshare', ...spaces, '--', ...inside], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let complaint = '';
    holder.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text));
    const lines = createInterface({ input: holder.stdout });
    const said = await Promise.race([once(lines, 'line'), once(lines, 'close')]);
    if (said[0] !== 'ready') throw new Error(`The machine ${name} did not start: ${complaint}`);
    const [pid] = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8').trim().split(' ');
    return new Machine(name, holder, Number(pid));
  }

  /** Command prefix to run in it. Killing the prefix process by its id on this machine kills the command too. */
  get wrap(): readonly string[] {
    return ['nsenter', `--target=${this.pid}`, '--net', '--mount', '--pid', '--uts', '--'];
  }

  /** Command prefix to use only its network. */
  get wrapNetwork(): readonly string[] {
    return ['nsenter', `--target=${this.pid}`, '--net', '--'];
  }

  get lives(): boolean {
    return this.#holder.exitCode === null && this.#holder.signalCode === null;
  }

  /** @throws if it fails */
  run(command: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    return runCommand([...this.wrap, ...command], options);
  }

  /** Configures its network with lines of `ip`. */
  async ip(...lines: string[]): Promise<void> {
    await this.run(['ip', '-batch', '-'], { input: `${lines.join('\n')}\n` });
  }

  /** Writes a program that runs another program in its network. @returns the given path */
  async writeWrapper(path: string, program: string): Promise<string> {
    await writeFile(path, `#!/bin/sh\nexec ${this.wrapNetwork.join(' ')} ${program} "$@"\n`);
    await chmod(path, 0o755);
    return path;
  }

  /** Simulates a power failure: none of its processes is left when it returns. Idempotent. */
  async kill(): Promise<void> {
    if (!this.lives) return;
    const ended = once(this.#holder, 'exit');
    try {
      process.kill(this.pid, 'SIGKILL');
    } catch {
      // It has just ended.
    }
    if (this.lives) await ended;
  }
}
