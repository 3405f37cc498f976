// Scale benchmark of the operator: 5,000 Rooms and 50 MediaClusters with stand-in nodes until all are Ready, and its memory.
import { setTimeout as sleep } from 'node:timers/promises';
import { ScaleFixture } from '../kit/kube/controllers/scale-fixture.ts';
import { benchContext } from './bench-context.ts';
import { bundle, environmentOfImage } from './operator.bench.ts';
import { residentMemory, usedCpu } from './processes.ts';
import type { Report } from './report.ts';

const rooms = Number(process.env.SCALE_ROOMS ?? 5_000);
const clusters = Number(process.env.SCALE_CLUSTERS ?? 50);
const withinMs = 900_000;
const idleMs = 30_000;

export async function benchOperatorScale(report: Report): Promise<void> {
  const { t: scope, end } = benchContext();
  try {
    const program = await bundle(scope);
    const fixture = await ScaleFixture.start(scope, { program, env: { ...environmentOfImage(), OPERATOR_LOG_LEVEL: 'info' } });
    const { pid } = fixture.operator;
    const before = usedCpu(pid);
    const { appliedMs, readyMs, peakBytes } = await fixture.apply({ clusters, rooms, withinMs });
    const cpu = usedCpu(pid) - before;
    await sleep(idleMs);
    report.print(`Operator with ${rooms} Rooms on ${clusters} MediaClusters of one stand-in node each, all on the same cores`, [
      { what: 'time to write all', value: appliedMs / 1000, unit: 's' },
      { what: 'time until all are Ready', value: readyMs / 1000, unit: 's', goal: '100 s' },
      { what: 'CPU of the operator', value: cpu / 1000, unit: 's' },
      { what: 'peak memory of the operator', value: peakBytes / 1e6, unit: 'MB', goal: 'at most 250' },
      { what: `memory ${idleMs / 1000} s later`, value: residentMemory(pid) / 1e6, unit: 'MB' },
    ]);
  } finally {
    await end();
  }
}
