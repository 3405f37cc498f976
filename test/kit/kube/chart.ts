// The Helm chart as rendered by `helm template`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { kubernetesPrograms } from './binaries.ts';

const chart = join(import.meta.dirname, '../../../helm');

export type ChartOptions = {
  /** Name of the release. */
  release?: string;
  namespace?: string;
  /** Templates to render, such as `rbac.yaml`. */
  only?: readonly string[];
  /** Values by path, as for `--set-json`. */
  values?: Record<string, unknown>;
};

export type ChartObject = { kind: string; metadata: { name: string; namespace?: string }; [field: string]: unknown };

/** @throws with the output of helm */
export async function renderChart({
  release = 'mediarooms',
  namespace = 'default',
  only = [],
  values = {},
}: ChartOptions): Promise<ChartObject[]> {
  const set = Object.entries(values).flatMap(([path, value]) => ['--set-json', `${path}=${JSON.stringify(value)}`]);
  const shown = only.flatMap((name) => ['--show-only', `templates/${name}`]);
  const args = ['template', release, chart, '--namespace', namespace, ...shown, ...set];
  const { helm } = kubernetesPrograms(['helm']);
  const child = spawn(helm, args, { env: { PATH: '/usr/bin:/bin', HOME: '/nonexistent' }, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`helm template: ${stderr}`);
  return parseAllDocuments(stdout).flatMap((document) => (document.contents ? [document.toJS() as ChartObject] : []));
}
