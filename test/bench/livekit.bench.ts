// Comparison with LiveKit: pairs of both servers in turn, each on one core under the same load, in cases of media, joins and REST.
import { ensureImageNode } from '../../tools/image-node.mjs';
import { ensureLiveKit } from '../../tools/livekit/build.mjs';
import { aptPackages, ensurePackages } from '../../tools/packages.mjs';
import { mayMakeNamespaces } from '../kit/network/network-namespace.ts';
import { livekitCases } from './livekit/cases.ts';
import { chosenCases, compare } from './livekit/pairs.ts';
import { ServerNetwork } from './livekit/servers.ts';
import type { BenchOptions, Report } from './report.ts';

export async function benchLivekit(report: Report, options: BenchOptions): Promise<void> {
  const cases = chosenCases(livekitCases, options);
  if (!mayMakeNamespaces) throw new Error('the comparison with LiveKit requires root: its servers run in a network namespace');
  await ensurePackages(aptPackages.networks, 'the comparison with LiveKit');
  const { version, ...programs } = await ensureLiveKit();
  report.software.push(`LiveKit ${version}`);
  const network = await ServerNetwork.open({ ...programs, node: await ensureImageNode() });
  const title = 'Next to LiveKit, on one core each';
  await compare({ name: 'livekit', title, report, options, network }, cases, () => network.measure.bind(network));
}
