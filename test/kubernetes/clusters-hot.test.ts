// What changes while nodes run: configuration and keys reach living nodes, nobody is disconnected.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ClusterOperator } from '../kit/kube/cluster-operator.ts';
import { startControlPlane } from '../kit/kube/control-plane.ts';
import { Informer } from '../kit/kube/informer.ts';
import { applyDefinitions, type ClusterPod, MediaClusterUser } from '../kit/kube/media-clusters.ts';
import { startPodRunner } from '../kit/kube/pods/pod-runner.ts';
import type { ApiObject } from '../kit/kube/pods/pod-spec.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { assertPrompt, stopwatch } from '../kit/promised-time.ts';

const server = await startControlPlane({ after });
await applyDefinitions(server);
const tokenLifetimeMs = 20_000;
// A kubelet looks after a minute by itself: what is quicker here is the operator's doing.
const runner = await startPodRunner(server, { refreshMs: 60_000 });
await ClusterOperator.start(server, { tokenLifetimeMs });
const drain = { timeoutSeconds: 2 };
const user = await MediaClusterUser.make(server, 'hot', { replicas: 2, drain });
const pods = await user.settled('c-0', 'c-1');

/** A room on the node of the pod, and a token for a peer of it. */
async function aPeer(pod: ClusterPod, roomId: string): Promise<string> {
  const api = await user.api(pod);
  assert.equal((await api.post('/room', { roomId })).status, 201);
  return (await api.post(`/room/${roomId}/peer`, { type: 'webrtc' })).body.data.token;
}

async function keys(): Promise<Record<string, string>> {
  return (await user.get<{ data: Record<string, string> }>('secrets', 'c-secret-keys')).data;
}

async function mayEnter(pod: ClusterPod, token: string): Promise<boolean> {
  const socket = await PeerSocket.enter(user.socket(pod), token);
  socket.webSocket.terminate();
  return socket.welcome.ok;
}

test('a changed configuration is soon in force on all nodes; nothing is started again, no peer is disconnected', async (t) => {
  const [pod] = pods;
  assert.ok(pod);
  const pids = pods.map(({ metadata }) => runner.pidOf(metadata.name, 'hot'));
  const peer = await PeerSocket.enter(user.socket(pod), await aPeer(pod, 'lasting'));
  assert.equal(peer.welcome.ok, true);
  const elapsed = stopwatch();
  await user.apply({ replicas: 2, drain, config: { limits: { maxRooms: 0 } } });
  const { metadata } = await user.cluster();
  await user.until('the configuration is in force', async () => {
    const { status } = await user.cluster();
    const synced = status?.conditions?.find(({ type }) => type === 'ConfigSynced');
    return synced?.status === 'True' && synced.observedGeneration === metadata.generation;
  });
  const took = elapsed();
  t.diagnostic(`in force after ${Math.round(took)} ms`);
  // The kubelet by itself would take a minute.
  assertPrompt('to be in force', took, { promised: 10_000 });
  for (const each of pods) assert.equal((await (await user.api(each)).post('/room', {})).status, 503);
  assert.deepEqual(
    pods.map((each) => runner.pidOf(each.metadata.name, 'hot')),
    pids,
  );
  assert.equal((await peer.request('ping')).id > 0, true);
  assert.deepEqual(
    (await user.pods()).map(({ metadata: { uid } }) => uid),
    pods.map(({ metadata: { uid } }) => uid),
  );
  peer.webSocket.terminate();
});

test('a Secret that the configuration names and that does not exist is told of; what was in force stays', async () => {
  const spec = { replicas: 2, drain, secrets: { s3: { name: 'bucket-keys' } }, config: { s3: { bucket: 'records' } } };
  const hash = async () => (await user.pods()).map(({ metadata }) => metadata.annotations['mediarooms.dev/config-hash']);
  const before = await hash();
  await user.apply(spec);
  await user.until('the missing Secret is told of', async () => (await user.condition('Degraded')).reason === 'SecretMissing');
  assert.match((await user.condition('Degraded')).message, /^The Secret "bucket-keys", which secrets\.s3 needs, does not exist\./);
  assert.equal((await user.condition('ConfigSynced')).reason, 'SecretMissing');
  assert.deepEqual(await hash(), before);
  const stringData = { accessKeyId: 'id', secretAccessKey: 'key' };
  await user.send({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'hot', name: 'bucket-keys' }, stringData });
  await user.until('the configuration is in force', async () => (await user.condition('ConfigSynced')).status === 'True');
  assert.equal((await user.condition('Degraded')).status, 'False');
  assert.notDeepEqual(await hash(), before);
});

test('keys rotate in two steps while a token stays good, until it would have expired', async (t) => {
  const [pod] = pods;
  assert.ok(pod);
  await user.apply({ replicas: 2, drain });
  await user.until('the configuration is in force', () => user.rests());
  const token = await aPeer(pod, 'rotated');
  const { current } = await keys();
  // Told of each, however short it lasts.
  const seen: { stage: string; previous: string | undefined }[] = [];
  const secrets = new Informer<ApiObject & { data: Record<string, string> }>(server.client, '/api/v1/namespaces/hot/secrets', (now) => {
    if (now?.metadata.name !== 'c-secret-keys') return;
    const { next, previous } = now.data;
    const stage = next ? 'known' : now.data.current === current ? 'before' : 'first';
    if (seen.at(-1)?.stage !== stage) seen.push({ stage, previous });
  });
  t.after(() => secrets.close());
  await secrets.start();
  await user.apply({ replicas: 2, drain, keyRotation: { generation: 1 } });
  await user.until('the rotation is through', async () => {
    assert.equal(await mayEnter(pod, token), true);
    return (await user.cluster()).status?.keyGeneration === 1 && seen.at(-1)?.stage === 'first';
  });
  assert.deepEqual(seen, [
    { stage: 'before', previous: undefined },
    { stage: 'known', previous: undefined },
    { stage: 'first', previous: current },
  ]);
  const fresh = await aPeer(pod, 'fresh');
  await user.until('the old key is gone', async () => (await keys()).previous === undefined);
  await user.until('the old key is no longer good', async () => !(await mayEnter(pod, token)));
  assert.equal(await mayEnter(pod, fresh), true);
});

test('the tokens that the operator made stay what they are whatever the spec says', async () => {
  const token = await user.token('operator');
  await user.apply({ replicas: 2, drain, secrets: { apiTokens: { name: 'others' } } });
  await user.until('another Secret is made', async () => (await user.names('secrets')).includes('others'));
  assert.equal(await user.token('operator'), token);
  await user.apply({ replicas: 2, drain });
  await user.until('the first Secret is named again', async () => (await user.cluster()).status?.adminTokenSecret === 'c-api-tokens');
  assert.equal(await user.token('operator'), token);
});
