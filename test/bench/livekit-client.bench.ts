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
import { chosenCases, compare } from './livekit/pairs.ts';
import { ServerNetwork } from './livekit/servers.ts';
import { moveToOtherCore } from './processes.ts';
import type { BenchOptions, Report } from './report.ts';

type ClientCase = LivekitCase & { open: OpenClients };

const clients: readonly ClientCase[] = [
  { ...joinsOf('browser', "join of LiveKit's client in Chromium"), open: openBrowserClients },
  { ...joinsOf('native', "join of LiveKit's native client"), open: openNativeClients },
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
  const cases = chosenCases(clients, options);
  if (!mayMakeNamespaces) throw new Error('the comparison with LiveKit requires root: its servers run in a network namespace');
  await ensurePackages([...aptPackages.networks, ...aptPackages.browser], 'the comparison with LiveKit');
  const { version, server } = await ensureLiveKitServer();
  report.software.push(`LiveKit ${version}`);
  moveToOtherCore();
  const network = await ServerNetwork.open({ server, node: await ensureImageNode() });
  const title = "LiveKit's clients next to LiveKit";
  await compare({ name: 'livekit-client', title, report, options, network }, cases, ({ open }) => (side, load) => {
    const { count } = parseArgs({ args: [...load], options: { count: { type: 'string', default: '30' } } }).values;
    return network.serve(side, (running) => measureJoins(running, Number(count), network, open), { livekitClients: true });
  });
}
