// Participant with LiveKit's native client, as a process in a network namespace: the client ignores loopback addresses.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import { eventually } from '../eventually.ts';
import { LastLines } from '../last-lines.ts';
import type { NetworkNamespace } from '../network/network-namespace.ts';
import type { NativeCommands } from './native-main.ts';

const main = join(import.meta.dirname, 'native-main.ts');
const within = { within: 60_000 };

type Note = { name: string; detail: unknown };
type Answer = { id: number; result?: unknown; error?: string };

export class NativePeer {
  readonly id: string;
  readonly notes: Note[] = [];
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>();
  #commands = 0;

  private constructor(id: string, child: ChildProcessByStdio<Writable, Readable, Readable>, log: LastLines) {
    this.id = id;
    this.#child = child;
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.startsWith('{"')) this.#read(JSON.parse(line), log);
    });
    createInterface({ input: child.stderr }).on('line', (line) => log.add(line));
    child.on('exit', () => {
      for (const { reject } of this.#pending.values()) reject(new Error(`the program of ${id} has ended`));
    });
  }

  /** Resolves when it is connected. `url`: of the node, reachable from the namespace. */
  static async join(
    t: TestContext,
    network: Pick<NetworkNamespace, 'name'>,
    url: string,
    identity: string,
    token: string,
  ): Promise<NativePeer> {
    const command = ['netns', 'exec', network.name, process.execPath, '--disable-warning=ExperimentalWarning', main];
    const child = spawn('ip', [...command, url.replace(/^http/, 'ws'), token], { stdio: 'pipe' });
    const ended = once(child, 'exit');
    t.after(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    const log = new LastLines();
    log.showIfFailed(t);
    const peer = new NativePeer(identity, child, log);
    await peer.waitForNote('connected');
    return peer;
  }

  do<Name extends keyof NativeCommands>(
    name: Name,
    ...args: Parameters<NativeCommands[Name]>
  ): Promise<Awaited<ReturnType<NativeCommands[Name]>>> {
    this.#commands += 1;
    const answer = Promise.withResolvers<unknown>();
    this.#pending.set(this.#commands, answer);
    this.#child.stdin.write(`${JSON.stringify({ id: this.#commands, name, args })}\n`);
    return answer.promise as Promise<Awaited<ReturnType<NativeCommands[Name]>>>;
  }

  /** Resolves when an event with this detail has occurred. */
  async waitForNote(name: string, detail?: unknown): Promise<void> {
    const text = JSON.stringify(detail);
    await eventually(
      () => `${this.id} notes ${name} ${text} among ${JSON.stringify(this.notes)}`,
      () => this.notes.some((note) => note.name === name && (detail === undefined || JSON.stringify(note.detail) === text)),
      within,
    );
  }

  /** Resolves when most of the audio of the other participant is this tone. */
  async hears(other: { id: string }, frequency: number): Promise<void> {
    await eventually(`${this.id} hears ${other.id}`, async () => (await this.do('share', other.id, frequency)) > 0.8, within);
  }

  /** Resolves when the video of the other participant has this color and moves. */
  async sees(other: { id: string }, colour: readonly number[]): Promise<void> {
    const before = (await this.do('frame', other.id))?.frames ?? 0;
    let seen: unknown;
    const sees = async () => {
      const frame = await this.do('frame', other.id);
      seen = frame;
      return frame && frame.frames > before + 2 && frame.colour.every((value, index) => Math.abs(value - (colour[index] ?? 0)) < 40);
    };
    await eventually(() => `${this.id} sees ${other.id}: ${JSON.stringify(seen)}`, sees, within);
  }

  #read(line: Note | Answer, log: LastLines): void {
    if (!('id' in line)) {
      log.add(JSON.stringify(line));
      this.notes.push(line);
      return;
    }
    const pending = this.#pending.get(line.id);
    this.#pending.delete(line.id);
    if (line.error === undefined) pending?.resolve(line.result);
    else pending?.reject(new Error(line.error));
  }
}
