// Spec of Rooms in a real cluster: components, Secrets, peers, id conflicts and objects of older CRDs.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { roomDefinition } from '../../crds/crd-manifests.ts';
import { type ApiClient, apiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { conditionOf, isSettled, type KubeJson, RoomFixture, type RoomOperator, room } from '../kit/kube/room-fixture.ts';
import { oggFile, opusPacket } from '../kit/media/ogg-file.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { startNode } from '../kit/processes/start-node.ts';

const ends: (() => Promise<void>)[] = [];
const scope = { after: (end: () => Promise<void>) => void ends.push(end) };
let stage: RoomFixture;
let operator: RoomOperator;
let api: ApiClient;
let nodeUrl: string;

const song = (packets: number) => oggFile(Array.from({ length: packets }, (_, index) => opusPacket(50, index)));

before(async () => {
  stage = await RoomFixture.start(scope);
  const resources = await makeResources(scope as never, {
    // Ten minutes long, because a finished component is removed.
    'file_component_sources/long.ogg': song(50 * 600),
    'file_component_sources/other.ogg': song(50 * 600),
    'file_component_sources/short.ogg': song(5),
  });
  const node = await startNode(scope as never, { SVC_IP: '127.0.0.1', SVC_COMPONENTS_USED: 'file', SVC_RESOURCES_BASE_PATH: resources });
  api = apiClient(node.url, node.token);
  nodeUrl = node.url;
  await stage.addCluster('media', [node]);
  operator = await stage.startOperator({ pollMs: 2_000 });
});
after(async () => {
  for (const end of ends.reverse()) await end();
});

const file = (name: string, filePath: string) => ({ name, file: { filePath } });
const componentsOf = async (roomId: string): Promise<KubeJson[]> => (await api.get(`/room/${roomId}`)).body.data.components;
const peersOf = async (roomId: string): Promise<string[]> =>
  (await api.get(`/room/${roomId}`)).body.data.peers.map(({ id }: KubeJson) => id);

describe('Components of a Room', () => {
  test('are added, replaced if changed, and removed if not declared any more', async () => {
    await stage.apply(room('band', { components: [file('bass', 'long.ogg'), file('drums', 'long.ogg')] }));
    const first = await stage.waitUntilReady('band');
    assert.deepEqual(
      first.status.components.map(({ name, ready }: KubeJson) => `${name} ${ready}`),
      ['bass true', 'drums true'],
    );
    const idOf = (of: KubeJson, name: string) => of.status.components.find((each: KubeJson) => each.name === name)?.id;
    await stage.apply(room('band', { components: [file('bass', 'long.ogg'), file('drums', 'other.ogg')] }));
    const second = await stage.waitUntilReady('band');
    assert.equal(idOf(second, 'bass'), idOf(first, 'bass'));
    assert.notEqual(idOf(second, 'drums'), idOf(first, 'drums'));
    await stage.apply(room('band', { components: [file('bass', 'long.ogg')] }));
    await stage.waitFor('band', (each) => isSettled(each) && each.status.components.length === 1);
    assert.deepEqual(
      (await componentsOf('band')).map(({ id }) => id),
      [idOf(first, 'bass')],
    );
  });

  test('that were removed over REST are added again, but a finished file is not played twice', async () => {
    await stage.apply(room('radio', { components: [file('long', 'long.ogg'), file('short', 'short.ogg')] }));
    const isEnded = ({ name, message }: KubeJson) => name === 'short' && message === 'The component finished.';
    const ended = await stage.waitFor('radio', ({ status }) => status?.components?.some(isEnded));
    assert.equal(ended.status.phase, 'Ready');
    const [long, ...others] = await componentsOf('radio');
    assert.deepEqual([long.properties.filePath, others.length], ['long.ogg', 0]);
    await api.delete(`/room/radio/component/${long.id}`);
    await stage.waitFor('radio', ({ status }) => status.components.some(({ name, id }: KubeJson) => name === 'long' && id !== long.id));
    assert.equal((await componentsOf('radio')).length, 1);
  });

  test('of a disabled type or with a missing file make it Degraded with a reason, and all others exist', async () => {
    await stage.apply(room('half', { components: [{ name: 'stream', hls: {} }, file('missing', 'none.ogg'), file('bass', 'long.ogg')] }));
    const half = await stage.waitFor('half', (each) => conditionOf(each, 'Degraded')?.reason === 'ComponentRefused');
    assert.match(conditionOf(half, 'Degraded').message, /Component stream: Components of type hls are disabled on this node\./);
    assert.match(conditionOf(half, 'Degraded').message, /Component missing: File not found\./);
    assert.equal(conditionOf(half, 'Placed').status, 'True');
    assert.equal(conditionOf(half, 'Ready').status, 'False');
    await stage.apply(room('half', { components: [file('bass', 'long.ogg')] }));
    await stage.waitUntilReady('half');
  });
});

describe('Secrets of a Room', () => {
  test('created later are used, and so are their changes', async () => {
    const s3 = { bucket: 'bucket', secretRef: { name: 'keys' } };
    await stage.apply(room('taped', { components: [{ name: 'tape', recording: { s3 } }] }));
    await stage.waitFor('taped', (each) => conditionOf(each, 'Degraded')?.message === 'Component tape: Secret keys does not exist.');
    const keys = (data: object) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'keys', namespace: 'default' },
      stringData: data,
    });
    await stage.apply(keys({ accessKeyId: 'id' }));
    await stage.waitFor(
      'taped',
      (each) => conditionOf(each, 'Degraded')?.message === 'Component tape: Secret keys has no key secretAccessKey.',
    );
    await stage.apply(keys({ accessKeyId: 'id', secretAccessKey: 'a-secret-that-must-not-show' }));
    // This node does not support recordings: its response shows that it was asked.
    const asked = await stage.waitFor('taped', (each) => conditionOf(each, 'Degraded')?.reason === 'ComponentRefused');
    const revision = asked.status.components[0].revision;
    assert.doesNotMatch(JSON.stringify(asked), /must-not-show/);
    await stage.apply(keys({ accessKeyId: 'id', secretAccessKey: 'another' }));
    await stage.waitFor('taped', ({ status }) => status.components[0].revision !== revision);
  });

  test('with the name of a foreign Secret are not changed', async () => {
    const data = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'guarded-peers', namespace: 'default' },
      stringData: { mine: 'yes' },
    };
    await stage.apply(data);
    await stage.apply(room('guarded', { peers: [{ name: 'alice' }] }));
    await stage.waitFor('guarded', (each) => conditionOf(each, 'Degraded')?.reason === 'SecretNotOurs');
    assert.deepEqual(await stage.secret('guarded-peers'), { mine: 'yes' });
    await stage.server.kubectl(['delete', 'secret', 'guarded-peers']);
    await stage.waitUntilReady('guarded');
    assert.deepEqual(Object.keys((await stage.secret('guarded-peers')) ?? {}).sort(), ['alice.token', 'alice.url']);
    // Deleted several times quickly, possibly before a reconcile has seen the write.
    for (let times = 0; times < 5; times += 1) {
      const path = '/api/v1/namespaces/default/secrets/guarded-peers';
      const { uid } = (await stage.object(path)).metadata;
      assert.equal((await stage.server.client.call(path, { method: 'DELETE' })).status, 200);
      const isNew = async () => ![undefined, uid].includes((await stage.object(path))?.metadata.uid);
      await eventually(`the Secret is recreated for the ${times + 1}. time`, isNew, { every: 25 });
    }
  });
});

describe('A recreated Room of the same name', () => {
  test('has a new Secret, also if the previous Secret was not garbage collected', async () => {
    const described = room('again', { peers: [{ name: 'alice' }] });
    const path = '/api/v1/namespaces/default/secrets/again-peers';
    await stage.apply(described);
    const before = await stage.waitUntilReady('again');
    await stage.server.kubectl(['delete', 'room', 'again', '--timeout=60s']);
    assert.equal((await stage.object(path)).metadata.ownerReferences[0].uid, before.metadata.uid);
    await stage.apply(described);
    const now = await stage.waitUntilReady('again');
    assert.notEqual(now.metadata.uid, before.metadata.uid);
    assert.equal((await stage.object(path)).metadata.ownerReferences[0].uid, now.metadata.uid);
  });
});

describe('Peers of a Room', () => {
  test('are added and removed as declared, and foreign peers are kept', async () => {
    await stage.apply(room('class', { peers: [{ name: 'ann' }, { name: 'ben' }] }));
    await stage.waitUntilReady('class');
    await api.post('/room/class/peer', { type: 'webrtc', peerId: 'guest' });
    await stage.apply(room('class', { peers: [{ name: 'ben' }, { name: 'cleo' }] }));
    await stage.waitUntilReady('class');
    assert.deepEqual((await peersOf('class')).sort(), ['ben', 'cleo', 'guest']);
    assert.deepEqual(Object.keys((await stage.secret('class-peers')) ?? {}).sort(), ['ben.token', 'ben.url', 'cleo.token', 'cleo.url']);
    await api.delete('/room/class/peer/ben');
    await eventually('the peer is added again', async () => (await peersOf('class')).includes('ben'));
    await stage.apply(room('class', {}));
    await stage.waitFor('class', (each) => isSettled(each) && each.status.peersSecretName === undefined);
    assert.equal(await stage.secret('class-peers'), undefined);
  });

  test('rejected by a full room are reported, and added when there is space', async () => {
    await stage.apply(room('small', { maxPeers: 2, peers: [{ name: 'ann' }] }));
    await stage.waitUntilReady('small');
    await api.post('/room/small/peer', { type: 'webrtc', peerId: 'guest' });
    await stage.apply(room('small', { maxPeers: 2, peers: [{ name: 'ann' }, { name: 'ben' }] }));
    const small = await stage.waitFor('small', (each) => conditionOf(each, 'Degraded')?.reason === 'RoomFull');
    assert.match(conditionOf(small, 'Degraded').message, /Peer ben: Reached webrtc peers limit in room small\./);
    await api.delete('/room/small/peer/guest');
    await stage.waitUntilReady('small');
  });
});

describe('A roomId', () => {
  test('used by two Rooms belongs to the older one, and the other reports it until the id is free', async () => {
    await stage.apply(room('older', { roomId: 'wanted' }));
    const older = await stage.waitUntilReady('older');
    await stage.apply(room('younger', { roomId: 'wanted' }));
    const younger = await stage.waitFor('younger', (each) => conditionOf(each, 'Accepted')?.reason === 'RoomIdTaken');
    assert.match(conditionOf(younger, 'Ready').message, /Room older of this namespace already uses the roomId wanted/);
    assert.equal((await api.get('/room/wanted')).body.data.externalId, older.metadata.uid);
    await stage.server.kubectl(['delete', 'mroom', 'older']);
    await stage.waitUntilReady('younger');
  });

  test('of a foreign room is never touched', async () => {
    await api.post('/room', { roomId: 'theirs', maxPeers: 7 });
    await stage.apply(room('theirs', { maxPeers: 1 }));
    await stage.waitFor('theirs', (each) => conditionOf(each, 'Accepted')?.reason === 'RoomIdTaken');
    assert.equal((await stage.server.kubectl(['delete', 'mroom', 'theirs', '--timeout=50s'])).code, 0);
    assert.equal((await api.get('/room/theirs')).body.data.config.maxPeers, 7);
  });

  test('is used by the Room once the foreign room has ended', async () => {
    await api.post('/room', { roomId: 'later' });
    await stage.apply(room('later'));
    await stage.waitFor('later', (each) => conditionOf(each, 'Accepted')?.status === 'False');
    await api.delete('/room/later');
    await stage.waitUntilReady('later');
  });
});

describe('A Room', () => {
  test('restores its room after a change over REST', async () => {
    await stage.apply(room('steady', { maxPeers: 4 }));
    await stage.waitUntilReady('steady');
    await api.patch('/room/steady', { maxPeers: 40, webhookUrl: 'http://127.0.0.1:9/' });
    await eventually('the room is restored', async () => (await api.get('/room/steady')).body.data.config.maxPeers === 4);
  });

  test('waits for its MediaCluster and uses its default timeouts', async () => {
    await stage.apply(room('early', { clusterRef: { name: 'late' } }));
    const early = await stage.waitFor('early', (each) => conditionOf(each, 'Ready')?.reason === 'ClusterNotFound');
    assert.deepEqual(early.metadata.finalizers, undefined);
    const spec = { config: { roomDefaults: { peerDisconnectedTimeout: 77 } } };
    await stage.addCluster('late', [{ url: nodeUrl }], spec);
    await stage.waitUntilReady('early');
    assert.equal((await api.get('/room/early')).body.data.config.peerDisconnectedTimeout, 77);
    await stage.addCluster('late', [{ url: nodeUrl }], { config: { roomDefaults: { peerDisconnectedTimeout: 78 } } });
    const timeout = async () => (await api.get('/room/early')).body.data.config.peerDisconnectedTimeout;
    await eventually('the new default is effective', async () => (await timeout()) === 78);
    // Deletion must not wait for a deleted MediaCluster.
    await stage.server.kubectl(['delete', 'mcl', 'late']);
    await stage.waitFor('early', (each) => conditionOf(each, 'Accepted')?.status === 'False');
    assert.equal((await stage.server.kubectl(['delete', 'mroom', 'early', '--timeout=50s'])).code, 0);
    await api.delete('/room/early');
  });

  test('without clusterRef stays on its MediaCluster if another one appears, and moves when its MediaCluster is deleted', async () => {
    const here = (name: string) => stage.addCluster(name, [{ url: nodeUrl }], {}, 'unnamed');
    await stage.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'unnamed' } });
    await here('one');
    await stage.apply(room('settled', {}, 'unnamed'));
    assert.equal((await stage.waitUntilReady('settled', 'unnamed')).status.cluster, 'one');
    await here('two');
    // Rooms and MediaClusters arrive by separate watches; a Room on the second one proves that it has arrived.
    await stage.apply(room('second', { clusterRef: { name: 'two' } }, 'unnamed'));
    await stage.waitUntilReady('second', 'unnamed');
    await stage.apply(room('undecided', {}, 'unnamed'));
    const undecided = await stage.waitFor('undecided', (each) => conditionOf(each, 'Accepted') !== undefined, 'unnamed');
    assert.equal(conditionOf(undecided, 'Accepted').reason, 'ClusterNotNamed');
    assert.equal((await stage.room('settled', 'unnamed')).status.phase, 'Ready');
    await stage.server.kubectl(['delete', 'mcl', 'one', '-n', 'unnamed']);
    await stage.waitFor('settled', ({ status }) => status.cluster === 'two' && status.phase === 'Ready', 'unnamed');
    await stage.waitUntilReady('undecided', 'unnamed');
    await stage.server.kubectl(['delete', 'mroom', '--all', '-n', 'unnamed']);
  });

  test('accepts tokens of a node with hours of clock skew without renewing them constantly', async () => {
    for (const hours of [-30, 30]) {
      await operator.stop();
      operator = await stage.startOperator({ now: () => Date.now() + hours * 3_600_000, pollMs: 2_000 });
      const name = `skewed${hours}`.replace('-', '-minus-');
      await stage.apply(room(name, { peers: [{ name: 'ann' }] }));
      await stage.waitUntilReady(name);
      const { resourceVersion } = (await stage.object(`/api/v1/namespaces/default/secrets/${name}-peers`)).metadata;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      assert.equal((await stage.object(`/api/v1/namespaces/default/secrets/${name}-peers`)).metadata.resourceVersion, resourceVersion);
      const secret = await stage.secret(`${name}-peers`);
      const socket = await PeerSocket.enter(secret?.['ann.url'] ?? '', secret?.['ann.token'] ?? '');
      assert.equal(socket.welcome.ok, true);
      await socket.close();
    }
    await operator.stop();
    operator = await stage.startOperator({ pollMs: 2_000 });
  });

  test('stored under a laxer CRD reports its error and can be deleted', async () => {
    const lax = structuredClone(roomDefinition) as KubeJson;
    lax.spec.versions[0].schema = {
      openAPIV3Schema: {
        type: 'object',
        properties: { spec: open, status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    };
    delete lax.spec.versions[0].selectableFields;
    await stage.apply(lax);
    const old = [room('old-kind', { maxPeers: 0 }), room('old.name'), room('old-twice', { peers: [{ name: 'ann' }, { name: 'ann' }] })];
    // A CRD becomes effective a moment after it was written.
    let refused: unknown;
    const isTaken = () =>
      stage.apply(old).then(
        () => true,
        (error: unknown) => {
          refused = error;
          return false;
        },
      );
    await eventually(() => `the old objects are accepted: ${refused}`, isTaken);
    for (const [name, sentence] of Object.entries({
      'old-kind': /spec\.maxPeers does not match the CRD/,
      'old.name': /old\.name is not a valid room id/,
      'old-twice': /The name ann is declared twice/,
    })) {
      const wrong = await stage.waitFor(name, (each) => conditionOf(each, 'Accepted')?.reason === 'InvalidSpec');
      assert.match(conditionOf(wrong, 'Ready').message, sentence);
    }
    await stage.apply(roomDefinition);
    assert.equal((await stage.server.kubectl(['delete', 'mroom', 'old-kind', 'old.name', 'old-twice', '--timeout=50s'])).code, 0);
  });
});

const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
