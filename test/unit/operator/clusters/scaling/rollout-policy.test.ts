// Rollout policy: what holds a rollout, and when it continues without an extra pod.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SurgeMonitor } from '../../../../../operator/clusters/pods/surge-monitor.ts';
import { type RolloutPolicyInput, RolloutTurns, rolloutPolicy } from '../../../../../operator/clusters/scaling/rollout-policy.ts';
import { aPod } from '../pods.ts';

const old = { current: false };
const updated = { current: false, sameSpec: true };
const all = Number.POSITIVE_INFINITY;

const policy = (input: Partial<RolloutPolicyInput>) =>
  rolloutPolicy({
    rollout: undefined,
    desired: 2,
    pods: [aPod(0, old), aPod(1, old)],
    surgeTimedOut: false,
    takeTurn: () => undefined,
    ...input,
  });
const options = { paused: false, partition: 0, surgeTimeoutSeconds: 600 };

test('a rollout has an extra pod, unless it timed out or its timeout is 0', () => {
  assert.deepEqual(policy({}), { partition: 0, surge: true, held: undefined });
  assert.equal(policy({ surgeTimedOut: true }).surge, false);
  assert.equal(policy({ rollout: { ...options, surgeTimeoutSeconds: 0 } }).surge, false);
});

test('a paused rollout and a partition hold pods of the older template, with the reason', () => {
  const paused = policy({ rollout: { ...options, paused: true } });
  assert.deepEqual([paused.partition, paused.held?.message], [all, '2 pods keep an older template: rollout.paused is true.']);
  const rollout = { ...options, partition: 1 };
  assert.deepEqual(policy({ rollout }), { partition: 1, surge: true, held: undefined });
  const rest = policy({ rollout, pods: [aPod(0, old), aPod(1)] });
  assert.deepEqual([rest.partition, rest.held?.message], [all, '1 pod keeps an older template: rollout.partition allows it.']);
  assert.equal(policy({ rollout, pods: [aPod(0), aPod(1)] }).held, undefined);
});

test('after an update of the operator one MediaCluster is rolled at a time, and a change of a spec does not wait', () => {
  const turns = new RolloutTurns();
  const of = (key: string, pods = [aPod(0, updated), aPod(1, updated)]) => policy({ pods, takeTurn: (needed) => turns.take(key, needed) });
  assert.equal(of('n/a').held, undefined);
  const waiting = of('n/b');
  assert.deepEqual([waiting.partition, waiting.held?.reason], [all, 'RolloutHeld']);
  assert.match(waiting.held?.message ?? '', /after an update of the operator MediaCluster "n\/a" is rolled first/);
  assert.equal(of('n/c', [aPod(0, old), aPod(1, updated)]).held, undefined);
  // The pod whose replacement has begun is replaced.
  const begun = aPod(0, { ...updated, drain: { reason: 'Rollout', deadline: 1 } });
  assert.equal(of('n/b', [begun, aPod(1, updated)]).held, undefined);
  assert.equal(of('n/a', [aPod(2), aPod(3)]).held, undefined);
  assert.equal(of('n/b').held, undefined);
  assert.notEqual(of('n/a').held, undefined);
  // A deleted or paused MediaCluster returns its turn.
  turns.take('n/b', false);
  assert.equal(of('n/a').held, undefined);
});

test('a rollout whose extra pod has waited too long continues without extra pods until its template changes', () => {
  let now = 0;
  const monitor = new SurgeMonitor(() => now);
  const waiting = aPod(2, { ready: false, idle: true, unscheduled: true });
  const observe = (template = 'a', pods = [aPod(0, old), waiting]) => monitor.observe('n/c', template, pods, 1_000);
  assert.deepEqual(observe(), { waiting, timedOut: false });
  now = 999;
  assert.equal(observe().timedOut, false);
  now = 1_000;
  assert.equal(observe().timedOut, true);
  assert.deepEqual(observe('a', [aPod(0, old), aPod(2)]), { timedOut: true });
  assert.equal(observe('b').timedOut, false);
  now = 2_000;
  assert.equal(observe('b').timedOut, true);
  assert.equal(observe('b', [aPod(2)]).timedOut, false);
});

test('an extra pod that is scheduled in time does not count', () => {
  let now = 0;
  const monitor = new SurgeMonitor(() => now);
  const observe = (unscheduled: boolean) => monitor.observe('n/c', 'a', [aPod(0, old), aPod(2, { ready: false, unscheduled })], 1_000);
  assert.equal(observe(true).timedOut, false);
  now = 900;
  assert.deepEqual(observe(false), { timedOut: false });
  now = 2_000;
  assert.equal(observe(true).timedOut, false);
});
