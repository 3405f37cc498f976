// REST benchmark: POST /room on a node with one core, for 1 and 32 clients, compared with a bare HTTP server under the same load, and with
// traces compared with the same node without.
import { join } from 'node:path';
import { OtlpReceiver } from '../kit/otlp-receiver.ts';
import { benchContext } from './bench-context.ts';
import { type LoadResult, runLoad } from './http-load.ts';
import { benchToken, moveToOtherCore, startPinned, startPinnedNode } from './processes.ts';
import type { Report } from './report.ts';

const duration = 5_000;

async function measure(url: string, clients: number): Promise<LoadResult> {
  return runLoad({
    url: `${url}/room`,
    token: benchToken,
    clients,
    duration,
    body: () => ({ maxPeers: 10, peerlessPurgeTimeout: 60 }),
    expectedStatus: 201,
  });
}

export async function benchRest(report: Report): Promise<void> {
  moveToOtherCore();
  const results: Record<string, LoadResult> = {};
  for (const clients of [1, 32]) {
    const bare = await startPinned([join(import.meta.dirname, 'bare-http.mjs')], /"url":"([^"]+)"/);
    results[`bare-${clients}`] = await measure(bare.url, clients);
    await bare.stop();
    const node = await startPinnedNode();
    results[`node-${clients}`] = await measure(node.url, clients);
    await node.stop();
  }
  const rows = [1, 32].flatMap((clients) => {
    const [ours, bare] = [results[`node-${clients}`], results[`bare-${clients}`]];
    if (!ours || !bare) return [];
    const of = `POST /room, ${clients} ${clients === 1 ? 'client' : 'clients'}`;
    return [
      {
        what: `${of}, rate`,
        value: ours.perSecond,
        unit: '/s',
        baseline: { what: 'a bare server', value: bare.perSecond },
      },
      { what: `${of}, median`, value: ours.p50, unit: 'ms', baseline: { what: 'a bare server', value: bare.p50 } },
      {
        what: `${of}, p99`,
        value: ours.p99,
        unit: 'ms',
        baseline: { what: 'a bare server', value: bare.p99 },
        goal: clients === 1 ? '5 ms' : '50 ms',
      },
    ];
  });
  rows.push(await traced());
  report.print('REST on one core', rows);
}

/** Rounds alternate, because the speed of a computer changes over time. The collector runs on the core of the load. */
async function traced() {
  const { t, end } = benchContext();
  const collector = await OtlpReceiver.start(t);
  const rates = { off: [] as number[], on: [] as number[] };
  for (let round = 0; round < 3; round += 1)
    for (const [name, env] of [
      ['off', {}],
      ['on', { SVC_TRACES_ENDPOINT: collector.url }],
    ] as const) {
      const node = await startPinnedNode(env);
      rates[name].push((await measure(node.url, 32)).perSecond);
      await node.stop();
    }
  await end();
  const median = (values: number[]) => values.sort((a, b) => a - b)[1] ?? 0;
  return {
    what: 'POST /room, 32 clients, rate with traces',
    value: median(rates.on),
    unit: '/s',
    baseline: { what: 'without traces', value: median(rates.off) },
    goal: 'at least 97 % of the rate without',
  };
}
