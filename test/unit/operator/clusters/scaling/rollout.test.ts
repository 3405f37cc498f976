// Rollout plan: which pods are created, drained and removed next.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSnapshot } from '../../../../../operator/clusters/pods/pod-snapshot.ts';
import { planRollout } from '../../../../../operator/clusters/scaling/rollout.ts';
import { aPod, nodeReport, withPeers } from '../pods.ts';

function plan(
  desired: number,
  pods: PodSnapshot[],
  { indexes = 11, waited = false, taken = [] as number[], partition = 0, surge = true } = {},
) {
  const { create, drain, remove, keep, blocked } = planRollout({
    desired,
    indexes,
    pods,
    foreignIndexes: new Set(taken),
    policy: { partition, surge },
    replacementTimedOut: () => waited,
  });
  return {
    create,
    drain: drain.map(({ pod, reason }) => `${pod.index} ${reason}`),
    remove: remove.map(({ index }) => index),
    keep: keep.map(({ index }) => index),
    blocked: blocked !== undefined,
  };
}
const nothing = { create: [], drain: [], remove: [], keep: [] as number[], blocked: false };

test('missing pods get the lowest free indexes', () => {
  assert.deepEqual(plan(3, []), { ...nothing, create: [0, 1, 2] });
  assert.deepEqual(plan(3, [aPod(1)]), { ...nothing, create: [0, 2], keep: [1] });
  assert.deepEqual(plan(2, [], { taken: [0, 2] }).create, [1, 3]);
  assert.deepEqual(plan(2, [aPod(0), aPod(1)]), { ...nothing, keep: [0, 1] });
});

test('the least loaded surplus pod is removed: by connected peers, rooms, tracks, then the highest index', () => {
  assert.deepEqual(plan(2, [aPod(0), aPod(1, withPeers(2)), aPod(2, withPeers(4))]).drain, ['0 ScaleDown']);
  assert.deepEqual(plan(1, [aPod(0, withPeers(1)), aPod(1), aPod(2)]).drain, ['2 ScaleDown', '1 ScaleDown']);
  const tracks = (forwardedTracks: number) => ({
    report: nodeReport({ rooms: 1, connectedPeers: 2, forwardedTracks }),
  });
  assert.deepEqual(plan(1, [aPod(0, tracks(1)), aPod(1, tracks(9))]).drain, ['0 ScaleDown']);
});

test('phone calls, watched streams and files count as peers do', () => {
  const busy = (more: object) => ({
    report: nodeReport({ rooms: 1, busy: { rooms: 1, peers: 0, calls: 0, streams: 0, recordings: 0, files: 0, ...more } }),
  });
  assert.deepEqual(plan(2, [aPod(0, busy({ calls: 3 })), aPod(1, withPeers(1)), aPod(2, busy({ streams: 2 }))]).drain, ['1 ScaleDown']);
  assert.deepEqual(plan(1, [aPod(0, busy({ files: 1 })), aPod(1, withPeers(2))]).drain, ['0 ScaleDown']);
});

test('a node without a report counts as the fullest, and an idle one as empty', () => {
  assert.deepEqual(plan(1, [aPod(0, { report: undefined }), aPod(1, withPeers(50))]).drain, ['1 ScaleDown']);
  assert.deepEqual(plan(1, [aPod(0, { idle: true, ready: false, report: undefined }), aPod(1)]).drain, ['0 ScaleDown']);
});

test('no working pod is removed before every node was polled', () => {
  const unpolled = { report: undefined, unpolled: true };
  assert.deepEqual(plan(1, [aPod(0, withPeers(2)), aPod(1, unpolled), aPod(2)]).drain, []);
  assert.deepEqual(plan(1, [aPod(0, withPeers(2)), aPod(1, { ...unpolled, ready: false })]).drain, ['1 ScaleDown']);
});

test('a draining pod stays selected, and its drain is cancelled first when more pods are desired', () => {
  const draining = { drain: { reason: 'ScaleDown' as const, deadline: 1 }, ...withPeers(3, 'draining') };
  assert.deepEqual(plan(1, [aPod(0, draining), aPod(1)]), { ...nothing, drain: ['0 ScaleDown'], keep: [1] });
  assert.deepEqual(plan(2, [aPod(0, draining), aPod(1)]), { ...nothing, keep: [0, 1] });
  assert.deepEqual(plan(3, [aPod(0, draining), aPod(1)]), { ...nothing, create: [2], keep: [0, 1] });
});

test('the drain of a terminating node cannot be cancelled', () => {
  const terminating = { drain: { reason: 'ScaleDown' as const, deadline: 1 }, report: { ...aPod(0).report, state: 'terminating' } };
  assert.deepEqual(plan(2, [aPod(0, terminating as Partial<PodSnapshot>), aPod(1)]).create, [2]);
});

test('a rollout creates one new pod, waits until it is ready, and then drains one old pod', () => {
  const old = { current: false };
  assert.deepEqual(plan(2, [aPod(0, old), aPod(1, old)]), { ...nothing, create: [2], keep: [0, 1] });
  const starting = aPod(2, { ready: false, idle: true, report: undefined });
  assert.deepEqual(plan(2, [aPod(0, old), aPod(1, old), starting]), { ...nothing, keep: [0, 1, 2] });
  assert.deepEqual(plan(2, [aPod(0, { ...old, ...withPeers(2) }), aPod(1, old), aPod(2)]).drain, ['1 Rollout']);
});

test('while an old pod drains no other pod is created, and the next one follows', () => {
  const old = { current: false };
  const drained = { ...old, drain: { reason: 'Rollout' as const, deadline: 1 } };
  assert.deepEqual(plan(2, [aPod(0, old), aPod(1, drained), aPod(2)]), { ...nothing, drain: ['1 Rollout'], keep: [0, 2] });
  assert.deepEqual(plan(2, [aPod(0, old), aPod(1, { ...old, ending: true }), aPod(2)]).create, [3]);
  assert.deepEqual(plan(2, [aPod(0, old), aPod(2)]).create, [1]);
  assert.deepEqual(plan(2, [aPod(0, old), aPod(1), aPod(2)]).drain, ['0 Rollout']);
});

test('an old pod that was never ready is removed immediately, and a new template replaces a failing new pod', () => {
  const broken = { current: false, ready: false };
  assert.deepEqual(plan(1, [aPod(0, broken)]).create, [1]);
  assert.deepEqual(plan(1, [aPod(0, broken), aPod(1, { ready: false })]).drain, ['0 Rollout']);
  assert.deepEqual(plan(1, [aPod(0, { current: false }), aPod(1, broken)]).drain, ['1 Rollout']);
});

test('reverting the template cancels the drain of the old pod and removes the new pod', () => {
  const drained = { drain: { reason: 'Rollout' as const, deadline: 1 } };
  assert.deepEqual(plan(1, [aPod(0, drained), aPod(1, { current: false })]), { ...nothing, keep: [0], drain: ['1 Rollout'] });
});

test('without surge an old pod is drained before its successor is ready, one at a time', () => {
  const old = { current: false };
  const calm = { surge: false };
  assert.deepEqual(plan(2, [aPod(0, old), aPod(1, { ...old, ...withPeers(2) })], calm), { ...nothing, drain: ['0 Rollout'], keep: [1] });
  // The extra pod that has no Kubernetes node stays for its place.
  const waiting = aPod(2, { ready: false, idle: true, unscheduled: true, report: undefined });
  assert.deepEqual(plan(2, [aPod(0, old), aPod(1, old), waiting], calm), { ...nothing, drain: ['1 Rollout'], keep: [0, 2] });
  assert.deepEqual(plan(2, [aPod(0, old), waiting], calm), { ...nothing, keep: [0, 2] });
  assert.deepEqual(plan(2, [aPod(0, old), aPod(2)], calm).drain, ['0 Rollout']);
});

test('a partition of pods keeps the older template, and a held rollout replaces none', () => {
  const old = { current: false };
  const three = [aPod(0, old), aPod(1, old), aPod(2, old)];
  assert.deepEqual(plan(3, three, { partition: 2 }), { ...nothing, create: [3], keep: [0, 1, 2] });
  assert.deepEqual(plan(3, [...three, aPod(3)], { partition: 2 }).drain, ['2 Rollout']);
  assert.deepEqual(plan(3, [aPod(0, old), aPod(1, old), aPod(3)], { partition: 2 }), { ...nothing, keep: [0, 1, 3] });
  const held = { partition: Number.POSITIVE_INFINITY };
  assert.deepEqual(plan(3, three, held), { ...nothing, keep: [0, 1, 2] });
  assert.deepEqual(plan(3, [aPod(0, old), aPod(1, old)], held).create, [2]);
  assert.deepEqual(plan(2, [aPod(0, old), aPod(1, { ...old, ...withPeers(2) }), aPod(2)], held).drain, ['2 ScaleDown']);
  const draining = aPod(1, { ...old, drain: { reason: 'Rollout', deadline: 1 } });
  assert.deepEqual(plan(2, [aPod(0, old), draining, aPod(2)], held).drain, ['1 Rollout']);
});

test('if all indexes are in use an old pod is removed before its successor, and a missing pod is reported', () => {
  const old = { current: false };
  assert.deepEqual(plan(2, [aPod(0, old), aPod(1, { ...old, ...withPeers(2) })], { indexes: 2 }), {
    ...nothing,
    drain: ['0 Rollout'],
    keep: [1],
    blocked: true,
  });
  assert.equal(plan(2, [aPod(0), aPod(1, { ending: true })], { indexes: 2 }).blocked, true);
});

test('terminating, failed and lost pods are replaced under other indexes', () => {
  assert.deepEqual(plan(2, [aPod(0), aPod(1, { ending: true, ready: false })]), { ...nothing, create: [2], keep: [0] });
  assert.deepEqual(plan(2, [aPod(0), aPod(1, { failed: true, ready: false })]), { ...nothing, create: [2], remove: [1], keep: [0] });
  assert.deepEqual(plan(2, [aPod(0), aPod(1, { lost: true })]), { ...nothing, create: [2], keep: [0] });
});

test('if all indexes are in use each lost pod is replaced under its spare index', () => {
  const lost = { lost: true, ready: false };
  const pods = [aPod(0, lost), aPod(1), aPod(2, lost), aPod(3, lost), aPod(4)];
  assert.deepEqual(plan(5, pods, { indexes: 6 }), { ...nothing, create: [5, 6, 8], keep: [1, 4] });
  const healed = [...pods, aPod(5), aPod(6), aPod(8)];
  assert.deepEqual(plan(5, healed, { indexes: 6 }), { ...nothing, keep: [1, 4, 5, 6, 8] });
  // A lost replacement has no spare index.
  assert.equal(plan(5, [...pods, aPod(5), aPod(6, lost), aPod(8, lost)], { indexes: 6 }).create.join(), '9');
  assert.equal(plan(5, [...pods, aPod(5), aPod(6, lost), aPod(8, lost)], { indexes: 6 }).blocked, true);
});

test('a recovered Kubernetes node causes a surplus pod, of which the least loaded is removed', () => {
  assert.deepEqual(plan(2, [aPod(0, withPeers(2)), aPod(1, withPeers(1)), aPod(2)]).drain, ['2 ScaleDown']);
});

test('a pod on a leaving Kubernetes node is replaced first and drained when its replacement is ready', () => {
  const leaving = aPod(1, { leaving: true, ...withPeers(2) });
  assert.deepEqual(plan(2, [aPod(0), leaving]), { ...nothing, create: [2], keep: [0, 1] });
  assert.deepEqual(plan(2, [aPod(0), leaving, aPod(2, { ready: false })]).drain, []);
  assert.deepEqual(plan(2, [aPod(0), leaving, aPod(2)]), { ...nothing, drain: ['1 HostDrained'], keep: [0, 2] });
  assert.deepEqual(plan(2, [aPod(0), leaving], { waited: true }).drain, ['1 HostDrained']);
});

test('all pods of a leaving Kubernetes node are replaced concurrently', () => {
  assert.deepEqual(plan(3, [aPod(0), aPod(1, { leaving: true }), aPod(2, { leaving: true })]).create, [3, 4]);
});

test('an uncordoned Kubernetes node keeps its pod, and the least loaded surplus pod is removed', () => {
  const back = aPod(0, { drain: { reason: 'HostDrained', deadline: 1 }, ...withPeers(2, 'draining') });
  assert.deepEqual(plan(1, [back, aPod(1)]), { ...nothing, keep: [0], drain: ['1 ScaleDown'] });
  assert.deepEqual(plan(1, [back]), { ...nothing, keep: [0] });
});

test('a cluster scaled to zero drains all pods, including old ones', () => {
  assert.deepEqual(plan(0, [aPod(0, { current: false }), aPod(1)]).drain, ['0 Rollout', '1 ScaleDown']);
});

test('for any set of pods the desired number stays ready if enough are ready', () => {
  let seed = 7;
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed / 2_147_483_648;
  };
  for (let round = 0; round < 3_000; round += 1) {
    const pods = Array.from({ length: Math.floor(random() * 8) }, (_, index) =>
      aPod(index, {
        current: random() < 0.6,
        ready: random() < 0.8,
        ending: random() < 0.1,
        failed: random() < 0.1,
        lost: random() < 0.1,
        leaving: random() < 0.2,
        ...(random() < 0.2 ? { drain: { reason: 'Rollout' as const, deadline: 1 } } : {}),
        ...withPeers(Math.floor(random() * 3)),
      }),
    );
    const desired = Math.floor(random() * 5);
    const { create, drain, keep } = planRollout({
      desired,
      indexes: 11,
      pods,
      foreignIndexes: new Set(),
      policy: { partition: round % 3 === 0 ? Number.POSITIVE_INFINITY : round % 2, surge: true },
      replacementTimedOut: () => false,
    });
    const able = pods.filter((pod) => pod.ready && !pod.ending && !pod.failed && !pod.lost && !pod.leaving && !pod.drain);
    const left = keep.filter((pod) => pod.ready && !pod.leaving);
    assert.ok(left.length >= Math.min(desired, able.length), JSON.stringify({ pods, desired }));
    assert.equal(new Set([...create, ...pods.map(({ index }) => index)]).size, create.length + pods.length);
    assert.ok(keep.every((pod) => !drain.some((each) => each.pod === pod)));
    assert.ok(create.length <= desired + 1);
  }
});
