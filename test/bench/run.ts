// `npm run bench [name...]`: runs the named benchmarks, or all; prints ratios without a verdict.
import { benchCluster } from './cluster.bench.ts';
import { benchConsole } from './console.bench.ts';
import { benchEvents } from './events.bench.ts';
import { benchForward } from './forward.bench.ts';
import { benchHls } from './hls.bench.ts';
import { benchHlsViewers } from './hls-viewers.bench.ts';
import { benchJoin } from './join.bench.ts';
import { benchMemory } from './memory.bench.ts';
import { benchOperator } from './operator.bench.ts';
import { benchOperatorScale } from './operator-scale.bench.ts';
import { benchRecording } from './recording.bench.ts';
import { benchRest } from './rest.bench.ts';
import { benchSipAudio } from './sip-audio.bench.ts';
import { benchSipCalls } from './sip-calls.bench.ts';

const benches: Record<string, () => Promise<void>> = {
  rest: benchRest,
  memory: benchMemory,
  join: benchJoin,
  forward: benchForward,
  cluster: benchCluster,
  events: benchEvents,
  hls: benchHls,
  'hls-viewers': benchHlsViewers,
  recording: benchRecording,
  operator: benchOperator,
  'operator-scale': benchOperatorScale,
  'sip-audio': benchSipAudio,
  console: benchConsole,
  'sip-calls': benchSipCalls,
};

const names = process.argv.slice(2);
const unknown = names.find((name) => !Object.hasOwn(benches, name));
if (unknown !== undefined) {
  process.stderr.write(`Unknown benchmark ${unknown}; the benchmarks are ${Object.keys(benches).join(', ')}\n`);
  process.exit(1);
}
for (const [name, run] of Object.entries(benches)) if (names.length === 0 || names.includes(name)) await run();
