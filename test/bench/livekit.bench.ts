// Comparison with LiveKit: pairs of both servers in turn, each on one core under the same load, in cases of media, joins and REST.
import { ensureImageNode } from '../../tools/image-node.mjs';
import { ensureLiveKit } from '../../tools/livekit/build.mjs';
import { aptPackages, ensurePackages } from '../../tools/packages.mjs';
import { mayMakeNamespaces } from '../kit/network/network-namespace.ts';
import { livekitCases } from './livekit/cases.ts';
import { rowsOf, runPairs } from './livekit/pairs.ts';
import { ServerNetwork } from './livekit/servers.ts';
import { waitUntilQuiet } from './machine.ts';
import type { BenchOptions, Report, Row } from './report.ts';

const quietTimeoutMs = 60_000;

export async function benchLivekit(report: Report, options: BenchOptions): Promise<void> {
  const cases = livekitCases.filter(({ name }) => options.cases.length === 0 || options.cases.includes(name));
  if (cases.length < options.cases.length) throw new Error(`the cases are ${livekitCases.map(({ name }) => name).join(', ')}`);
  if (!mayMakeNamespaces) throw new Error('the comparison with LiveKit requires root: its servers run in a network namespace');
  await ensurePackages(aptPackages.networks, 'the comparison with LiveKit');
  const { version, ...programs } = await ensureLiveKit();
  report.software.push(`LiveKit ${version}`);
  const network = await ServerNetwork.open({ ...programs, node: await ensureImageNode() });
  const rows: Row[] = [];
  const incomplete: string[] = [];
  try {
    const deps = {
      measure: network.measure.bind(network),
      quiet: () => waitUntilQuiet(quietTimeoutMs),
      note: (line: string) => process.stderr.write(`[livekit] ${line}\n`),
    };
    for (const each of cases) {
      const pairs = await runPairs(each, deps, { ...options, wanted: options.pairs });
      if (pairs.length > 0) rows.push(...rowsOf(each, pairs));
      if (pairs.length < options.pairs) incomplete.push(`${each.name} (${pairs.length} of ${options.pairs} pairs)`);
    }
  } finally {
    report.print(`Next to LiveKit, on one core each, ${options.pairs} ${options.pairs === 1 ? 'pair' : 'pairs'} in turn`, rows);
    await network.close(incomplete.length > 0);
  }
  if (incomplete.length > 0) throw new Error(`incomplete cases: ${incomplete.join(', ')}; output of the servers: ${network.logPath}`);
}
