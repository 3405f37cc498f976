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

const timeoutMs = 60_000;
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
  await lines.answer();
  return {
    pid: child.pid ?? 0,
    name,
    eval: (expressions) => {
      const answer = lines.answer();
      child.stdin.write(`${expressions}.\n`);
      return answer;
    },
    output: () => lines.text,
    printed: (wanted) => lines.printed(wanted),
    kill: (signal) => child.kill(signal),
    ended,
  };
}

/** Starts Erlang's own epmd in the foreground, on loopback or on a host of a test. Stopped with the test, or by `kill`. */
export async function startEpmd(
  t: TestContext,
  port: number,
  { ip, wrap }: { ip: string; wrap: readonly string[] } = { ip: '127.0.0.1', wrap: [] },
): Promise<{ pid: number; kill: () => Promise<void> }> {
  const [program = '', ...args] = [...wrap, 'epmd', '-port', String(port)];
  const child = spawn(program, args, { stdio: 'ignore' });
  const ended = once(child, 'close');
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  t.after(kill);
  const answers = () =>
    listNodes({ host: ip, port }).then(
      () => true,
      () => false,
    );
  await eventually(`epmd answers on port ${port}`, answers, { within: timeoutMs, every: 20 });
  return { pid: child.pid ?? 0, kill };
}

/** Lines of its output, of which those with the mark are results of evaluations, in order. */
class Lines {
  readonly #lines: string[] = [];
  readonly #answers: string[] = [];
  #asked = 0;
  #ended = false;

  constructor(child: ChildProcessByStdio<Writable, Readable, Readable>) {
    for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', (line) => this.#take(line));
  }

  get text(): string {
    return `${this.#lines.join('\n')}\n`;
  }

  async answer(): Promise<string> {
    const index = this.#asked++;
    const answered = await this.#eventually('a result', () => index < this.#answers.length && { result: this.#answers[index] ?? '' });
    return answered.result;
  }

  printed(wanted: RegExp): Promise<string> {
    return this.#eventually(`a line ${wanted}`, () => this.#lines.find((line) => wanted.test(line)));
  }

  end(): void {
    this.#ended = true;
  }

  #eventually<Answer>(what: string, check: () => Answer) {
    const lookUntilEnd = () => {
      const found = check();
      if (!found && this.#ended) throw new Error(`erl exited:\n${this.text}`);
      return found;
    };
    return eventually(() => `${what} of erl:\n${this.text}`, lookUntilEnd, { within: timeoutMs, every: 10 });
  }

  #take(line: string): void {
    this.#lines.push(line);
    if (line.startsWith(mark)) this.#answers.push(line.slice(mark.length));
  }
}
