// Comparison with LiveKit through LiveKit's own clients: pairs of both servers in turn, which the same client joins.
import { parseArgs } from 'node:util';
import { ensureImageNode } from '../../tools/image-node.mjs';
import { ensureLiveKitServer } from '../../tools/livekit/build.mjs';
import { aptPackages, ensurePackages } from '../../tools/packages.mjs';
import { mayMakeNamespaces } from '../kit/network/network-namespace.ts';
import { openBrowserClients } from './livekit/browser-joins.ts';
import type { LivekitCase } from './livekit/cases.ts';
import { measureJoins, type OpenClients } from './livekit/client-joins.ts';
import { openNativeClients } from './livekit/native-joins.ts';
import { type PairDeps, rowsOf, runPairs } from './livekit/pairs.ts';
import { ServerNetwork } from './livekit/servers.ts';
import { waitUntilQuiet } from './machine.ts';
import { moveToOtherCore } from './processes.ts';
import type { BenchOptions, Report, Row } from './report.ts';

const quietTimeoutMs = 60_000;

const clients: readonly [LivekitCase, OpenClients][] = [
  [joinsOf('browser', "join of LiveKit's client in Chromium"), openBrowserClients],
  [joinsOf('native', "join of LiveKit's native client"), openNativeClients],
];

function joinsOf(name: string, title: string): LivekitCase {
  return {
    name,
    title,
    load: ['--count', '30'],
    quick: ['--count', '3'],
    rows: [
      { field: 'first_frame_p50_ms', what: 'first frame, median', unit: 'ms', goal: '0.6x' },
      { field: 'first_frame_p95_ms', what: 'first frame, p95', unit: 'ms' },
      { field: 'connected_p50_ms', what: 'connected, median', unit: 'ms' },
    ],
    timeoutMs: 0,
  };
}

export async function benchLivekitClient(report: Report, options: BenchOptions): Promise<void> {
  const cases = clients.filter(([{ name }]) => options.cases.length === 0 || options.cases.includes(name));
  if (cases.length < options.cases.length) throw new Error(`the cases are ${clients.map(([{ name }]) => name).join(', ')}`);
  if (!mayMakeNamespaces) throw new Error('the comparison with LiveKit requires root: its servers run in a network namespace');
  await ensurePackages([...aptPackages.networks, ...aptPackages.browser], 'the comparison with LiveKit');
  const { version, server } = await ensureLiveKitServer();
  report.software.push(`LiveKit ${version}`);
  moveToOtherCore();
  const network = await ServerNetwork.open({ server, node: await ensureImageNode() });
  const rows: Row[] = [];
  const incomplete: string[] = [];
  try {
    for (const [each, open] of cases) {
      const pairs = await runPairs(each, depsOf(network, open), { ...options, wanted: options.pairs });
      if (pairs.length > 0) rows.push(...rowsOf(each, pairs));
      if (pairs.length < options.pairs) incomplete.push(`${each.name} (${pairs.length} of ${options.pairs} pairs)`);
    }
  } finally {
    report.print(`LiveKit's clients next to LiveKit, ${options.pairs} ${options.pairs === 1 ? 'pair' : 'pairs'} in turn`, rows);
    await network.close(incomplete.length > 0);
  }
  if (incomplete.length > 0) throw new Error(`incomplete cases: ${incomplete.join(', ')}; output of the servers: ${network.logPath}`);
}

function depsOf(network: ServerNetwork, open: OpenClients): PairDeps {
  return {
    measure: (side, load) => {
      const { count } = parseArgs({ args: [...load], options: { count: { type: 'string', default: '30' } } }).values;
      return network.serve(side, (running) => measureJoins(running, Number(count), network, open), { livekitClients: true });
    },
    quiet: () => waitUntilQuiet(quietTimeoutMs),
    note: (line) => process.stderr.write(`[livekit-client] ${line}\n`),
  };
}
