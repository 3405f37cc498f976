// Autoscaling: desired number of nodes from forwarded tracks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Autoscaling,
  appendSample,
  desiredNodes,
  nodesFor,
  type ScaleSample,
} from '../../../../../operator/clusters/scaling/autoscaling.ts';

const autoscaling: Autoscaling = { minReplicas: 1, maxReplicas: 5, targetForwardedTracks: 100, scaleDownStabilizationSeconds: 60 };

/** Desired nodes over time, with one value of `tracks` per second. */
function run(tracks: readonly number[], { from = 1, config = autoscaling } = {}): number[] {
  let history: ScaleSample[] = [];
  let current = from;
  return tracks.map((each, second) => {
    history = appendSample(config, history, { at: second * 1000, nodes: nodesFor(config, each) });
    current = desiredNodes(config, current, history, second * 1000);
    return current;
  });
}

test('the number of nodes keeps each at or below the target, within the bounds', () => {
  assert.deepEqual(
    [0, 1, 100, 101, 450, 501, 100_000].map((tracks) => nodesFor(autoscaling, tracks)),
    [1, 1, 1, 2, 5, 5, 5],
  );
});

test('nodes are added as soon as the load requires them', () => {
  assert.deepEqual(run([50, 250, 420]), [1, 3, 5]);
});

test('a node is removed only if fewer were sufficient for the whole window', () => {
  const counts = run([...Array(10).fill(250), ...Array(100).fill(90)]);
  assert.equal(counts[60], 3);
  assert.equal(counts[69], 3);
  assert.equal(counts[72], 1);
});

test('a peak within the window keeps its nodes for another window', () => {
  const counts = run([...Array(40).fill(90), 250, ...Array(58).fill(90), ...Array(10).fill(90)], { from: 3 });
  assert.equal(counts[98], 3);
  assert.equal(counts[105], 1);
});

test('an operator that just started removes no node before a window has passed', () => {
  const counts = run(Array(70).fill(0), { from: 4 });
  assert.deepEqual([counts[0], counts[59], counts[65]], [4, 4, 1]);
});

test('without a sample the number of nodes is unchanged, within the bounds', () => {
  assert.equal(desiredNodes(autoscaling, 3, [], 0), 3);
  assert.equal(desiredNodes(autoscaling, 9, [], 0), 5);
  assert.equal(desiredNodes(autoscaling, 0, [], 0), 1);
});

test('without a window nodes are removed immediately', () => {
  assert.deepEqual(run([450, 90], { config: { ...autoscaling, scaleDownStabilizationSeconds: 0 } }), [5, 1]);
});

test('a long history is compacted to few samples and keeps the peak', () => {
  const day = { ...autoscaling, scaleDownStabilizationSeconds: 86_400 };
  let history: ScaleSample[] = [];
  for (let second = 0; second < 100_000; second += 5)
    history = appendSample(day, history, { at: second * 1000, nodes: second === 50_000 ? 4 : 1 });
  assert.ok(history.length <= 1_100, String(history.length));
  assert.equal(desiredNodes(day, 4, history, 99_995_000), 4);
});
