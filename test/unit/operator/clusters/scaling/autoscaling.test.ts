// Autoscaling: desired number of nodes from their load.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NodeSnapshot } from '../../../../../operator/clusters/pods/pod-snapshot.ts';
import {
  type Autoscaling,
  appendSample,
  desiredNodes,
  type LoadSample,
  nodesFor,
  type ScaleSample,
} from '../../../../../operator/clusters/scaling/autoscaling.ts';
import { ClusterScaler } from '../../../../../operator/clusters/scaling/cluster-scaler.ts';
import { testCluster } from '../../../../kit/fakes/media-cluster.ts';
import { aPod, nodeReport } from '../pods.ts';

const autoscaling: Autoscaling = {
  minReplicas: 1,
  maxReplicas: 5,
  targetForwardedTracks: 100,
  scaleUpOnRejectedRooms: true,
  bufferNodes: 0,
  scaleDownStabilizationSeconds: 60,
};

/** Nodes with these loads, that report every signal. */
function loadsOf(...loads: readonly Partial<NodeSnapshot>[]): LoadSample {
  return { loads: loads.map((load) => nodeReport({ streams: 0, cpu: 0, ...load })), silent: 0, unready: 0, rejectedRooms: 0 };
}

function calls(count: number): Partial<NodeSnapshot> {
  return { busy: { rooms: 1, peers: 0, calls: count, streams: 0, recordings: 0, files: 0 } };
}

/** Desired nodes over time, with one value of `tracks` per second. */
function run(tracks: readonly number[], { from = 1, config = autoscaling } = {}): number[] {
  let history: ScaleSample[] = [];
  let current = from;
  return tracks.map((each, second) => {
    const nodes = nodesFor(config, current, loadsOf({ forwardedTracks: each })) ?? 0;
    history = appendSample(config, history, { at: second * 1000, nodes });
    current = desiredNodes(config, current, history, second * 1000);
    return current;
  });
}

test('the number of nodes keeps each at or below the target, within the bounds', () => {
  assert.deepEqual(
    [0, 1, 100, 101, 450, 501, 100_000].map((forwardedTracks) => nodesFor(autoscaling, 1, loadsOf({ forwardedTracks }))),
    [1, 1, 1, 2, 5, 5, 5],
  );
});

describe('The number of nodes for a load of several nodes', () => {
  const two = loadsOf({ forwardedTracks: 150 }, { forwardedTracks: 150 });
  const cases: Record<string, [config: Partial<Autoscaling>, current: number, sample: LoadSample, nodes: number | undefined]> = {
    'follows the rooms': [{ targetRooms: 10 }, 2, loadsOf({ rooms: 25 }, { rooms: 6 }), 4],
    'follows the CPU': [{ targetCpuPercent: 50 }, 2, loadsOf({ cpu: 0.9 }, { cpu: 0.8 }), 4],
    'has no rounding errors of the CPU': [{ targetCpuPercent: 10 }, 3, loadsOf({ cpu: 0.1 }, { cpu: 0.1 }, { cpu: 0.1 }), 3],
    'follows the phone calls': [{ targetCalls: 5 }, 1, loadsOf(calls(11)), 3],
    'follows the composed streams': [{ targetStreams: 1 }, 2, loadsOf({ streams: 2 }, { streams: 1 }), 3],
    'is that of the signal that requires most': [{ targetRooms: 10, targetCalls: 5 }, 1, loadsOf({ rooms: 5, ...calls(20) }), 4],
    'ignores signals without a target': [{}, 1, loadsOf({ rooms: 1_000, cpu: 1, streams: 50 }), 1],
    'includes the buffer': [{ bufferNodes: 2 }, 1, loadsOf({ forwardedTracks: 50 }), 3],
    'never exceeds the maximum with the buffer': [{ bufferNodes: 9 }, 1, loadsOf({ forwardedTracks: 50 }), 5],
    'grows by one if rooms were rejected': [{}, 2, { ...loadsOf({}, {}), rejectedRooms: 7 }, 3],
    'does not grow for rejected rooms while a node starts': [{}, 3, { ...loadsOf({}, {}), rejectedRooms: 7 }, 1],
    'does not grow for rejected rooms while a node is unready': [{}, 2, { ...loadsOf({}, {}), unready: 1, rejectedRooms: 7 }, 2],
    'ignores rejected rooms if so requested': [{ scaleUpOnRejectedRooms: false }, 2, { ...loadsOf({}, {}), rejectedRooms: 7 }, 1],
    'grows although one node is silent, which counts as full': [{}, 3, { ...two, silent: 1 }, 4],
    'does not shrink while a node is silent': [{}, 4, { ...loadsOf({}, {}), silent: 1 }, 4],
    'does not shrink while a node is unready': [{}, 3, { ...loadsOf({}, {}), unready: 1 }, 3],
    'does not grow because a node is unready': [{}, 2, { ...loadsOf({ forwardedTracks: 90 }), unready: 1 }, 2],
    'does not shrink while a node does not report a signal': [{ targetCpuPercent: 50 }, 4, loadsOf({ cpu: 0.1 }, { cpu: undefined }), 4],
    'is unknown if no node responds': [{}, 3, { ...loadsOf(), silent: 2 }, undefined],
  };
  for (const [name, [config, current, sample, nodes]] of Object.entries(cases))
    test(name, () => assert.equal(nodesFor({ ...autoscaling, ...config }, current, sample), nodes));
});

describe('The scaler of a MediaCluster', () => {
  /** Desired nodes after each observation of the pods, five seconds apart. */
  const observe = (spec: object, ...observations: readonly ReturnType<typeof aPod>[][]) => {
    let now = 0;
    const scaler = new ClusterScaler(() => now);
    let desiredReplicas = observations[0]?.length ?? 0;
    return observations.map((pods) => {
      now += 5_000;
      desiredReplicas = scaler.desired('n/c', { ...testCluster(spec), status: { desiredReplicas } }, pods);
      return desiredReplicas;
    });
  };
  const pod = (index: number, load: Partial<NodeSnapshot>) => aPod(index, { report: nodeReport({ streams: 0, cpu: 0, ...load }) });
  const scaled = (more: object = {}) => ({ autoscaling: { maxReplicas: 5, scaleDownStabilizationSeconds: 0, ...more } });

  test('returns spec.replicas without autoscaling', () => {
    assert.deepEqual(observe({ replicas: 3 }, [pod(0, { forwardedTracks: 9_000 })]), [3]);
  });

  test('counts rejections since the last observation, and begins again after a restart of the node', () => {
    const one = (rejectedRooms: number) => [pod(0, { rejectedRooms })];
    assert.deepEqual(observe(scaled(), one(8), one(8), one(2), one(3)), [1, 1, 1, 2]);
  });

  test('keeps the counter of a node while it is silent', () => {
    const with1 = (report?: number) => [
      pod(0, {}),
      report === undefined ? aPod(1, { report: undefined }) : pod(1, { rejectedRooms: report }),
    ];
    assert.deepEqual(observe(scaled({ minReplicas: 2 }), with1(4), with1(), with1(5)), [2, 2, 3]);
  });

  test('does not count a pod that was never polled as full, and removes none meanwhile', () => {
    const unpolled = aPod(1, { report: undefined, unpolled: true });
    assert.deepEqual(observe(scaled(), [pod(0, { forwardedTracks: 100 }), unpolled], [pod(0, {}), pod(1, {})]), [2, 1]);
  });

  test('does not remove a node that has become unready', () => {
    const unready = aPod(1, { ready: false, report: undefined });
    assert.deepEqual(observe(scaled(), [pod(0, {}), unready], [pod(0, {}), pod(1, {})]), [2, 1]);
  });

  test('ignores pods that start no process, end, drain or are lost', () => {
    const others = [{ idle: true }, { ending: true }, { lost: true }, { drain: { reason: 'Rollout' as const, deadline: 0 } }];
    const pods = [pod(0, {}), ...others.map((but, index) => aPod(index + 1, { report: undefined, ...but }))];
    assert.deepEqual(observe(scaled(), pods), [1]);
  });
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
