// Fleet: drains of several pods.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ObservedPod } from '../../../../../operator/clusters/observed-objects.ts';
import { Fleet, type FleetOptions } from '../../../../../operator/clusters/pods/fleet.ts';
import type { ReconcileContext } from '../../../../../operator/clusters/pods/pod-operations.ts';
import type { Stored } from '../../../../../operator/kube/objects.ts';
import { testCluster, testFacts } from '../../../../kit/fakes/media-cluster.ts';

function aStoredPod(index: number): Stored<ObservedPod> {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `media-${index}`, uid: `uid-${index}`, resourceVersion: '1', labels: { 'mediarooms.dev/index': `${index}` } },
    status: {
      phase: 'Running',
      podIP: `10.0.0.${index + 1}`,
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [{ name: 'node', state: { running: {} } }],
    },
  };
}

test('pods are drained side by side: a node that does not respond delays no other drain', async () => {
  const draining = new Set<string>();
  const all = Promise.withResolvers<void>();
  const nothing = () => undefined;
  const options = {
    operations: {
      takenIndexes: () => new Set(),
      drain: async (...[, , pod]: Parameters<FleetOptions['operations']['drain']>) => {
        draining.add(pod.name);
        if (draining.size === 3) all.resolve();
        // The response to each request arrives only after every request was sent.
        await all.promise;
        return `Pod ${pod.name} is being drained.`;
      },
      mark: async () => undefined,
      retain: nothing,
    },
    poll: { report: nothing, neverPolled: () => false, error: nothing },
    hosts: { known: true, timeUntilLost: nothing, leavingSince: nothing },
    objects: { apply: async () => ({ stored: {} }) },
    now: () => 0,
    clock: () => new Date(0),
  } as unknown as FleetOptions;
  const cluster = testCluster({ replicas: 0 });
  const pods = new Map([0, 1, 2].map(aStoredPod).map((pod) => [pod.metadata.uid, pod]));
  const context = { key: 'calls/media', cluster, facts: testFacts(), canStart: true } as ReconcileContext;
  const state = await new Fleet(options).step(context, pods, { problems: [] });
  const messages = ['media-0', 'media-1', 'media-2'].map((name) => `Pod ${name} is being drained.`);
  assert.deepEqual(state.progress.map(({ message }) => message).sort(), messages);
  assert.deepEqual(state.seen.map(({ message }) => message).sort(), messages);
});
