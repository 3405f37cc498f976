// Real Prometheus that scrapes given targets every second, with temporary files; stopped with the test.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { stringify } from 'yaml';
import { z } from 'zod';
import { eventually } from '../eventually.ts';

/** An address, and the command prefix that runs a program there; the prefix must exec the command. */
export type PrometheusEndpoint = { address: string; wrap: readonly string[] };
export type Sample = { labels: Record<string, string>; value: number };

const startTimeoutMs = 60_000;
/** `msg="Listening on" address=127.0.0.1:39035`, in the log format of any release. */
const listening = /Listening on.*?address"?[=:]"?([\d.]+:\d+)/;

const resultSchema = z.object({
  data: z.object({ result: z.array(z.object({ metric: z.record(z.string(), z.string()), value: z.tuple([z.number(), z.string()]) })) }),
});

export class Prometheus {
  readonly #url: string;

  private constructor(url: string) {
    this.#url = url;
  }

  /** `jobs`: their targets, as `host:port`. `rules`: rule files. `place`: the machine to run on, if not this one. */
  static async start(
    t: TestContext,
    jobs: Readonly<Record<string, readonly string[]>>,
    rules: readonly string[] = [],
    { address, wrap }: PrometheusEndpoint = { address: '127.0.0.1', wrap: [] },
  ): Promise<Prometheus> {
    const folder = mkdtempSync(join(tmpdir(), 'mediarooms-prometheus-'));
    const config = {
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: rules,
      scrape_configs: Object.entries(jobs).map(([job, targets]) => ({ job_name: job, static_configs: [{ targets }] })),
    };
    writeFileSync(join(folder, 'prometheus.yml'), stringify(config));
    const flags = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=${address}:0`];
    const [program = '', ...args] = [...wrap, 'prometheus', ...flags];
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = once(child, 'close');
    t.after(async () => {
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    });
    return new Prometheus(`http://${await addressOf(child)}`);
  }

  /** The current value of an expression. */
  async query(expression: string): Promise<Sample[]> {
    const { data } = resultSchema.parse(await this.#get(`/api/v1/query?query=${encodeURIComponent(expression)}`));
    return data.result.map(({ metric, value: [, value] }) => ({ labels: metric, value: Number(value) }));
  }

  async #get(path: string): Promise<unknown> {
    const response = await fetch(this.#url + path, { signal: AbortSignal.timeout(30_000) });
    if (!response.ok && response.status !== 503) throw new Error(`Prometheus responded with ${response.status}: ${await response.text()}`);
    // Prometheus returns 503 until its data is open: no samples exist yet.
    return response.ok ? response.json() : { data: { result: [] } };
  }
}

/** The address that it logs. */
async function addressOf(child: ChildProcess): Promise<string> {
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text: string) => (said += text));
  const check = () => {
    if ((child.exitCode ?? child.signalCode) !== null) throw new Error(`Prometheus exited with code ${child.exitCode}:\n${said}`);
    return listening.exec(said)?.[1];
  };
  return eventually(() => `Prometheus listens:\n${said.slice(-10_000)}`, check, { within: startTimeoutMs });
}
