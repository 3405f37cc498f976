// The operator as a separate process, as in its pod: for whole scenarios, signals and kill -9.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { operatorProgram } from '../../../tools/operator-bundle.mjs';
import { eventually } from '../eventually.ts';
import { type CommandResult, runCommand } from '../processes/command.ts';
import type { ApiServer } from './api-server.ts';
import { Child, type ChildEnd } from './child.ts';
import type { Scope } from './scope.ts';

const startTimeoutMs = 60_000;
let count = 0;

export type OperatorOptions = {
  /** Kubeconfig of an account; the administrator if omitted. */
  kubeconfig?: string;
  env?: Record<string, string>;
  args?: readonly string[];
  /** Another file than the bundle that setup built. */
  program?: string;
};

export class OperatorProcess {
  /** Its name in the Lease and in Events. */
  readonly identity: string;
  readonly #child: Child;

  constructor(child: Child, identity: string) {
    this.#child = child;
    this.identity = identity;
  }

  get pid(): number {
    return this.#child.pid;
  }

  get running(): boolean {
    return this.#child.end === undefined;
  }

  get ended(): Promise<ChildEnd> {
    return this.#child.ended;
  }

  /** Its output so far. */
  get output(): string {
    return existsSync(this.#child.log) ? readFileSync(this.#child.log, 'utf8') : '';
  }

  /** `http://127.0.0.1:<port>` of /metrics, /healthz and /readyz. */
  get url(): string | undefined {
    const port = /"port":(\d+),"msg":"metrics and health server listening"/.exec(this.output)?.[1];
    return port === undefined ? undefined : `http://127.0.0.1:${port}`;
  }

  /** The value of a metric, summed over its series whose labels contain `having`. */
  async metric(name: string, having = ''): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`, { signal: AbortSignal.timeout(30_000) })).text();
    const lines = text.split('\n').filter((line) => new RegExp(`^${name}[{ ]`).test(line) && line.includes(having));
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  /** Waits until its output matches. @throws with the output after the timeout */
  async says(what: RegExp, withinMs = startTimeoutMs): Promise<void> {
    const check = () => {
      const ended = this.#child.end !== undefined;
      if (what.test(this.output)) return true;
      if (ended) throw new Error(`the operator ended:\n${this.#child.tail()}`);
      return false;
    };
    await eventually(() => `the operator logs ${what}\n${this.#child.tail()}`, check, { within: withinMs, every: 20 });
  }

  /** SIGTERM by default; SIGKILL after 60 s. */
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<ChildEnd> {
    return this.#child.stop(signal, 60_000);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.signal(signal);
  }
}

/** Running when it returns; watches the namespace `default` by default. Killed with the scope. */
export function startOperator(scope: Scope, server: ApiServer, options: OperatorOptions = {}): OperatorProcess {
  count += 1;
  const env = environment(server, options);
  const log = join(server.dir, `operator-${count}.log`);
  const child = new Child([process.execPath, options.program ?? operatorProgram, ...(options.args ?? [])], { log, env, cwd: server.dir });
  const operator = new OperatorProcess(child, env.OPERATOR_IDENTITY ?? '');
  let ending: Promise<void> | undefined;
  const end = () => {
    ending ??= child.stop('SIGKILL').then(() => server.printed.printed(env.OPERATOR_IDENTITY ?? '', operator.output));
    return ending;
  };
  scope.after(end);
  server.beforeEnd(end);
  return operator;
}

/** Runs an operator that ends on its own. */
export async function runOperator(server: ApiServer, options: OperatorOptions): Promise<CommandResult> {
  count += 1;
  const command = [process.execPath, options.program ?? operatorProgram, ...(options.args ?? [])];
  const result = await runCommand(command, {
    env: environment(server, options),
    cwd: server.dir,
    timeoutMs: startTimeoutMs,
    mayFail: true,
  });
  server.printed.printed('an operator that ended on its own', result.stdout + result.stderr);
  return result;
}

function environment(server: ApiServer, options: OperatorOptions): NodeJS.ProcessEnv {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(SVC|LEGACY|OPERATOR)_|^KUBE/.test(name)));
  return {
    ...inherited,
    KUBECONFIG: options.kubeconfig ?? server.kubeconfig,
    OPERATOR_NAMESPACE: 'default',
    OPERATOR_IDENTITY: `operator-${count}`,
    OPERATOR_IP: '127.0.0.1',
    OPERATOR_PORT: '0',
    OPERATOR_LOG_LEVEL: 'debug',
    ...options.env,
  };
}
