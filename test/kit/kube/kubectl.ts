// kubectl as a user runs it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from '../eventually.ts';

const defaultTimeout = 90_000;

export type KubectlResult = { code: number; stdout: string; stderr: string };
export type KubectlOptions = {
  /** Standard input (`-f -`). */
  input?: string;
  /** Path of another kubeconfig, for example of another user. */
  kubeconfig?: string;
  /** Timeout in milliseconds until it is killed; 90 s, longer than `--timeout=60s`. */
  timeoutMs?: number;
};
export type Kubectl = (args: readonly string[], options?: KubectlOptions) => Promise<KubectlResult>;

/**
 * @param program path of kubectl
 * @param kubeconfig default kubeconfig
 * @param cache folder of its discovery cache
 */
export function kubectlOf(program: string, kubeconfig: string, cache: string): Kubectl {
  const run = async (args: readonly string[], options: KubectlOptions): Promise<KubectlResult> => {
    const env = { PATH: '/usr/bin:/bin', HOME: cache, KUBECONFIG: options.kubeconfig ?? kubeconfig, KUBECACHEDIR: cache };
    const child = spawn(program, args, { env, stdio: 'pipe', timeout: options.timeoutMs ?? defaultTimeout, killSignal: 'SIGKILL' });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    // It may end before it has read everything.
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
    const [code] = (await once(child, 'close')) as [number | null];
    return { code: code ?? 1, stdout, stderr };
  };
  return async (args, options = {}) => {
    const look = async () => {
      const result = await run(args, options);
      // `kubectl wait` of a CRD that is too new to have conditions.
      return !result.stderr.includes('.status.conditions accessor error') && result;
    };
    return await eventually('the CRD has conditions', look, { within: 2 * (options.timeoutMs ?? defaultTimeout) });
  };
}
