// Rollouts: paused and partitioned ones, those without room for an extra pod, and several MediaClusters after an update of the operator.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type ClusterPod, LiveRoom, MediaClusterUser, startClusterOperator } from '../kit/kube/media-clusters.ts';

const { server } = await startClusterOperator({ after });

const uids = (pods: readonly ClusterPod[]) => pods.map(({ metadata: { uid } }) => uid);
const tick = (value: string) => ({ podTemplate: { extraEnv: [{ name: 'SVC_DIST_TICK', value }] } });

test('a paused rollout replaces no pod until it continues, and a partition of pods keeps the older template', async () => {
  const spec = { replicas: 2, drain: { timeoutSeconds: 2 } };
  const user = await MediaClusterUser.make(server, 'paused', { ...spec, rollout: { paused: true } });
  const before = uids(await user.settled('c-0', 'c-1'));
  const held = async () => (await user.condition('Progressing')).message;
  await user.apply({ ...spec, ...tick('30'), rollout: { paused: true } });
  await user.until('the rollout is held', async () => /2 pods keep an older template: rollout.paused is true/.test(await held()));
  assert.deepEqual(uids(await user.settled('c-0', 'c-1')), before);
  await user.apply({ ...spec, ...tick('30'), rollout: { partition: 1 } });
  await user.until('one pod is replaced', async () => /1 pod keeps an older template: rollout.partition allows it/.test(await held()));
  const after = uids(await user.readyPods());
  assert.deepEqual([after.length, after.filter((uid) => before.includes(uid)).length], [2, 1]);
});

test('a rollout without room for an extra pod says so and continues without it', async () => {
  const media = { exposure: 'hostNetwork', announcedAddress: 'nodeInternalIP', ports: { from: 29_900, to: 29_929 } };
  // Both Kubernetes nodes have one pod each, because of the ports.
  const spec = { replicas: 2, media, drain: { timeoutSeconds: 2 }, rollout: { surgeTimeoutSeconds: 3 } };
  const user = await MediaClusterUser.make(server, 'full', spec);
  const before = uids(await user.settled('c-0', 'c-1'));
  await user.apply({ ...spec, ...tick('30') });
  await user.until('the missing room is reported', async () => (await user.condition('Progressing')).reason === 'NoRoomForSurge');
  await user.until('both pods are replaced', async () => {
    const ready = uids(await user.readyPods());
    return ready.length === 2 && ready.every((uid) => !before.includes(uid)) && (await user.rests());
  });
});

test('after an update of the operator one MediaCluster is rolled after another, and pods of a pinned image stay', async () => {
  const spec = { replicas: 1, drain: { timeoutSeconds: 600 } };
  const users = await Promise.all(['update-a', 'update-b'].map((namespace) => MediaClusterUser.make(server, namespace, spec)));
  const rooms = new Map<MediaClusterUser, LiveRoom>();
  for (const user of users) {
    const [pod] = await user.settled('c-0');
    assert.ok(pod);
    rooms.set(user, await LiveRoom.open(user, pod, 'alive'));
  }
  const pinned = await MediaClusterUser.make(server, 'update-pinned', { ...spec, image: 'registry.example/mediarooms:pinned' });
  const before = uids(await pinned.settled('c-0'));
  // As an operator of another version would have written it.
  for (const user of [...users, pinned]) await user.kubectl('annotate', 'pod', 'c-0', '--overwrite', 'mediarooms.dev/template-hash=older');
  const reason = async (user: MediaClusterUser) => (await user.condition('Progressing')).reason;
  const draining = async (user: MediaClusterUser) => /c-0 is being drained/.test((await user.condition('Progressing')).message);
  const [one, other] = users;
  assert.ok(one && other);
  await one.until('one is rolled and the other waits', async () => {
    const reasons = await Promise.all(users.map(reason));
    return reasons.includes('RolloutHeld') && ((await draining(one)) || (await draining(other)));
  });
  const [first, second] = (await reason(one)) === 'RolloutHeld' ? [other, one] : [one, other];
  assert.equal((await second.pods()).length, 1);
  await rooms.get(first)?.leave();
  await first.settled('c-1');
  await second.until('the other is rolled', () => draining(second));
  await rooms.get(second)?.leave();
  await second.settled('c-1');
  assert.deepEqual(uids(await pinned.settled('c-0')), before);
});
