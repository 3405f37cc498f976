// A machine of a test's own: one process holds its network, its mounts and its processes. Where that dies everything in it does. Needs root.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { type CommandOptions, type CommandResult, runCommand } from './command.ts';

/** Process 1: makes what is private, says so, and takes in orphans until it is killed. */
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
  /** Folders of this machine that stand for those of that one, e.g. `{'/var/log': '/tmp/logs'}`; `/run` is empty and its own. */
  folders?: Readonly<Record<string, string>>;
};

export class Machine {
  readonly name: string;
  /** Of its process 1, as it is known out here. */
  readonly pid: number;
  readonly #holder: ChildProcess;

  private constructor(name: string, holder: ChildProcess, pid: number) {
    this.name = name;
    this.#holder = holder;
    this.pid = pid;
  }

  /** It dies with this process, however that ends: the kernel sees to it. */
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

  /** What a command begins with to run in it. Where the process that has the command's id out here is killed, the command is, too. */
  get wrap(): readonly string[] {
    return ['nsenter', `--target=${this.pid}`, '--net', '--mount', '--pid', '--uts', '--'];
  }

  /** What a command begins with to have its network only. */
  get wrapNetwork(): readonly string[] {
    return ['nsenter', `--target=${this.pid}`, '--net', '--'];
  }

  get lives(): boolean {
    return this.#holder.exitCode === null && this.#holder.signalCode === null;
  }

  /** @throws where it fails */
  run(command: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    return runCommand([...this.wrap, ...command], options);
  }

  /** Settings of its network, as lines of `ip`. */
  async ip(...lines: string[]): Promise<void> {
    await this.run(['ip', '-batch', '-'], { input: `${lines.join('\n')}\n` });
  }

  /** Writes a program that runs another one in its network. @returns path, which is given */
  async writeWrapper(path: string, program: string): Promise<string> {
    await writeFile(path, `#!/bin/sh\nexec ${this.wrapNetwork.join(' ')} ${program} "$@"\n`);
    await chmod(path, 0o755);
    return path;
  }

  /** As if its power failed: when it returns none of its processes is left. Idempotent. */
  async kill(): Promise<void> {
    if (!this.lives) return;
    const ended = once(this.#holder, 'exit');
    try {
      process.kill(this.pid, 'SIGKILL');
    } catch {
      // It ended by itself just now.
    }
    if (this.lives) await ended;
  }
}
