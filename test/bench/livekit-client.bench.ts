// Comparison with LiveKit through LiveKit's own client: pairs of both servers in turn, which the same client in Chromium joins.
import { parseArgs } from 'node:util';
import { ensureImageNode } from '../../tools/image-node.mjs';
import { ensureLiveKitServer } from '../../tools/livekit/build.mjs';
import { aptPackages, ensurePackages } from '../../tools/packages.mjs';
import { mayMakeNamespaces } from '../kit/network/network-namespace.ts';
import type { LivekitCase } from './livekit/cases.ts';
import { measureJoins } from './livekit/client-joins.ts';
import { rowsOf, runPairs } from './livekit/pairs.ts';
import { ServerNetwork } from './livekit/servers.ts';
import { waitUntilQuiet } from './machine.ts';
import { moveToOtherCore } from './processes.ts';
import type { BenchOptions, Report } from './report.ts';

const quietTimeoutMs = 60_000;

const joins: LivekitCase = {
  name: 'client-join',
  title: "join of LiveKit's client in Chromium",
  load: ['--count', '30'],
  quick: ['--count', '3'],
  rows: [
    { field: 'first_frame_p50_ms', what: 'first shown frame, median', unit: 'ms', goal: '0.6x' },
    { field: 'first_frame_p95_ms', what: 'first shown frame, p95', unit: 'ms' },
    { field: 'connected_p50_ms', what: 'connected, median', unit: 'ms' },
  ],
  timeoutMs: 0,
};

export async function benchLivekitClient(report: Report, options: BenchOptions): Promise<void> {
  if (!mayMakeNamespaces) throw new Error('the comparison with LiveKit requires root: its servers run in a network namespace');
  await ensurePackages([...aptPackages.networks, ...aptPackages.browser], 'the comparison with LiveKit');
  const { version, server } = await ensureLiveKitServer();
  report.software.push(`LiveKit ${version}`);
  moveToOtherCore();
  const network = await ServerNetwork.open({ server, node: await ensureImageNode() });
  const deps = {
    measure: (side: 'mediarooms' | 'livekit', load: readonly string[]) => {
      const { count } = parseArgs({ args: [...load], options: { count: { type: 'string', default: '30' } } }).values;
      const measure = (running: Parameters<typeof measureJoins>[0]) => measureJoins(running, Number(count), network.wrap.bind(network));
      return network.serve(side, measure, { livekitClients: true });
    },
    quiet: () => waitUntilQuiet(quietTimeoutMs),
    note: (line: string) => process.stderr.write(`[livekit-client] ${line}\n`),
  };
  let complete = false;
  try {
    const pairs = await runPairs(joins, deps, { ...options, wanted: options.pairs });
    complete = pairs.length === options.pairs;
    if (pairs.length > 0) report.print(`LiveKit's client next to LiveKit, ${pairs.length} pairs in turn`, rowsOf(joins, pairs));
  } finally {
    await network.close(!complete);
  }
  if (!complete) throw new Error(`fewer pairs than ${options.pairs} count; output of the servers: ${network.logPath}`);
}
