// Thin uplink: from two reports of a send transport, as browsers give them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isThinUplink } from '../../../packages/client/src/media/thin-uplink.ts';

type Pair = { id?: string; bytesSent: number; availableOutgoingBitrate?: number };

/** One report after the other, a second apart. */
function reports(...pairs: Pair[]): () => Promise<RTCStatsReport> {
  let count = 0;
  return async () => {
    const { id = 'pair', ...pair } = pairs[count] ?? pairs.at(-1) ?? assert.fail();
    count += 1;
    const all: RTCStats[] = [
      Object.assign({ id: 'transport', type: 'transport', timestamp: 0 } as const, { selectedCandidatePairId: id }),
      Object.assign({ id: 'other', type: 'candidate-pair', timestamp: 0 } as const, { availableOutgoingBitrate: 1 }),
      Object.assign({ id, type: 'candidate-pair', timestamp: count * 1_000 } as const, pair),
    ];
    return new Map(all.map((stats) => [stats.id, stats]));
  };
}

test('an uplink is thin if the estimate is less than twice what is sent', async () => {
  const sent = (availableOutgoingBitrate: number) =>
    isThinUplink(reports({ bytesSent: 5_000, availableOutgoingBitrate: 1 }, { bytesSent: 105_000, availableOutgoingBitrate }));
  const answers = await Promise.all([960_000, 1_599_000, 1_600_000, 9_000_000].map(sent));
  assert.deepEqual(answers, [true, true, false, false]);
});

test('an uplink is not thin without an estimate, if nothing is sent, or if its path changed meanwhile', async () => {
  const thin = { bytesSent: 100_000, availableOutgoingBitrate: 1_000 };
  const answers = await Promise.all([
    isThinUplink(async () => undefined),
    isThinUplink(async () => new Map()),
    isThinUplink(reports({ bytesSent: 0 }, { bytesSent: 100_000 })),
    isThinUplink(reports(thin, thin)),
    isThinUplink(reports({ ...thin, id: 'former', bytesSent: 0 }, thin)),
  ]);
  assert.deepEqual(answers, [false, false, false, false, false]);
});
