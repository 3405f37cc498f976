// helm as a user runs it on the API server of a test.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ApiServer } from './api-server.ts';
import { kubernetesPrograms } from './binaries.ts';

export const chartFolder = join(import.meta.dirname, '../../../helm');

export type HelmResult = { code: number; stdout: string; stderr: string };
export type Helm = (args: readonly string[], input?: string) => Promise<HelmResult>;

const deadline = 240_000;

/** As administrator of an API server; without one for commands that need none. `input`: standard input for `-f -`. */
export function helmOf(server?: ApiServer): Helm {
  const home = server ? join(server.dir, 'helm') : '/nonexistent';
  const env = { PATH: '/usr/bin:/bin', HOME: home, ...(server ? { KUBECONFIG: server.kubeconfig } : {}) };
  return async (args, input = '') => {
    const { helm } = kubernetesPrograms(['helm']);
    const child = spawn(helm, args, { env, stdio: 'pipe', timeout: deadline, killSignal: 'SIGKILL' });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    // It may end before it has read everything.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    const [code] = (await once(child, 'close')) as [number | null];
    // Removes its messages about every symbolic link of the chart.
    return { code: code ?? 1, stdout, stderr: stderr.replace(/^level=INFO .*\n/gm, '') };
  };
}

/**
 * Helm 4.3 evaluates several states of a CRD concurrently, and may treat an earlier state as the last one: it fails before it has created
 * other objects, although the CRD works.
 */
const overtaken = /^Error: INSTALLATION FAILED: resource CustomResourceDefinition\S* not ready\. status: InProgress,/m;

/** @returns its output. @throws with its output if it fails */
export async function mustRun(helm: Helm, args: readonly string[], input?: string): Promise<string> {
  let { code, stdout, stderr } = await helm(args, input);
  if (code !== 0 && overtaken.test(stderr)) ({ code, stdout, stderr } = await helm(args, input));
  if (code !== 0) throw new Error(`helm ${args.join(' ')}: ${stderr}${stdout}`);
  return stdout;
}
