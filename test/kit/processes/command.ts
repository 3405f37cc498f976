// Runs a program to its end.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

export type CommandOptions = {
  /** Standard input. */
  input?: string;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** Timeout in milliseconds until it is killed; 60 s. */
  timeoutMs?: number;
  /** Whether an exit code other than 0 is accepted. */
  mayFail?: boolean;
};

/** `bytes`: standard output, undecoded. */
export type CommandResult = { code: number; stdout: string; bytes: Buffer; stderr: string };

/** @throws with its output if it fails */
export async function runCommand(command: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const [program = '', ...args] = command;
  const { input = '', env = process.env, cwd, timeoutMs = 60_000, mayFail = false } = options;
  const child = spawn(program, args, { stdio: 'pipe', env, cwd, timeout: timeoutMs, killSignal: 'SIGKILL' });
  const chunks: Buffer[] = [];
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  // It may end before it has read everything.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  const bytes = Buffer.concat(chunks);
  const stdout = bytes.toString();
  if (code !== 0 && !mayFail) throw new Error(`${command.join(' ')}: ${code === null ? `killed by ${signal}` : code}\n${stdout}${stderr}`);
  return { code: code ?? 1, stdout, bytes, stderr };
}
