// API server outage: nodes are not affected, no Kubernetes node is judged lost, and changes are applied afterwards.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { LiveRoom, MediaClusterUser, startClusterOperator } from '../kit/kube/media-clusters.ts';

const { server, operator } = await startClusterOperator({ after });

test('an API server outage makes no node lost, and the next spec change is applied', async () => {
  const spec = { replicas: 2, drain: { timeoutSeconds: 600 } };
  const user = await MediaClusterUser.make(server, 'outage', spec);
  const pods = await user.settled('c-0', 'c-1');
  const [pod] = pods;
  assert.ok(pod);
  const room = await LiveRoom.open(user, pod, 'alive');
  await user.until('the pod is marked', async () => (await user.pods())[0]?.metadata.labels['mediarooms.dev/busy'] === 'true');
  await server.stopApiServer();
  const before = operator.calls.length;
  await sleep(20_000);
  // One worker probes it, after pauses of 0.5, 1, 2, 4 and 8 s.
  const probes = operator.calls.slice(before).filter(({ attempt }) => attempt === 0);
  assert.ok(probes.length <= 7, JSON.stringify(probes.map(({ verb, resource }) => `${verb} ${resource}`)));
  await server.startApiServer();
  await user.apply({ ...spec, replicas: 1 });
  const [left] = await user.settled('c-0');
  assert.equal(left?.metadata.uid, pod.metadata.uid);
  assert.equal(await room.lives(), true);
  const events = await user.list<{ reason: string; note: string; regarding: { kind: string } }>('events');
  const made = events.filter(({ reason, regarding }) => regarding.kind === 'MediaCluster' && reason === 'PodCreated');
  assert.deepEqual(made.map(({ note }) => note).sort(), ['Created pod c-0.', 'Created pod c-1.']);
});
