// `npm run bench [name...] [-- options]`: runs the named benchmarks, or all; compares their results with the committed ones, without a verdict.
import { parseArgs } from 'node:util';
import { benchCluster } from './cluster.bench.ts';
import { benchConsole } from './console.bench.ts';
import { benchEvents } from './events.bench.ts';
import { benchForward } from './forward.bench.ts';
import { benchHls } from './hls.bench.ts';
import { benchHlsViewers } from './hls-viewers.bench.ts';
import { benchJoin } from './join.bench.ts';
import { benchLivekit } from './livekit.bench.ts';
import { benchLivekitClient } from './livekit-client.bench.ts';
import { machineText, softwareText, waitUntilQuiet } from './machine.ts';
import { benchMemory } from './memory.bench.ts';
import { benchOperator } from './operator.bench.ts';
import { benchOperatorScale } from './operator-scale.bench.ts';
import { benchRecording } from './recording.bench.ts';
import { type BenchOptions, type BenchResult, Report } from './report.ts';
import { benchRest } from './rest.bench.ts';
import { committedResults, mergeResults, readResults, writeResults } from './results.ts';
import { benchRoomLegs } from './room-legs.bench.ts';
import { benchSipAudio } from './sip-audio.bench.ts';
import { benchSipCalls } from './sip-calls.bench.ts';
import { summaryLines } from './summary.ts';
import { benchWhep } from './whep.bench.ts';

const benches: Record<string, (report: Report, options: BenchOptions) => Promise<void>> = {
  livekit: benchLivekit,
  'livekit-client': benchLivekitClient,
  rest: benchRest,
  memory: benchMemory,
  join: benchJoin,
  forward: benchForward,
  whep: benchWhep,
  'room-legs': benchRoomLegs,
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

const { options, names } = parseOptions();
const isWritten = !options.force && !options.quick && options.cases.length === 0;
const unknown = names.find((name) => !Object.hasOwn(benches, name));
if (unknown !== undefined) fail(`Unknown benchmark ${unknown}; the benchmarks are ${Object.keys(benches).join(', ')}`);

const busy = await waitUntilQuiet(0);
if (busy !== undefined) {
  const state = `Other programs use ${Math.round(busy * 100)} % of the cores`;
  if (!options.force) fail(`${state}. Stop them, or measure anyway with --force; the results are then not written.`);
  process.stderr.write(`${state}; results are not written.\n`);
}

const measured: Record<string, BenchResult> = {};
for (const [name, run] of Object.entries(benches)) {
  if (!isChosen(name)) continue;
  const report = new Report();
  try {
    await run(report, options);
    measured[name] = {
      date: new Date().toISOString().slice(0, 10),
      machine: machineText(),
      software: [softwareText(), ...report.software].join(', '),
      sections: report.sections,
    };
  } catch (error) {
    process.exitCode = 1;
    process.stderr.write(`\nBenchmark ${name} failed: ${error instanceof Error ? error.stack : error}\n`);
  }
}
process.stdout.write(`\nCompared with the last committed results\n`);
const committed = Object.fromEntries(Object.entries(committedResults()).filter(([name]) => isChosen(name)));
for (const line of summaryLines(committed, measured)) process.stdout.write(`  ${line}\n`);
if (isWritten && Object.keys(measured).length > 0) {
  const paths = writeResults(mergeResults(readResults(), measured, Object.keys(benches)));
  process.stdout.write(`\nWrote ${paths.join(' and ')}\n`);
}

function parseOptions(): { options: BenchOptions; names: string[] } {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        force: { type: 'boolean', default: false },
        quick: { type: 'boolean', default: false },
        pairs: { type: 'string', default: '3' },
        cases: { type: 'string', default: '' },
      },
    });
    if (!/^[1-9]\d?$/.test(values.pairs)) fail(`--pairs must be a whole number from 1 to 99, got ${values.pairs}`);
    return { options: { ...values, pairs: Number(values.pairs), cases: values.cases.split(',').filter(Boolean) }, names: positionals };
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

function isChosen(name: string): boolean {
  return names.length === 0 || names.includes(name);
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
