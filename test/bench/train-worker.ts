// Load for `npm run train:worker`: the cases in which the cost of a packet is measured, with little of each.
import { ensureLoad } from '../../tools/livekit/build.mjs';
import { livekitCases } from './livekit/cases.ts';
import { measureNode } from './node-load.ts';

const trained = ['one-to-many', 'room', 'lossy'];
const short = ['-warm-up', '6s', '-duration', '12s'];

const load = await ensureLoad();
for (const { name, title, load: flags } of livekitCases.filter(({ name }) => trained.includes(name))) {
  const { out_pps: rate } = await measureNode<{ out_pps: number }>(load, [...flags, ...short]);
  console.error(`[train] ${name} (${title}): ${Math.round(rate)} packets a second`);
}
