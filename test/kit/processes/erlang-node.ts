// Real Erlang nodes and a real epmd for tests, each with a separate EPMD port.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import { listNodes } from '../../../node/cluster/erlang/epmd/epmd-client.ts';
import { eventually } from '../eventually.ts';

export type Erl = {
  pid: number;
  name: string;
  /** Evaluates expressions, without the last full stop, and returns the result as Erlang prints it. */
  eval: (expressions: string) => Promise<string>;
  /** All output so far. */
  output: () => string;
  /** Resolves when a line of its output matches. */
  printed: (wanted: RegExp) => Promise<string>;
  kill: (signal: NodeJS.Signals) => void;
  ended: Promise<void>;
};

export type ErlOptions = {
  name: string;
  epmdPort: number;
  mode?: 'sname' | 'name';
  cookie?: string;
  args?: readonly string[];
  wrap?: readonly string[];
};

const startTimeoutMs = 60_000;
const evalTimeoutMs = 60_000;
const mark = '@@answer ';

/** Reads lines, evaluates them in order and prints each result after the mark. */
const evaluator = [
  'Loop = fun Loop(Bindings) ->',
  'case io:get_line("") of',
  'Line when is_list(Line) ->',
  '{ok, Tokens, _} = erl_scan:string(Line),',
  '{ok, Expressions} = erl_parse:parse_exprs(Tokens),',
  '{Value, Next} = try {value, V, B} = erl_eval:exprs(Expressions, Bindings), {V, B}',
  'catch Class:Reason -> {{Class, Reason}, Bindings} end,',
  `io:format("~n${mark}~0tp~n", [Value]), Loop(Next);`,
  '_ -> halt(0) end end,',
  `io:format("~n${mark}ready~n"),`,
  'Loop([]).',
].join(' ');

/** Starts `erl` as a node that evaluates expressions. Starts no epmd. Stopped with the test. */
export async function startErl(t: TestContext, options: ErlOptions): Promise<Erl> {
  const { name, epmdPort, mode = 'name', cookie = 'test_cookie', args = [], wrap = [] } = options;
  const flags = [`-${mode}`, name, '-setcookie', cookie, '-start_epmd', 'false', '-noshell', ...args, '-eval', evaluator];
  const [program = 'erl', ...before] = [...wrap, 'erl'];
  const child = spawn(program, [...before, ...flags], {
    env: { ...process.env, ERL_EPMD_PORT: String(epmdPort) },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const lines = new Lines(child);
  const ended = once(child, 'close').then(() => lines.end());
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await lines.answer(startTimeoutMs);
  return {
    pid: child.pid ?? 0,
    name,
    eval: (expressions) => {
      const answer = lines.answer(evalTimeoutMs);
      child.stdin.write(`${expressions}.\n`);
      return answer;
    },
    output: () => lines.text,
    printed: (wanted) => lines.printed(wanted, evalTimeoutMs),
    kill: (signal) => child.kill(signal),
    ended,
  };
}

/** Starts Erlang's own epmd in the foreground. Stopped with the test, or by `kill`. */
export async function startEpmd(t: TestContext, port: number): Promise<{ pid: number; kill: () => Promise<void> }> {
  const child = spawn('epmd', ['-port', String(port)], { stdio: 'ignore' });
  const ended = once(child, 'close');
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  t.after(kill);
  const answers = () =>
    listNodes({ host: '127.0.0.1', port }).then(
      () => true,
      () => false,
    );
  await eventually(`epmd answers on port ${port}`, answers, { within: startTimeoutMs, every: 20 });
  return { pid: child.pid ?? 0, kill };
}

/** Output of a command, both streams, and its exit code. */
export async function runCommand(command: string, args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

class Lines {
  #text = '';
  readonly #answers: ((answer: string) => void)[] = [];
  readonly #wanted = new Set<(line: string) => void>();
  readonly #failed: ((error: Error) => void)[] = [];

  constructor(child: ChildProcessByStdio<Writable, Readable, Readable>) {
    for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', (line) => this.#take(line));
  }

  get text(): string {
    return this.#text;
  }

  answer(deadline: number): Promise<string> {
    return this.#within(deadline, (resolve) => this.#answers.push(resolve));
  }

  printed(wanted: RegExp, deadline: number): Promise<string> {
    const found = this.#text.split('\n').find((line) => wanted.test(line));
    if (found !== undefined) return Promise.resolve(found);
    return this.#within(deadline, (resolve) =>
      this.#wanted.add((line) => {
        if (wanted.test(line)) resolve(line);
      }),
    );
  }

  end(): void {
    for (const fail of this.#failed.splice(0)) fail(new Error(`erl exited:\n${this.#text}`));
  }

  #within(deadline: number, begin: (resolve: (value: string) => void) => void): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const timer = setTimeout(() => reject(new Error(`no matching line from erl within ${deadline} ms:\n${this.#text}`)), deadline);
    this.#failed.push(reject);
    begin(resolve);
    return promise.finally(() => clearTimeout(timer));
  }

  #take(line: string): void {
    this.#text += `${line}\n`;
    if (line.startsWith(mark)) this.#answers.shift()?.(line.slice(mark.length));
    for (const look of this.#wanted) look(line);
  }
}
