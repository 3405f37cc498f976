// Pairs of the comparison with LiveKit: both servers in turn, until enough pairs were measured on a quiet machine.
import { waitUntilQuiet } from '../machine.ts';
import type { BenchOptions, Report, Row } from '../report.ts';
import { type LivekitCase, objectionTo, type Pair, type Sample, type Side } from './cases.ts';
import type { ServerNetwork } from './servers.ts';

const quietTimeoutMs = 60_000;

export type PairDeps = {
  /** Measures one server that is started for it. */
  measure: (side: Side, load: readonly string[], timeoutMs: number) => Promise<Sample>;
  /** Resolves when other programs do little. */
  quiet: () => Promise<unknown>;
  note: (line: string) => void;
};

export type PairOptions = {
  /** Number of pairs that count; twice as many are measured at most. */
  wanted: number;
  /** Every pair counts. */
  force: boolean;
  /** Few receivers for a short time. */
  quick: boolean;
};

/** @returns the pairs that count: fewer than wanted if the machine was not quiet, or a server failed */
export async function runPairs(of: LivekitCase, deps: PairDeps, { wanted, force, quick }: PairOptions): Promise<Pair[]> {
  const pairs: Pair[] = [];
  const load = quick ? [...of.load, ...of.quick] : of.load;
  for (let round = 0; round < 2 * wanted && pairs.length < wanted; round += 1) {
    const samples: Partial<Record<Side, Sample>> = {};
    // The order alternates, so that a drift of the machine affects both.
    const order: readonly Side[] = round % 2 === 0 ? ['livekit', 'mediarooms'] : ['mediarooms', 'livekit'];
    for (const side of order) {
      if (!force) await deps.quiet();
      const sample = await deps.measure(side, load, of.timeoutMs).catch((error: unknown) => {
        deps.note(`${of.name}: ${side} failed: ${error instanceof Error ? error.message : error}`);
        return undefined;
      });
      const objection = sample && objectionTo(sample, of);
      if (objection !== undefined) deps.note(`${of.name}: ${side}: ${objection}`);
      if (sample && (force || objection === undefined)) samples[side] = sample;
    }
    const { mediarooms, livekit } = samples;
    if (mediarooms && livekit) pairs.push({ mediarooms, livekit });
    deps.note(`${of.name}: ${pairs.length} of ${wanted} pairs`);
  }
  return pairs;
}

/** `network`: closed at the end. */
export type Comparison = { name: string; title: string; report: Report; options: BenchOptions; network: ServerNetwork };

/** The chosen ones. @throws if one does not exist */
export function chosenCases<Of extends Pick<LivekitCase, 'name'>>(all: readonly Of[], { cases }: Pick<BenchOptions, 'cases'>): Of[] {
  const chosen = all.filter(({ name }) => cases.length === 0 || cases.includes(name));
  if (chosen.length < cases.length) throw new Error(`the cases are ${all.map(({ name }) => name).join(', ')}`);
  return chosen;
}

/** Measures the cases one after the other, and reports the pairs that count. @throws if there are too few */
export async function compare<Of extends LivekitCase>(
  { name, title, report, options, network }: Comparison,
  cases: readonly Of[],
  measureOf: (of: Of) => PairDeps['measure'],
): Promise<void> {
  const rows: Row[] = [];
  const incomplete: string[] = [];
  const deps = {
    quiet: () => waitUntilQuiet(quietTimeoutMs),
    note: (line: string) => process.stderr.write(`[${name}] ${line}\n`),
  };
  try {
    for (const each of cases) {
      const pairs = await runPairs(each, { ...deps, measure: measureOf(each) }, { ...options, wanted: options.pairs });
      if (pairs.length > 0) rows.push(...rowsOf(each, pairs));
      if (pairs.length < options.pairs) incomplete.push(`${each.name} (${pairs.length} of ${options.pairs} pairs)`);
    }
  } finally {
    report.print(`${title}, ${options.pairs} ${options.pairs === 1 ? 'pair' : 'pairs'} in turn`, rows);
    await network.close(incomplete.length > 0);
  }
  if (incomplete.length > 0) throw new Error(`incomplete cases: ${incomplete.join(', ')}; output of the servers: ${network.logPath}`);
}

/** One row for each result of a case, with the values of all pairs. */
export function rowsOf({ title, rows }: LivekitCase, pairs: readonly Pair[]): Row[] {
  const valuesOf = (side: Side, field: string) => pairs.map((pair) => Number(pair[side][field]));
  return rows.map(({ field, what, unit, goal }) => ({
    what: `${title}: ${what}`,
    value: valuesOf('mediarooms', field),
    unit,
    baseline: { what: 'LiveKit', value: valuesOf('livekit', field) },
    ...(goal !== undefined && { goal }),
  }));
}
