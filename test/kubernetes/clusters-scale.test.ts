// Scaling and rollouts: the least loaded pods are removed first, new pods start first, live rooms keep their time.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { parse } from 'yaml';
import { collectionPath } from '../../operator/kube/http/paths.ts';
import { resources } from '../../operator/kube/objects.ts';
import { Informer } from '../kit/kube/informer.ts';
import { basePort, type ClusterPod, LiveRoom, MediaClusterUser, startClusterOperator } from '../kit/kube/media-clusters.ts';
import { mediaCluster } from '../kit/kube/read-objects.ts';
import type { Scope } from '../kit/kube/scope.ts';
import { kedaDefinitions } from '../kit/kube/third-party-crds.ts';
import { playableFiles } from '../kit/media/ogg-file.ts';
import { stopwatch } from '../kit/promised-time.ts';

/** URLs of nodes that do not respond to the operator. */
const silent = new Set<string>();
const { server } = await startClusterOperator({ after }, { definitions: kedaDefinitions, operator: { silent } });

const hpa = 'hpa';
// Created first, because the controller looks at it every 15 s.
await MediaClusterUser.make(server, hpa, { replicas: 1, drain: { timeoutSeconds: 2 } });
await server.apply(exampleOf('HorizontalPodAutoscaler', hpa));

type Budget = { status?: { desiredHealthy: number; currentHealthy: number; disruptionsAllowed: number } };

/** Whether the budget requires this number of pods, which are healthy, and allows no eviction of them. */
async function budgetIs(user: MediaClusterUser, pods: number): Promise<boolean> {
  const { status } = await user.get<Budget>('podDisruptionBudgets', 'c-busy');
  return status?.desiredHealthy === pods && status.currentHealthy === pods && status.disruptionsAllowed === 0;
}

type Scale = { spec: { replicas: number }; status: { replicas: number; selector: string } };

/** The scale subresource, as `kubectl scale`, a HorizontalPodAutoscaler and KEDA use it. */
async function scaleOf({ namespace, name }: MediaClusterUser): Promise<Scale> {
  const path = `/apis/mediarooms.dev/v1alpha1/namespaces/${namespace}/mediaclusters/${name}/scale`;
  const { status, body } = await server.client.call(path);
  assert.equal(status, 200, JSON.stringify(body));
  return body as Scale;
}

/** The example of that kind in the documentation, for the MediaCluster `c` of the namespace. */
function exampleOf(kind: string, namespace: string): object {
  const blocks = [...readFileSync('docs/how-to/autoscale.md', 'utf8').matchAll(/```yaml\n([^`]*)```/g)].map(([, text]) =>
    parse(text ?? ''),
  );
  const example = blocks.find((block) => block.kind === kind);
  const scaleTargetRef = { ...example.spec.scaleTargetRef, name: 'c' };
  return { ...example, metadata: { ...example.metadata, namespace }, spec: { ...example.spec, scaleTargetRef } };
}

/** @throws with the message of the API server */
async function evict({ namespace }: MediaClusterUser, name: string): Promise<void> {
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } };
  const { status, body } = await server.client.call(`/api/v1/namespaces/${namespace}/pods/${name}/eviction`, {
    method: 'POST',
    body: eviction,
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
}

/** What autoscalers of Kubernetes nodes read on the pods: cluster-autoscaler and Karpenter. */
const eviction = (pods: readonly ClusterPod[]) =>
  pods.map(({ metadata: { annotations } }) => [
    annotations['cluster-autoscaler.kubernetes.io/safe-to-evict'],
    annotations['karpenter.sh/do-not-disrupt'],
  ]);
const released = ['true', undefined];
const kept = ['false', 'true'];

const uids = (pods: readonly ClusterPod[]) => pods.map(({ metadata: { uid } }) => uid);

test('scaling up and down keeps the pod with a live room, and pods never share ports', async () => {
  const spec = { drain: { timeoutSeconds: 600 } };
  const user = await MediaClusterUser.make(server, 'numbers', { ...spec, replicas: 2 });
  const two = await user.settled('c-0', 'c-1');
  const [, second] = two;
  assert.ok(second);
  const room = await LiveRoom.open(user, second, 'alive');
  await user.kubectl('scale', 'mediacluster', 'c', '--replicas=3');
  const three = await user.settled('c-0', 'c-1', 'c-2');
  assert.deepEqual(uids(three).slice(0, 2), uids(two));
  assert.equal(new Set(three.map(basePort)).size, 3);
  const scale = await scaleOf(user);
  assert.deepEqual([scale.spec.replicas, scale.status.replicas], [3, 3]);
  const selected = await user.list<ClusterPod>('pods', scale.status.selector);
  assert.deepEqual(uids(selected).sort(), uids(three).sort());
  await user.until(
    'the pod with the room has the busy label',
    async () => (await user.pods())[1]?.metadata.labels['mediarooms.dev/busy'] === 'true',
  );
  assert.deepEqual(eviction(await user.pods()), [released, kept, released]);
  await user.until('the budget counts the pod with the room', () => budgetIs(user, 1));
  await assert.rejects(evict(user, 'c-1'), /violate the pod's disruption budget/);
  await user.kubectl('scale', 'mediacluster', 'c', '--replicas=1');
  const one = await user.settled('c-1');
  assert.deepEqual(uids(one), [second.metadata.uid]);
  assert.equal(await room.lives(), true);
  assert.deepEqual((await user.names('services')).sort(), ['c', 'c-1', 'c-1-media', 'c-nodes']);
  await room.leave();
  await user.until('the busy label is removed', async () => (await user.pods())[0]?.metadata.labels['mediarooms.dev/busy'] === undefined);
  assert.deepEqual(eviction(await user.pods()), [released]);
  await user.until('the budget counts no pod', () => budgetIs(user, 0));
});

type Change = { version: number; kind: 'services' | 'ingresses'; name: string; backends: readonly string[] | undefined };
type Routed = { spec: { rules?: { http: { paths: { backend: { service: { name: string } } }[] } }[] } };

/** Every state of the Services and Ingresses of a namespace, in the order in which they were written. */
async function historyOf(namespace: string, scope: Scope): Promise<() => Change[]> {
  const changes: Change[] = [];
  const follow = (kind: Change['kind']) => {
    const informer = new Informer(server.client, collectionPath(resources[kind], namespace), (now, before) => {
      const { name = '', resourceVersion } = (now ?? before)?.metadata ?? {};
      const backends =
        now && ((now as object as Routed).spec.rules ?? []).flatMap(({ http }) => http.paths.map((each) => each.backend.service.name));
      changes.push({ version: Number(resourceVersion), kind, name, backends });
    });
    scope.after(() => informer.close());
    return informer.start();
  };
  await Promise.all([follow('services'), follow('ingresses')]);
  return () => changes.toSorted((one, other) => one.version - other.version);
}

test('an Ingress never names a Service that does not exist, at any number of pods and paths', async (context) => {
  const history = await historyOf('routed', context);
  const spec = { drain: { timeoutSeconds: 1 }, ingress: { host: 'media.example' } };
  const user = await MediaClusterUser.make(server, 'routed', { ...spec, replicas: 1, maxReplicas: 2 });
  const services = async (...indexes: number[]) =>
    user.until(`Services exist for the paths ${indexes}`, async () => {
      const found = (await user.names('services')).filter((name) => /-\d+$/.test(name));
      return found.join() === indexes.map((index) => `c-${index}`).join();
    });
  await user.settled('c-0');
  await services(0, 1, 2);
  await user.kubectl('scale', 'mediacluster', 'c', '--replicas=2');
  await user.settled('c-0', 'c-1');
  await user.apply({ ...spec, replicas: 0, maxReplicas: 4 });
  await user.settled();
  await services(0, 1, 2, 3, 4);
  await user.apply({ ...spec, replicas: 0, maxReplicas: 1 });
  await services(0, 1);
  await user.apply({ drain: spec.drain, replicas: 0 });
  await services();
  const existing = new Set<string>();
  const named = new Map<string, readonly string[]>();
  for (const { kind, name, backends } of history()) {
    if (kind === 'ingresses') named.set(name, backends ?? []);
    else if (backends) existing.add(name);
    else existing.delete(name);
    for (const backend of [...named.values()].flat())
      assert.ok(existing.has(backend), `Service ${backend} exists after a change of ${name}`);
  }
  assert.deepEqual([...named.keys()], ['c']);
});

test('a drain waits for a file that plays in a room without peers, and the status says so', async () => {
  const spec = {
    replicas: 1,
    drain: { timeoutSeconds: 600 },
    config: { componentsUsed: ['file'] },
    podTemplate: {
      volumes: [{ name: 'sources', configMap: { name: 'sources' } }],
      volumeMounts: [{ name: 'sources', mountPath: '/var/lib/mediarooms/file_component_sources' }],
    },
  };
  const user = await MediaClusterUser.make(server, 'playing', spec);
  const binaryData = { 'long.ogg': playableFiles()['file_component_sources/long.ogg']?.toString('base64') };
  await server.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'sources', namespace: 'playing' }, binaryData });
  const [pod] = await user.settled('c-0');
  assert.ok(pod);
  const api = await user.api(pod);
  await api.post('/room', { roomId: 'r' });
  const added = await api.post('/room/r/component', { type: 'file', options: { filePath: 'long.ogg' } });
  assert.equal(added.status, 201, JSON.stringify(added.body));
  await user.until('the pod has the busy label', async () => (await user.pods())[0]?.metadata.labels['mediarooms.dev/busy'] === 'true');
  await user.kubectl('scale', 'mediacluster', 'c', '--replicas=0');
  const waits = /c-0 is being drained: 1 live room has time until .*: 1 playing file\./;
  await user.until('the drain waits for the file', async () => waits.test((await user.condition('Progressing')).message));
  await api.delete(`/room/r/component/${added.body.data.id}`);
  await user.settled();
});

test('a rollout creates the new pod first, and keeps the old pod while its room is live', async () => {
  const spec = { replicas: 1, drain: { timeoutSeconds: 600 } };
  const user = await MediaClusterUser.make(server, 'rollout', spec);
  const [old] = await user.settled('c-0');
  assert.ok(old);
  const room = await LiveRoom.open(user, old, 'alive');
  await user.apply({ ...spec, podTemplate: { extraEnv: [{ name: 'SVC_DIST_TICK', value: '30' }] } });
  await user.until('the new pod is ready and the old one drains', async () => {
    const ready = (await user.readyPods()).map(({ metadata: { name } }) => name);
    const { status } = await user.cluster();
    return ready.join() === 'c-0,c-1' && status?.nodes?.find(({ name }) => name === 'c-0')?.state === 'Draining';
  });
  assert.equal(await room.lives(), true);
  const api = await user.api(old);
  // A drain request without a response is sent again.
  await user.until('its node drains', async () => (await api.get('/health')).body.data.state === 'draining');
  // The first reconcile of a draining pod has no report about its rooms yet.
  const waits = /c-0 is being drained: 1 live room has time until/;
  await user.until('the live room is reported', async () => waits.test((await user.condition('Progressing')).message));
  await room.leave();
  await user.settled('c-1');
  assert.equal((await user.condition('Progressing')).reason, 'Complete');
});

test('reverting the template cancels the drain of the old pod', async () => {
  const spec = { replicas: 1, drain: { timeoutSeconds: 600 } };
  const user = await MediaClusterUser.make(server, 'back', spec);
  const [old] = await user.settled('c-0');
  assert.ok(old);
  const room = await LiveRoom.open(user, old, 'alive');
  await user.apply({ ...spec, workersPerNode: 2 });
  const health = async () => (await (await user.api(old)).get('/health')).body.data.state;
  await user.until('the old pod drains', async () => (await health()) === 'draining');
  await user.apply(spec);
  await user.until('the old pod accepts rooms again', async () => (await health()) === 'accepting');
  assert.deepEqual(uids(await user.settled('c-0')), [old.metadata.uid]);
  assert.equal(await room.lives(), true);
  assert.equal((await user.pods())[0]?.metadata.annotations['mediarooms.dev/drain'], undefined);
});

test('a pod is removed at the deadline of the cause of its drain despite connected peers', async () => {
  const user = await MediaClusterUser.make(server, 'deadline', {
    replicas: 2,
    drain: { timeoutSeconds: 600, scaleDown: { timeoutSeconds: 4 } },
  });
  const pods = await user.settled('c-0', 'c-1');
  const rooms = await Promise.all(pods.map((pod, index) => LiveRoom.open(user, pod, `alive-${index}`)));
  await user.until('both have the busy label', async () =>
    (await user.pods()).every(({ metadata }) => metadata.labels['mediarooms.dev/busy']),
  );
  const elapsed = stopwatch();
  await user.kubectl('scale', 'mediacluster', 'c', '--replicas=1');
  await user.until('one pod remains', async () => (await user.pods()).length === 1);
  assert.ok(elapsed() > 3_500);
  const lives = await Promise.all(rooms.map((room) => room.lives()));
  assert.equal(lives.filter((alive) => alive).length, 1);
});

test('a deleted pod is replaced', async () => {
  const user = await MediaClusterUser.make(server, 'deleted', { replicas: 2, drain: { timeoutSeconds: 2 } });
  const pods = await user.settled('c-0', 'c-1');
  await user.kubectl('delete', 'pod', 'c-0', '--wait=false');
  await user.until('two other pods are ready and the old one is deleted', async () => {
    const ready = await user.readyPods();
    return ready.length === 2 && (await user.pods()).length === 2 && !uids(ready).includes(pods[0]?.metadata.uid ?? '');
  });
  assert.ok(uids(await user.readyPods()).includes(pods[1]?.metadata.uid ?? ''));
});

test('a cluster scales to zero and back', async () => {
  const user = await MediaClusterUser.make(server, 'nothing', { replicas: 1, drain: { timeoutSeconds: 2 } });
  await user.settled('c-0');
  await user.kubectl('scale', 'mediacluster', 'c', '--replicas=0');
  await user.settled();
  assert.equal((await user.condition('Available')).reason, 'ScaledToZero');
  await user.kubectl('scale', 'mediacluster', 'c', '--replicas=1');
  await user.settled('c-0');
});

test('with autoscaling the operator chooses the number of nodes within the bounds', async () => {
  const autoscaling = { minReplicas: 2, maxReplicas: 3, scaleDownStabilizationSeconds: 3 };
  const user = await MediaClusterUser.make(server, 'chosen', { autoscaling, drain: { timeoutSeconds: 2 } });
  await user.settled('c-0', 'c-1');
  await user.apply({ autoscaling: { ...autoscaling, minReplicas: 1 }, drain: { timeoutSeconds: 2 } });
  await user.settled('c-0');
  assert.equal((await user.cluster()).status?.desiredReplicas, 1);
});

test('a silent node does not stop autoscaling: nodes are added, and none is removed until it responds', async () => {
  const autoscaling = { minReplicas: 2, maxReplicas: 3, targetRooms: 2, scaleDownStabilizationSeconds: 1 };
  const spec = (minReplicas: number) => ({ autoscaling: { ...autoscaling, minReplicas }, drain: { timeoutSeconds: 2 } });
  const user = await MediaClusterUser.make(server, 'silent', spec(2));
  const [first, second] = await user.settled('c-0', 'c-1');
  assert.ok(first && second);
  silent.add(`http://${second.status.podIP}:8080`);
  const api = await user.api(first);
  const roomIds = Array.from({ length: 8 }, (_, index) => `r-${index}`);
  for (const roomId of roomIds) assert.equal((await api.post('/room', { roomId })).status, 201);
  // Rooms are placed on the node with the fewest, so that the first one has a half of them: enough for two nodes besides the silent one.
  await user.until('three nodes are ready', async () => (await user.readyPods()).length === 3);
  await user.apply(spec(1));
  for (const roomId of roomIds) await api.delete(`/room/${roomId}`);
  await user.until('the node without a response is reported', async () => {
    const { status } = await user.cluster();
    return status?.nodes?.find(({ name }) => name === 'c-1')?.message === 'It could not be reached.';
  });
  assert.equal((await user.cluster()).status?.desiredReplicas, 3);
  silent.clear();
  await user.until('one node remains', async () => (await user.readyPods()).length === 1);
});

test('a failing template stops the rollout with the reason in the status, and the next template continues it', async () => {
  const spec = { replicas: 1, drain: { timeoutSeconds: 2 } };
  const tick = (value: string) => ({ ...spec, podTemplate: { extraEnv: [{ name: 'SVC_DIST_TICK', value }] } });
  const user = await MediaClusterUser.make(server, 'broken', spec);
  const [old] = await user.settled('c-0');
  await user.apply(tick('never'));
  await user.until('the new pod waits', async () => {
    const { status } = await user.cluster();
    return /CrashLoopBackOff|Error/.test(status?.nodes?.find(({ name }) => name === 'c-1')?.message ?? '');
  });
  assert.deepEqual(uids(await user.readyPods()), [old?.metadata.uid]);
  assert.equal((await user.condition('Available')).status, 'True');
  await user.apply(tick('30'));
  await user.until('a new pod is the only one and ready', async () => {
    const [pod, other] = await user.pods();
    return other === undefined && pod?.metadata.uid !== old?.metadata.uid && (await user.readyPods()).length === 1;
  });
});

test('changes are recorded as Events of the MediaCluster', async () => {
  const user = await MediaClusterUser.make(server, 'events', { replicas: 1, drain: { timeoutSeconds: 2 } });
  await user.settled('c-0');
  await user.kubectl('scale', 'mediacluster', 'c', '--replicas=0');
  await user.settled();
  await user.until('the Events exist', async () => {
    const events = await user.list<{ reason: string; regarding: { kind: string } }>('events');
    const reasons = events.filter(({ regarding }) => regarding.kind === 'MediaCluster').map(({ reason }) => reason);
    return ['SecretsMade', 'PodCreated', 'Draining', 'PodRemoved'].every((reason) => reasons.includes(reason));
  });
});

test('a pod that was evicted is described, removed and replaced', async () => {
  const user = await MediaClusterUser.make(server, 'gone', { replicas: 1, drain: { timeoutSeconds: 2 } });
  const [old] = await user.settled('c-0');
  const [running] = (await user.get<ClusterPod>('pods', 'c-0')).status.containerStatuses ?? [];
  const terminated = { exitCode: 137, reason: 'OOMKilled', message: `the token is ${await user.token()}` };
  const containerStatuses = [{ ...running, ready: false, state: { terminated } }];
  const status = { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.', containerStatuses };
  await user.kubectl('patch', 'pod', 'c-0', '--subresource=status', '--type=merge', '-p', JSON.stringify({ status }));
  await user.until('another pod is the only one and ready', async () => {
    const [pod, other] = await user.pods();
    return other === undefined && pod?.metadata.uid !== old?.metadata.uid && (await user.readyPods()).length === 1;
  });
  await user.until('an Event describes the failure', async () => {
    const events = await user.list<{ reason: string; type: string; note: string }>('events');
    const failed = events.find(({ reason }) => reason === 'PodFailed');
    if (!failed) return false;
    const end = 'Container node ended with exit code 137 (OOMKilled): the token is [redacted].';
    assert.deepEqual([failed.type, failed.note], ['Warning', `Pod c-0 failed: Evicted: The node was low on resource: memory. ${end}`]);
    return true;
  });
});

test('the documented ScaledObject of KEDA and spec.autoscaling match their definitions', async () => {
  const [, text = ''] = /```yaml\n(spec:\n {2}autoscaling:[^`]*)```/.exec(readFileSync('docs/how-to/autoscale.md', 'utf8')) ?? [];
  for (const object of [exampleOf('ScaledObject', hpa), mediaCluster('documented', parse(text).spec, hpa)]) {
    const flags = ['apply', '--server-side', '--validate=strict', '--dry-run=server', '-f', '-'];
    const { code, stderr } = await server.kubectl(flags, { input: JSON.stringify(object) });
    assert.equal(code, 0, stderr);
  }
});

test('a HorizontalPodAutoscaler scales a MediaCluster through its scale subresource', async () => {
  const user = new MediaClusterUser(server, hpa);
  await user.settled('c-0', 'c-1');
  assert.equal((await user.cluster()).spec.replicas, 2);
  // The API server of the tests has no metrics, so the autoscaler gets as far as requesting them for the pods of the selector.
  await user.until('the autoscaler requests the metric of the pods', async () => {
    const [autoscaler] = JSON.parse(await user.kubectl('get', 'hpa', '-o', 'json')).items;
    const conditions: { type: string; reason: string }[] = autoscaler?.status?.conditions ?? [];
    return conditions.some(({ type, reason }) => type === 'ScalingActive' && reason === 'FailedGetPodsMetric');
  });
});
