// Drain of a pod, step by step.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeSnapshot } from '../../../../../operator/clusters/pods/pod-snapshot.ts';
import { cancelStep, drainOf, drainStep, drainText, evictionAnnotations, isBusy } from '../../../../../operator/clusters/scaling/drain.ts';
import { aPod, nodeReport, withPeers } from '../pods.ts';

const now = Date.UTC(2026, 10, 21, 12);
const drain = { reason: 'ScaleDown' as const, deadline: now + 60_000 };

test('a drain writes reason and deadline, is requested, waits for live rooms and removes the pod', () => {
  assert.deepEqual(drainStep(aPod(0, withPeers(2)), 'ScaleDown', 60_000, now), { do: 'begin', ...drain });
  assert.deepEqual(drainStep(aPod(0, { drain, ...withPeers(2) }), 'ScaleDown', 60_000, now + 500), { do: 'ask', seconds: 60 });
  const waiting = drainStep(aPod(0, { drain, ...withPeers(4, 'draining') }), 'ScaleDown', 60_000, now + 1_000);
  assert.deepEqual(waiting, { do: 'wait', message: '2 live rooms have time until 2026-11-21T12:01:00Z: 4 peers.' });
  assert.deepEqual(drainStep(aPod(0, { drain, ...withPeers(0, 'draining') }), 'ScaleDown', 60_000, now + 1_000), { do: 'remove' });
});

const calling = { rooms: 1, peers: 0, calls: 2, streams: 1, recordings: 1, files: 0 };

test('a drain waits for phone calls, watched streams, recordings and files, and lists them', () => {
  const pod = aPod(0, { drain, report: nodeReport({ state: 'draining', rooms: 1, busy: calling }) });
  assert.deepEqual(drainStep(pod, 'ScaleDown', 60_000, now + 1_000), {
    do: 'wait',
    message: '1 live room has time until 2026-11-21T12:01:00Z: 2 phone calls, 1 watched stream, 1 recording.',
  });
});

test('an idle pod is removed immediately', () => {
  assert.deepEqual(drainStep(aPod(0, { idle: true, report: undefined }), 'Rollout', 60_000, now), { do: 'remove' });
});

test('another reason replaces the first and may shorten its deadline, but not extend it', () => {
  const step = drainStep(aPod(0, { drain, ...withPeers(2, 'draining') }), 'HostDrained', 60_000, now + 30_000);
  assert.deepEqual(step, { do: 'begin', reason: 'HostDrained', deadline: drain.deadline });
  const sooner = drainStep(aPod(0, { drain, ...withPeers(2, 'draining') }), 'HostDrained', 10_000, now + 30_000);
  assert.deepEqual(sooner, { do: 'begin', reason: 'HostDrained', deadline: now + 40_000 });
});

test('an unresponsive node is waited for until shortly after the deadline', () => {
  const silent = aPod(0, { drain, report: undefined });
  assert.equal(drainStep(silent, 'ScaleDown', 60_000, now + 69_000).do, 'wait');
  assert.deepEqual(drainStep(silent, 'ScaleDown', 60_000, now + 71_000), { do: 'remove' });
});

test('rooms that outlive the deadline are not waited for', () => {
  assert.deepEqual(drainStep(aPod(0, { drain, ...withPeers(2, 'draining') }), 'ScaleDown', 60_000, now + 71_000), { do: 'remove' });
});

test('a node restarted during its drain gets the remaining time', () => {
  assert.deepEqual(drainStep(aPod(0, { drain, ...withPeers(2) }), 'ScaleDown', 60_000, now + 50_000), { do: 'ask', seconds: 10 });
  assert.deepEqual(drainStep(aPod(0, { drain, ...withPeers(2) }), 'ScaleDown', 60_000, now + 65_000), { do: 'ask', seconds: 0 });
});

test('a drain of the operator is cancelled and removed, and a manual drain is kept', () => {
  assert.equal(cancelStep(aPod(0, { drain, ...withPeers(2, 'draining') })), 'callBack');
  assert.equal(cancelStep(aPod(0, { drain, ...withPeers(2) })), 'forget');
  assert.equal(cancelStep(aPod(0, { drain, report: undefined })), 'nothing');
  assert.equal(cancelStep(aPod(0, withPeers(2, 'draining'))), 'nothing');
});

test('a pod is busy while peers are connected or calls run, until the deadline of its drain', () => {
  assert.equal(isBusy(aPod(0, { report: nodeReport({ rooms: 1, busy: calling }) }), now), true);
  assert.equal(isBusy(aPod(0, withPeers(1)), now), true);
  assert.equal(isBusy(aPod(0), now), false);
  assert.equal(isBusy(aPod(0, { report: undefined }), now), undefined);
  assert.equal(isBusy(aPod(0, { drain, ...withPeers(1, 'draining') }), now), true);
  assert.equal(isBusy(aPod(0, { drain, ...withPeers(1, 'draining') }), drain.deadline), false);
  assert.equal(isBusy(aPod(0, { drain, report: undefined }), drain.deadline), false);
  assert.equal(isBusy(aPod(0, { idle: true, report: undefined }), now), false);
});

test('autoscalers may remove the Kubernetes node of an idle pod only, unless the user decides it', () => {
  const [autoscaler, karpenter] = ['cluster-autoscaler.kubernetes.io/safe-to-evict', 'karpenter.sh/do-not-disrupt'];
  assert.deepEqual(evictionAnnotations(true), { [autoscaler]: 'false', [karpenter]: 'true' });
  assert.deepEqual(evictionAnnotations(false), { [autoscaler]: 'true', [karpenter]: null });
  assert.deepEqual(evictionAnnotations(false, { [autoscaler]: 'false' }), { [karpenter]: null });
});

test('a node of 0.7, which does not report what is busy, is busy because of its connected peers', () => {
  const health = { state: 'accepting' as const, distribution: { nodesInCluster: 1 }, config: { files: [], error: null } };
  const old = (connectedPeers: number) => nodeSnapshot({ ...health, load: { rooms: 3, connectedPeers, forwardedTracks: 0 } });
  assert.equal(isBusy(aPod(0, { report: old(1) }), now), true);
  assert.equal(isBusy(aPod(0, { report: old(0) }), now), false);
  assert.deepEqual(old(2).busy, { rooms: 2, peers: 2, calls: 0, streams: 0, recordings: 0, files: 0 });
});

test('a drain is restored from the annotation of the pod, and invalid text is ignored', () => {
  assert.deepEqual(drainOf(drainText(drain)), drain);
  for (const text of [undefined, '', 'ScaleDown', 'ScaleDown never', 'Boredom 2026-11-21T12:00:00Z'])
    assert.equal(drainOf(text), undefined);
});
