// Reloadable settings: configuration and keys reach running nodes, and no peer is disconnected.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { signAccessToken } from '../kit/access-tokens.ts';
import { Informer } from '../kit/kube/informer.ts';
import { type ClusterPod, MediaClusterUser, startClusterOperator } from '../kit/kube/media-clusters.ts';
import type { ApiObject } from '../kit/kube/pods/pod-spec.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { assertPrompt, stopwatch } from '../kit/promised-time.ts';

const tokenLifetimeMs = 20_000;
// The kubelet refreshes after a minute; a faster refresh is caused by the operator.
const { server, runner } = await startClusterOperator({ after }, { pods: { refreshMs: 60_000 }, operator: { tokenLifetimeMs } });
const drain = { timeoutSeconds: 2 };
const user = await MediaClusterUser.make(server, 'hot', { replicas: 2, drain });
const pods = await user.settled('c-0', 'c-1');

/** A token of a peer in a new room on the node of the pod. */
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

test('a configuration change becomes effective on all nodes within seconds, without restarts or disconnected peers', async (t) => {
  const [pod] = pods;
  assert.ok(pod);
  const pids = pods.map(({ metadata }) => runner.pidOf(metadata.name, 'hot'));
  const peer = await PeerSocket.enter(user.socket(pod), await aPeer(pod, 'lasting'));
  assert.equal(peer.welcome.ok, true);
  const elapsed = stopwatch();
  await user.apply({ replicas: 2, drain, config: { limits: { maxRooms: 0 } } });
  const { metadata } = await user.cluster();
  await user.until('the configuration is effective', async () => {
    const { status } = await user.cluster();
    const synced = status?.conditions?.find(({ type }) => type === 'ConfigSynced');
    return synced?.status === 'True' && synced.observedGeneration === metadata.generation;
  });
  const took = elapsed();
  t.diagnostic(`effective after ${Math.round(took)} ms`);
  // The kubelet alone would take a minute.
  assertPrompt('to be effective', took, { promised: 10_000 });
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

test('a missing Secret of the configuration is reported, and the previous configuration stays effective', async () => {
  const spec = { replicas: 2, drain, secrets: { s3: { name: 'bucket-keys' } }, config: { s3: { bucket: 'records' } } };
  const hash = async () => (await user.pods()).map(({ metadata }) => metadata.annotations['mediarooms.dev/config-hash']);
  const before = await hash();
  await user.apply(spec);
  await user.until('the missing Secret is reported', async () => (await user.condition('Degraded')).reason === 'SecretMissing');
  assert.match((await user.condition('Degraded')).message, /^Secret "bucket-keys", in which secrets\.s3 needs the keys /);
  assert.equal((await user.condition('ConfigSynced')).reason, 'SecretMissing');
  assert.deepEqual(await hash(), before);
  const stringData = { accessKeyId: 'id', secretAccessKey: 'key' };
  await server.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'hot', name: 'bucket-keys' }, stringData });
  await user.until('the configuration is effective', async () => (await user.condition('ConfigSynced')).status === 'True');
  assert.equal((await user.condition('Degraded')).status, 'False');
  assert.notDeepEqual(await hash(), before);
});

test('keys rotate in two steps, and a token stays valid until it expires', async (t) => {
  const [pod] = pods;
  assert.ok(pod);
  await user.apply({ replicas: 2, drain });
  await user.until('the configuration is effective', () => user.rests());
  const token = await aPeer(pod, 'rotated');
  const { current } = await keys();
  // Records each step, however short.
  const seen: { step: string; previous: string | undefined }[] = [];
  const secrets = new Informer<ApiObject & { data: Record<string, string> }>(server.client, '/api/v1/namespaces/hot/secrets', (now) => {
    if (now?.metadata.name !== 'c-secret-keys') return;
    const { next, previous } = now.data;
    const step = next ? 'known' : now.data.current === current ? 'before' : 'first';
    if (seen.at(-1)?.step !== step) seen.push({ step, previous });
  });
  t.after(() => secrets.close());
  await secrets.start();
  await user.apply({ replicas: 2, drain, keyRotation: { generation: 1 } });
  await user.until('the rotation is complete', async () => {
    assert.equal(await mayEnter(pod, token), true);
    return (await user.cluster()).status?.keyGeneration === 1 && seen.at(-1)?.step === 'first';
  });
  assert.deepEqual(seen, [
    { step: 'before', previous: undefined },
    { step: 'known', previous: undefined },
    { step: 'first', previous: current },
  ]);
  const fresh = await aPeer(pod, 'fresh');
  await user.until('the old key is removed', async () => (await keys()).previous === undefined);
  await user.until('the old key is not valid any more', async () => !(await mayEnter(pod, token)));
  assert.equal(await mayEnter(pod, fresh), true);
});

test('access keys rotate in their Secret without replaced pods, and peers of a removed key stay connected', async (t) => {
  const secretOf = () => randomBytes(32).toString('hex');
  const [older, newer] = [secretOf(), secretOf()];
  const write = (accessKeys: Record<string, string>) => {
    const data = Object.fromEntries(Object.entries(accessKeys).map(([id, secret]) => [id, Buffer.from(secret).toString('base64')]));
    return server.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'hot', name: 'access-keys' }, data });
  };
  /** Errors of joins at all nodes. */
  const join = async (keyId: string, secret: string) => {
    const accessToken = await signAccessToken({ room: 'signed', video: { roomCreate: true }, keyId, key: Buffer.from(secret) });
    const errors: (string | undefined)[] = [];
    for (const pod of pods) {
      const socket = await PeerSocket.open(user.socket(pod));
      errors.push((await socket.request('authenticate', { accessToken })).error?.message);
      socket.webSocket.terminate();
    }
    return errors;
  };
  const accepted = (errors: (string | undefined)[]) => errors.every((error) => error === undefined);
  const before = (await user.pods()).map(({ metadata: { uid } }) => uid);
  const pids = pods.map(({ metadata }) => runner.pidOf(metadata.name, 'hot'));

  await write({ older });
  await user.apply({ replicas: 2, drain, secrets: { accessKeys: { name: 'access-keys' } } });
  await user.until('tokens of the first key are accepted', async () => accepted(await join('older', older)));
  const [pod] = pods;
  assert.ok(pod);
  const lasting = await PeerSocket.open(user.socket(pod));
  t.after(() => lasting.webSocket.terminate());
  const accessToken = await signAccessToken({ identity: 'lasting', room: 'signed', keyId: 'older', key: Buffer.from(older) });
  assert.equal((await lasting.request('authenticate', { accessToken })).ok, true);

  await write({ older, newer });
  await user.until('tokens of the second key are accepted', async () => accepted(await join('newer', newer)));
  assert.ok(accepted(await join('older', older)));
  await write({ newer });
  const message = 'The access token names an unknown access key in iss';
  await user.until('tokens of the removed key are rejected', async () => (await join('older', older)).every((error) => error === message));
  assert.ok(accepted(await join('newer', newer)));
  assert.equal((await lasting.request('ping')).ok, true);
  assert.deepEqual(
    (await user.pods()).map(({ metadata: { uid } }) => uid),
    before,
  );
  assert.deepEqual(
    pods.map(({ metadata }) => runner.pidOf(metadata.name, 'hot')),
    pids,
  );
  await user.apply({ replicas: 2, drain });
});

test('a named Secret that is missing is not generated, changes no pod, and generated API tokens are kept', async () => {
  const token = await user.token('operator');
  const uids = async () => (await user.pods()).map(({ metadata: { uid } }) => uid);
  const before = await uids();
  await user.apply({ replicas: 2, drain, secrets: { apiTokens: { name: 'others' }, cookie: { name: 'other-cookie' } } });
  await user.until('the missing Secret is reported', async () => (await user.condition('ConfigSynced')).reason === 'SecretMissing');
  assert.match((await user.condition('Degraded')).message, /Secret "others", in which secrets\.apiTokens needs a key for each API token/);
  const { status } = await user.cluster();
  assert.deepEqual([status?.adminTokenSecret, status?.readyReplicas], ['others', 2]);
  assert.ok(!(await user.names('secrets')).some((name) => name.startsWith('other')));
  assert.deepEqual(await uids(), before);
  await user.apply({ replicas: 2, drain });
  await user.until('the status names the first Secret again', async () => {
    const now = (await user.cluster()).status;
    return now?.adminTokenSecret === 'c-api-tokens' && (await user.condition('ConfigSynced')).status === 'True';
  });
  assert.equal(await user.token('operator'), token);
  assert.deepEqual(await uids(), before);
});
