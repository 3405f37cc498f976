// kubectl as a user runs it.
import { eventually } from '../eventually.ts';
import { type CommandResult, runCommand } from '../processes/command.ts';

const defaultTimeout = 90_000;

export type KubectlOptions = {
  /** Standard input (`-f -`). */
  input?: string;
  /** Path of another kubeconfig, for example of another user. */
  kubeconfig?: string;
  /** Timeout in milliseconds until it is killed; 90 s, longer than `--timeout=60s`. */
  timeoutMs?: number;
};
export type Kubectl = (args: readonly string[], options?: KubectlOptions) => Promise<CommandResult>;

/**
 * @param program path of kubectl
 * @param kubeconfig default kubeconfig
 * @param cache folder of its discovery cache
 */
export function kubectlOf(program: string, kubeconfig: string, cache: string): Kubectl {
  return async (args, { input = '', kubeconfig: other = kubeconfig, timeoutMs = defaultTimeout } = {}) => {
    const env = { PATH: '/usr/bin:/bin', HOME: cache, KUBECONFIG: other, KUBECACHEDIR: cache };
    const check = async () => {
      const result = await runCommand([program, ...args], { input, env, timeoutMs, mayFail: true });
      // `kubectl wait` of a CRD that is too new to have conditions.
      return !result.stderr.includes('.status.conditions accessor error') && result;
    };
    return await eventually('the CRD has conditions', check, { within: 2 * timeoutMs });
  };
}

/** kubectl that returns its output, with flags before the arguments. It throws the message of kubectl if it fails. */
export function mustKubectl({ kubectl }: { kubectl: Kubectl }, flags: readonly string[] = [], timeoutMs?: number) {
  return async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await kubectl([...flags, ...args], timeoutMs === undefined ? {} : { timeoutMs });
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
}
