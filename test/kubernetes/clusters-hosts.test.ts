// Kubernetes nodes that are removed: cordoned, drained, or failed.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { lostTimeoutMs } from '../../operator/clusters/pods/hosts.ts';
import { mustKubectl } from '../kit/kube/kubectl.ts';
import { type ClusterPod, LiveRoom, MediaClusterUser, startClusterOperator } from '../kit/kube/media-clusters.ts';
import { readObject } from '../kit/kube/read-objects.ts';

const { server, runner } = await startClusterOperator({ after }, { pods: { hosts: 3 } });

type Host = { status: { conditions: { type: string; status: string }[] } };

const uids = (pods: readonly ClusterPod[]) => pods.map(({ metadata: { uid } }) => uid);
const drain = { timeoutSeconds: 600 };

const kubectl = mustKubectl(server);

/** A cluster of one node with a live room. */
async function withRoom(
  namespace: string,
  more: object = {},
): Promise<{ user: MediaClusterUser; pod: ClusterPod; host: string; room: LiveRoom }> {
  // All clusters have the same name; the label distinguishes their pods, also those of earlier tests on the same Kubernetes node.
  const user = await MediaClusterUser.make(server, namespace, {
    replicas: 1,
    drain: { ...drain, ...more },
    podTemplate: { labels: { of: namespace } },
  });
  const [pod] = await user.settled('c-0');
  assert.ok(pod?.spec.nodeName);
  const room = await LiveRoom.open(user, pod, 'alive');
  await user.until('the pod is marked', async () => (await user.pods())[0]?.metadata.labels['mediarooms.dev/busy'] === 'true');
  return { user, pod, host: pod.spec.nodeName, room };
}

async function stateOf(user: MediaClusterUser, pod: ClusterPod): Promise<string> {
  return (await (await user.api(pod)).get('/health')).body.data.state;
}

test('a cordon drains the pods of a Kubernetes node once replacements are ready, and an uncordon cancels the drain', async () => {
  const { user, pod, host, room } = await withRoom('cordon');
  await kubectl('cordon', host);
  try {
    await user.until('the pod drains', async () => (await stateOf(user, pod)) === 'draining');
    const ready = await user.readyPods();
    assert.equal(ready.length, 2);
    assert.notEqual(ready[1]?.spec.nodeName, host);
    assert.equal(await room.lives(), true);
  } finally {
    await kubectl('uncordon', host);
  }
  await user.until('the pod accepts rooms again', async () => (await stateOf(user, pod)) === 'accepting');
  assert.deepEqual(uids(await user.settled('c-0')), [pod.metadata.uid]);
  assert.equal(await room.lives(), true);
});

test('pods stay on a cordoned Kubernetes node if the MediaCluster keeps them, until an autoscaler announces its removal', async () => {
  const { user, pod, host, room } = await withRoom('kept', { node: { onCordon: 'keep', timeoutSeconds: 2 } });
  await kubectl('cordon', host);
  try {
    await user.kubectl('scale', 'mediacluster', 'c', '--replicas=2');
    const [first, second] = await user.settled('c-0', 'c-1');
    assert.equal(first?.metadata.uid, pod.metadata.uid);
    assert.notEqual(second?.spec.nodeName, host);
    assert.equal(await stateOf(user, pod), 'accepting');
    assert.equal(await room.lives(), true);
    await kubectl('taint', 'node', host, 'karpenter.sh/disrupted=1:NoSchedule');
    // The room has the 2 s of this cause, not the 600 s of the cluster.
    await user.settled('c-1', 'c-2');
  } finally {
    await kubectl('taint', 'node', host, 'karpenter.sh/disrupted-');
    await kubectl('uncordon', host);
  }
});

test('a taint of an autoscaler drains a pod, which is removed when its rooms have ended', async () => {
  const { user, pod, host, room } = await withRoom('taint');
  await kubectl('taint', 'node', host, 'ToBeDeletedByClusterAutoscaler=1:NoSchedule');
  try {
    await user.until('the pod drains', async () => (await stateOf(user, pod)) === 'draining');
    await room.leave();
    await user.settled('c-1');
  } finally {
    await kubectl('taint', 'node', host, 'ToBeDeletedByClusterAutoscaler-');
  }
});

test('kubectl drain waits for live rooms and then evicts the pod', async () => {
  const { user, host, room } = await withRoom('evicted');
  const selector = '--pod-selector=of=evicted';
  try {
    const impatient = await server.kubectl(['drain', host, selector, '--delete-emptydir-data', '--timeout=4s']);
    assert.notEqual(impatient.code, 0);
    assert.match(impatient.stderr, /violate the pod's disruption budget|global timeout/);
    assert.equal(await room.lives(), true);
    const patient = server.kubectl(['drain', host, selector, '--delete-emptydir-data', '--timeout=60s']);
    await room.leave();
    assert.equal((await patient).code, 0);
    await user.until('one pod on another Kubernetes node is ready', async () => {
      const ready = await user.readyPods();
      return ready.length === 1 && ready[0]?.spec.nodeName !== host;
    });
  } finally {
    await kubectl('uncordon', host);
  }
});

test('a Kubernetes node without a kubelet is not lost while its media node responds, and a live room continues', async () => {
  const { user, pod, host, room } = await withRoom('silent');
  runner.silenceHost(host);
  try {
    await user.until('Kubernetes reports the Kubernetes node as unreachable', async () => {
      const node = (await readObject(server, 'nodes', host)) as unknown as Host | undefined;
      return node?.status.conditions.find(({ type }) => type === 'Ready')?.status === 'Unknown';
    });
    await sleep(lostTimeoutMs + 5_000);
    assert.deepEqual(uids(await user.pods()), [pod.metadata.uid]);
    assert.equal((await user.condition('Degraded')).status, 'False');
    assert.equal(await room.lives(), true);
  } finally {
    await runner.hearHost(host);
  }
  assert.deepEqual(uids(await user.settled('c-0')), [pod.metadata.uid]);
  assert.equal(await room.lives(), true);
});

test('all pods of a lost Kubernetes node are replaced under other indexes, also at maxReplicas, and the status reports it', async () => {
  const user = await MediaClusterUser.make(server, 'lost', { replicas: 4, maxReplicas: 4, drain: { timeoutSeconds: 2 } });
  const pods = await user.settled('c-0', 'c-1', 'c-2', 'c-3');
  const names = Map.groupBy(pods, ({ spec }) => spec.nodeName ?? '');
  // One of three Kubernetes nodes has at least two of four pods, but only one index is free.
  const [host, onHost] = [...names].reduce((one, other) => (other[1].length > one[1].length ? other : one));
  const lost = onHost.map(({ metadata: { name } }) => name);
  assert.ok(lost.length >= 2);
  await runner.failHost(host);
  await user.until('four pods on other Kubernetes nodes are ready', async () => {
    const nodes = (await user.cluster()).status?.nodes ?? [];
    return nodes.length === 4 + lost.length && nodes.filter(({ state }) => state === 'Ready').length === 4;
  });
  const { status } = await user.cluster();
  assert.deepEqual(
    status?.nodes?.filter(({ state }) => state === 'Lost').map(({ name }) => name),
    lost,
  );
  const degraded = await user.condition('Degraded');
  assert.deepEqual([degraded.reason, degraded.status], ['HostLost', 'True']);
  assert.match(degraded.message, new RegExp(`Kubernetes node "${host}" is unreachable`));
  await runner.recoverHost(host);
  await user.until('four pods remain and the cluster is not Degraded', async () => {
    const nodes = (await user.cluster()).status?.nodes ?? [];
    return nodes.length === 4 && nodes.every(({ state }) => state === 'Ready') && (await user.condition('Degraded')).status === 'False';
  });
});
