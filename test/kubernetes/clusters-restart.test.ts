// Operator restarts during reconciles: the next process completes the work.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startControlPlane } from '../kit/kube/control-plane.ts';
import { ClusterOperator } from '../kit/kube/controllers/cluster-operator.ts';
import { applyDefinitions, basePort, LiveRoom, MediaClusterUser } from '../kit/kube/media-clusters.ts';
import { startPodRunner } from '../kit/kube/pods/pod-runner.ts';
import { seededRandom } from '../kit/seeded-random.ts';

const server = await startControlPlane({ after });
await applyDefinitions(server);
await startPodRunner(server);

test('an operator that ends at any time is continued by the next one, with the right number of pods and the live room kept', async (t) => {
  const random = seededRandom(11);
  let operator = await ClusterOperator.start(server);
  const spec = { drain: { timeoutSeconds: 300 } };
  const user = await MediaClusterUser.make(server, 'restart', { ...spec, replicas: 2 });
  const [, pod] = await user.settled('c-0', 'c-1');
  assert.ok(pod);
  const room = await LiveRoom.open(user, pod, 'alive');
  const specs = [{ replicas: 3 }, { replicas: 1 }, { replicas: 2 }, { replicas: 1 }, { replicas: 3 }, { replicas: 1 }];
  for (const [round, next] of specs.entries()) {
    await user.apply({ ...spec, ...next });
    for (let ends = 0; ends < 2; ends += 1) {
      await sleep(random() * 1_500);
      await operator.stop();
      operator = await ClusterOperator.start(server);
    }
    await user.until(`${next.replicas} pods are ready (round ${round})`, async () => {
      const pods = await user.pods();
      const ready = await user.readyPods();
      return pods.length === next.replicas && ready.length === next.replicas && (await user.rests());
    });
    const pods = await user.pods();
    assert.equal(new Set(pods.map(basePort)).size, pods.length);
    assert.ok(pods.some(({ metadata: { uid } }) => uid === pod.metadata.uid));
    assert.equal(await room.lives(), true);
    t.diagnostic(`round ${round}: ${pods.map(({ metadata: { name } }) => name).join(', ')}`);
  }
  await operator.stop();
  const services = await user.names('services');
  assert.deepEqual(services, ['c', 'c-1', 'c-1-media', 'c-nodes']);
});

test('an operator without permission to read Nodes reports it and manages clusters with reduced function', async () => {
  const user = await MediaClusterUser.make(server, 'narrow', { replicas: 0 });
  const operator = await ClusterOperator.start(server, { namespaces: ['narrow'], nodes: false });
  await user.apply({ replicas: 1, drain: { timeoutSeconds: 2 } });
  const [pod] = await user.settled('c-0');
  const degraded = await user.condition('Degraded');
  assert.deepEqual([degraded.status, degraded.reason], ['True', 'NodesNotReadable']);
  assert.match(pod?.metadata.annotations['mediarooms.dev/media-address'] ?? '', /^127\.\d+\.\d+\.254$/);
  assert.ok(operator.calls.every(({ resource }) => resource !== 'nodes'));
});
