// helm as a user runs it on the API server of a test, and the chart as it renders it.
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { type CommandResult, runCommand } from '../processes/command.ts';
import type { ApiServer } from './api-server.ts';
import { kubernetesPrograms } from './binaries.ts';

export const chartFolder = join(import.meta.dirname, '../../../helm');

export type Helm = (args: readonly string[], input?: string) => Promise<CommandResult>;

const deadline = 240_000;

/** As administrator of an API server; without one for commands that need none. `input`: standard input for `-f -`. */
export function helmOf(server?: ApiServer): Helm {
  const home = server ? join(server.dir, 'helm') : '/nonexistent';
  const env = { PATH: '/usr/bin:/bin', HOME: home, ...(server ? { KUBECONFIG: server.kubeconfig } : {}) };
  return async (args, input = '') => {
    const { helm } = kubernetesPrograms(['helm']);
    const { stderr, ...result } = await runCommand([helm, ...args], { input, env, timeoutMs: deadline, mayFail: true });
    // Removes its messages about every symbolic link of the chart.
    return { ...result, stderr: stderr.replace(/^level=INFO .*\n/gm, '') };
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

export type ChartOptions = {
  /** Name of the release. */
  release?: string;
  /** Templates to render, such as `rbac.yaml`; all if omitted. */
  only?: readonly string[];
  /** Values by path, as for `--set-json`. */
  values?: Record<string, unknown>;
};

export type ChartObject = { kind: string; metadata: { name: string; namespace?: string }; [field: string]: unknown };

/** The objects of the chart in the namespace `default`. @throws with the output of helm */
export async function renderChart({ release = 'mediarooms', only = [], values = {} }: ChartOptions = {}): Promise<ChartObject[]> {
  const set = Object.entries(values).flatMap(([path, value]) => ['--set-json', `${path}=${JSON.stringify(value)}`]);
  const shown = only.flatMap((name) => ['--show-only', `templates/${name}`]);
  const text = await mustRun(helmOf(), ['template', release, chartFolder, '--namespace', 'default', ...shown, ...set]);
  return parseAllDocuments(text).flatMap((document) => (document.contents ? [document.toJS() as ChartObject] : []));
}
