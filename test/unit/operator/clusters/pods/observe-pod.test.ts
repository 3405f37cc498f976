// Pod snapshots from stored pods and Kubernetes nodes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ObservedPod } from '../../../../../operator/clusters/observed-objects.ts';
import { type Host, HostMonitor, hostChanged, isLeaving } from '../../../../../operator/clusters/pods/hosts.ts';
import { notReadyReason, podSnapshot } from '../../../../../operator/clusters/pods/observe-pod.ts';
import type { Stored } from '../../../../../operator/kube/objects.ts';

const context = {
  templateHash: 'hash',
  specHash: 'spec',
  image: undefined,
  indexes: 11,
  lost: (host: string) => host === 'dark',
  leaving: (host: string) => host === 'cordoned',
  report: () => undefined,
  unpolled: () => false,
};

function stored({
  status,
  metadata,
  nodeName,
}: {
  status?: ObservedPod['status'];
  metadata?: object;
  nodeName?: string;
} = {}): Stored<ObservedPod> {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'c-3',
      namespace: 'n',
      uid: 'u',
      resourceVersion: '1',
      labels: { 'mediarooms.dev/index': '3' },
      annotations: { 'mediarooms.dev/template-hash': 'hash' },
      ...metadata,
    },
    ...(nodeName ? { spec: { nodeName } } : {}),
    ...(status ? { status } : {}),
  };
}
const running = { containerStatuses: [{ name: 'node', state: { running: {} } }], phase: 'Running' };
const ready = { ...running, conditions: [{ type: 'Ready', status: 'True' }] };
const facts = (...of: Parameters<typeof stored>) => podSnapshot(stored(...of), context);

test('a running pod is ready', () => {
  const { index, current, ready: isReady, idle, lost, leaving, ending, failed } = facts({ status: ready, nodeName: 'host' });
  assert.deepEqual([index, current, isReady, idle, lost, leaving, ending, failed], [3, true, true, false, false, false, false, false]);
});

test('an update of the operator replaces a pod of the same spec, unless its image is pinned', () => {
  const pod = (spec: string | undefined) =>
    stored({ metadata: { annotations: { 'mediarooms.dev/template-hash': 'old', ...(spec && { 'mediarooms.dev/spec-hash': spec }) } } });
  const of = (spec: string | undefined, pinned: boolean) => {
    const { current, sameSpec } = podSnapshot(pod(spec), { ...context, image: pinned ? 'node:0.8.0' : undefined });
    return [current, sameSpec];
  };
  assert.deepEqual(
    [of('spec', false), of('spec', true)],
    [
      [false, true],
      [true, true],
    ],
  );
  assert.deepEqual(
    [of('other', false), of('other', true)],
    [
      [false, false],
      [false, false],
    ],
  );
  // A pod of 0.7 has no hash of its spec.
  assert.deepEqual(
    [of(undefined, false), of(undefined, true)],
    [
      [false, true],
      [false, true],
    ],
  );
});

test('a pod that the scheduler cannot place is unscheduled', () => {
  const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }];
  assert.equal(facts({ status: { phase: 'Pending', conditions } }).unscheduled, true);
  assert.equal(facts({ status: ready }).unscheduled, false);
});

test('a pod on a lost or cordoned Kubernetes node is lost or leaving', () => {
  assert.equal(facts({ status: ready, nodeName: 'dark' }).lost, true);
  assert.equal(facts({ status: ready, nodeName: 'cordoned' }).leaving, true);
  assert.equal(facts({ status: ready }).lost, false);
});

test('a pod that is being deleted is ending and not ready', () => {
  const { ending, ready: isReady } = facts({ status: ready, metadata: { deletionTimestamp: '2026-11-21T12:00:00Z' } });
  assert.deepEqual([ending, isReady], [true, false]);
});

test('a pod without a running process is idle', () => {
  assert.equal(facts().idle, true);
  assert.equal(facts({ status: { phase: 'Pending' } }).idle, true);
  const waiting = { phase: 'Running', containerStatuses: [{ name: 'node', state: { waiting: { reason: 'CrashLoopBackOff' } } }] };
  assert.equal(facts({ status: waiting }).idle, true);
  assert.equal(facts({ status: running }).idle, false);
  assert.equal(facts({ status: { phase: 'Unknown' } }).idle, false);
});

test('an evicted pod is failed', () => {
  assert.equal(facts({ status: { phase: 'Failed', reason: 'Evicted' } }).failed, true);
});

test('a pod of another template or with an invalid index is not current', () => {
  assert.equal(podSnapshot(stored(), { ...context, templateHash: 'other' }).current, false);
  assert.equal(podSnapshot(stored(), { ...context, indexes: 3 }).current, false);
});

test('the reason why a pod is not ready is taken from its status', () => {
  const waiting = { reason: 'ImagePullBackOff', message: 'Back-off pulling image "x"' };
  const of = (status: ObservedPod['status']) => notReadyReason(stored({ status }));
  assert.equal(
    of({ phase: 'Pending', containerStatuses: [{ name: 'node', state: { waiting } }] }),
    'Pod c-3 waits: ImagePullBackOff: Back-off pulling image "x".',
  );
  assert.equal(
    of({
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes are available.' }],
    }),
    'Pod c-3 is not scheduled: Unschedulable: 0/3 nodes are available.',
  );
  assert.equal(of({ phase: 'Failed', reason: 'Evicted', message: 'low on memory' }), 'Pod c-3 failed: Evicted: low on memory.');
  const terminated = { exitCode: 137, reason: 'OOMKilled', message: 'output of the container' };
  assert.equal(
    of({
      phase: 'Running',
      containerStatuses: [{ name: 'node', state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: { terminated } }],
    }),
    'Pod c-3 waits: CrashLoopBackOff: last run: exit code 137 (OOMKilled).',
  );
  assert.equal(
    of({ phase: 'Running', containerStatuses: [{ name: 'node', state: { terminated } }] }),
    'Pod c-3 ended: exit code 137 (OOMKilled).',
  );
  assert.equal(of(running), 'Pod c-3 is not ready yet.');
  assert.equal(of(ready), undefined);
});

const host = (spec: Host['spec'], status = 'True'): Stored<Host> => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'host', uid: 'u', resourceVersion: '1' },
  ...(spec ? { spec } : {}),
  status: { conditions: [{ type: 'Ready', status }] },
});

test('a Kubernetes node is leaving if it is cordoned, unless the MediaCluster keeps pods then, or if a taint announces its removal', () => {
  const leaving = (spec: Host['spec']) => [isLeaving(host(spec), 'drain'), isLeaving(host(spec), 'keep')];
  assert.deepEqual(leaving({ unschedulable: true }), [true, false]);
  assert.deepEqual(leaving({ taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] }), [true, false]);
  for (const key of ['ToBeDeletedByClusterAutoscaler', 'karpenter.sh/disrupted'])
    assert.deepEqual(leaving({ unschedulable: true, taints: [{ key, effect: 'NoSchedule' }] }), [true, true]);
  assert.deepEqual(leaving({ taints: [{ key: 'gpu', effect: 'NoSchedule' }] }), [false, false]);
});

test('heartbeats of Kubernetes nodes are no relevant change', () => {
  assert.equal(hostChanged(host({}), host({})), false);
  assert.equal(hostChanged(host({ unschedulable: true }), host({})), true);
  const removed = { unschedulable: true, taints: [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }] };
  assert.equal(hostChanged(host(removed), host({ unschedulable: true })), true);
  assert.equal(hostChanged(host({}, 'Unknown'), host({})), true);
});

test('a Kubernetes node is lost 10 s after it was first seen unhealthy by the local clock, and recovers immediately', () => {
  let now = 0;
  let stored: Stored<Host> | undefined = host({});
  const others = [host({})];
  const watch = new HostMonitor({ get: () => stored, list: () => others, synced: true }, () => now);
  assert.equal(watch.timeUntilLost('host'), undefined);
  stored = host({}, 'Unknown');
  assert.equal(watch.timeUntilLost('host'), 10_000);
  now = 9_999;
  assert.equal(watch.timeUntilLost('host'), 1);
  now = 10_000;
  assert.equal(watch.timeUntilLost('host'), 0);
  stored = host({});
  assert.equal(watch.timeUntilLost('host'), undefined);
  stored = undefined;
  assert.equal(watch.timeUntilLost('host'), 10_000);
});

test('an unhealthy Kubernetes node is not lost until its media nodes have not responded for 10 s', () => {
  let now = 0;
  let heard: number | undefined;
  const watch = new HostMonitor(
    { get: () => host({}, 'Unknown'), list: () => [host({})], synced: true },
    () => now,
    () => heard,
  );
  heard = -20_000;
  assert.equal(watch.timeUntilLost('host'), 10_000);
  now = 30_000;
  heard = 28_000;
  assert.equal(watch.timeUntilLost('host'), 8_000);
  now = 38_000;
  assert.equal(watch.timeUntilLost('host'), 0);
  heard = undefined;
  assert.equal(watch.timeUntilLost('host'), 0);
});

test('if all Kubernetes nodes are unhealthy none is lost, and the time restarts when one is healthy', () => {
  let now = 0;
  let others = [host({})];
  const watch = new HostMonitor({ get: () => host({}, 'Unknown'), list: () => others, synced: true }, () => now);
  assert.equal(watch.timeUntilLost('host'), 10_000);
  others = [host({}, 'Unknown')];
  now = 60_000;
  assert.equal(watch.timeUntilLost('host'), undefined);
  others = [host({})];
  assert.equal(watch.timeUntilLost('host'), 10_000);
});

test('without permission to read Nodes no Kubernetes node is lost or leaving', () => {
  const watch = new HostMonitor(undefined, () => 0);
  assert.deepEqual([watch.known, watch.timeUntilLost('host'), watch.leavingSince('host', 'drain')], [false, undefined, undefined]);
});
