// Spec of Rooms in a real cluster: components, Secrets, peers, id conflicts and objects of older CRDs.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { roomDefinition } from '../../crds/crd-manifests.ts';
import { eventually } from '../kit/eventually.ts';
import { condition, type KubeJson, mediaCluster, room } from '../kit/kube/read-objects.ts';
import { isSettled, RoomFixture } from '../kit/kube/room-fixture.ts';
import { oggFile, opusPacket } from '../kit/media/ogg-file.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { startNode } from '../kit/processes/start-node.ts';

const song = (packets: number) => oggFile(Array.from({ length: packets }, (_, index) => opusPacket(50, index)));

const fixture = await RoomFixture.start({ after });
const resources = await makeResources(
  { after },
  {
    // Ten minutes long, because a finished component is removed.
    'file_component_sources/long.ogg': song(50 * 600),
    'file_component_sources/other.ogg': song(50 * 600),
    'file_component_sources/short.ogg': song(5),
  },
);
const node = await startNode({ after }, { SVC_IP: '127.0.0.1', SVC_COMPONENTS_USED: 'file', SVC_RESOURCES_BASE_PATH: resources });
const { api, url: nodeUrl } = node;
await fixture.addCluster('media', [node]);
let operator = await fixture.startOperator({ pollMs: 2_000 });

const file = (name: string, filePath: string) => ({ name, file: { filePath } });
const componentsOf = async (roomId: string): Promise<KubeJson[]> => (await api.get(`/room/${roomId}`)).body.data.components;
const peersOf = async (roomId: string): Promise<string[]> =>
  (await api.get(`/room/${roomId}`)).body.data.peers.map(({ id }: KubeJson) => id);

describe('Components of a Room', () => {
  test('are added, replaced if changed, and removed if not declared any more', async () => {
    await fixture.server.apply(room('band', { components: [file('bass', 'long.ogg'), file('drums', 'long.ogg')] }));
    const first = await fixture.waitUntilReady('band');
    assert.deepEqual(
      first.status.components.map(({ name, ready }: KubeJson) => `${name} ${ready}`),
      ['bass true', 'drums true'],
    );
    const idOf = (of: KubeJson, name: string) => of.status.components.find((each: KubeJson) => each.name === name)?.id;
    await fixture.server.apply(room('band', { components: [file('bass', 'long.ogg'), file('drums', 'other.ogg')] }));
    const second = await fixture.waitUntilReady('band');
    assert.equal(idOf(second, 'bass'), idOf(first, 'bass'));
    assert.notEqual(idOf(second, 'drums'), idOf(first, 'drums'));
    await fixture.server.apply(room('band', { components: [file('bass', 'long.ogg')] }));
    await fixture.waitFor('band', (each) => isSettled(each) && each.status.components.length === 1);
    assert.deepEqual(
      (await componentsOf('band')).map(({ id }) => id),
      [idOf(first, 'bass')],
    );
  });

  test('that were removed over REST are added again, but a finished file is not played twice', async () => {
    await fixture.server.apply(room('radio', { components: [file('long', 'long.ogg'), file('short', 'short.ogg')] }));
    const isEnded = ({ name, message }: KubeJson) => name === 'short' && message === 'The component finished.';
    const ended = await fixture.waitFor('radio', ({ status }) => status?.components?.some(isEnded));
    assert.equal(ended.status.phase, 'Ready');
    const [long, ...others] = await componentsOf('radio');
    assert.deepEqual([long.properties.filePath, others.length], ['long.ogg', 0]);
    await api.delete(`/room/radio/component/${long.id}`);
    await fixture.waitFor('radio', ({ status }) => status.components.some(({ name, id }: KubeJson) => name === 'long' && id !== long.id));
    assert.equal((await componentsOf('radio')).length, 1);
  });

  test('of a disabled type or with a missing file make it Degraded with a reason, and all others exist', async () => {
    await fixture.server.apply(
      room('half', { components: [{ name: 'stream', hls: {} }, file('missing', 'none.ogg'), file('bass', 'long.ogg')] }),
    );
    const half = await fixture.waitFor('half', (each) => condition(each, 'Degraded')?.reason === 'ComponentRefused');
    assert.match(condition(half, 'Degraded').message, /Component stream: Components of type hls are disabled on this node\./);
    assert.match(condition(half, 'Degraded').message, /Component missing: File not found\./);
    assert.equal(condition(half, 'Placed').status, 'True');
    assert.equal(condition(half, 'Ready').status, 'False');
    await fixture.server.apply(room('half', { components: [file('bass', 'long.ogg')] }));
    await fixture.waitUntilReady('half');
  });
});

describe('Secrets of a Room', () => {
  test('created later are used, and so are their changes', async () => {
    const s3 = { bucket: 'bucket', secretRef: { name: 'keys' } };
    await fixture.server.apply(room('taped', { components: [{ name: 'tape', recording: { s3 } }] }));
    await fixture.waitFor('taped', (each) => condition(each, 'Degraded')?.message === 'Component tape: Secret keys does not exist.');
    const keys = (data: object, labels: object = { 'mediarooms.dev/room-secret': 'true' }) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'keys', namespace: 'default', labels },
      stringData: data,
    });
    await fixture.server.apply(keys({ accessKeyId: 'id' }, {}));
    await fixture.waitFor('taped', (each) => condition(each, 'Degraded')?.reason === 'SecretNotLabeled');
    await fixture.server.apply(keys({ accessKeyId: 'id' }));
    await fixture.waitFor(
      'taped',
      (each) => condition(each, 'Degraded')?.message === 'Component tape: Secret keys has no key secretAccessKey.',
    );
    await fixture.server.apply(keys({ accessKeyId: 'id', secretAccessKey: 'a-secret-that-must-not-show' }));
    // This node does not support recordings: its response shows that it was asked.
    const asked = await fixture.waitFor('taped', (each) => condition(each, 'Degraded')?.reason === 'ComponentRefused');
    const revision = asked.status.components[0].revision;
    assert.doesNotMatch(JSON.stringify(asked), /must-not-show/);
    await fixture.server.apply(keys({ accessKeyId: 'id', secretAccessKey: 'another' }));
    await fixture.waitFor('taped', ({ status }) => status.components[0].revision !== revision);
    await fixture.server.apply(keys({ accessKeyId: 'id', secretAccessKey: 'another' }, {}));
    await fixture.waitFor('taped', (each) => condition(each, 'Degraded')?.reason === 'SecretNotLabeled');
    await fixture.server.apply(mediaCluster('media', { roomSecrets: 'any' }));
    await fixture.waitFor('taped', (each) => condition(each, 'Degraded')?.reason === 'ComponentRefused');
    await fixture.server.apply(mediaCluster('media'));
    await fixture.waitFor('taped', (each) => condition(each, 'Degraded')?.reason === 'SecretNotLabeled');
  });

  test('with the name of a foreign Secret are not changed', async () => {
    const data = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'guarded-peers', namespace: 'default' },
      stringData: { mine: 'yes' },
    };
    await fixture.server.apply(data);
    await fixture.server.apply(room('guarded', { peers: [{ name: 'alice' }] }));
    await fixture.waitFor('guarded', (each) => condition(each, 'Degraded')?.reason === 'SecretNotOurs');
    assert.deepEqual(await fixture.secret('guarded-peers'), { mine: 'yes' });
    await fixture.server.kubectl(['delete', 'secret', 'guarded-peers']);
    await fixture.waitUntilReady('guarded');
    assert.deepEqual(Object.keys((await fixture.secret('guarded-peers')) ?? {}).sort(), ['alice.token', 'alice.url']);
    // Deleted several times quickly, possibly before a reconcile has seen the write.
    for (let times = 0; times < 5; times += 1) {
      const path = '/api/v1/namespaces/default/secrets/guarded-peers';
      const { uid } = (await fixture.object(path)).metadata;
      assert.equal((await fixture.server.client.call(path, { method: 'DELETE' })).status, 200);
      const isNew = async () => ![undefined, uid].includes((await fixture.object(path))?.metadata.uid);
      await eventually(`the Secret is recreated for the ${times + 1}. time`, isNew, { every: 25 });
    }
  });
});

describe('A recreated Room of the same name', () => {
  test('has a new Secret, also if the previous Secret was not garbage collected', async () => {
    const described = room('again', { peers: [{ name: 'alice' }] });
    const path = '/api/v1/namespaces/default/secrets/again-peers';
    await fixture.server.apply(described);
    const before = await fixture.waitUntilReady('again');
    await fixture.server.kubectl(['delete', 'room', 'again', '--timeout=60s']);
    assert.equal((await fixture.object(path)).metadata.ownerReferences[0].uid, before.metadata.uid);
    await fixture.server.apply(described);
    const now = await fixture.waitUntilReady('again');
    assert.notEqual(now.metadata.uid, before.metadata.uid);
    assert.equal((await fixture.object(path)).metadata.ownerReferences[0].uid, now.metadata.uid);
  });
});

describe('Peers of a Room', () => {
  test('are added and removed as declared, and foreign peers are kept', async () => {
    await fixture.server.apply(room('class', { peers: [{ name: 'ann' }, { name: 'ben' }] }));
    await fixture.waitUntilReady('class');
    await api.post('/room/class/peer', { type: 'webrtc', peerId: 'guest' });
    await fixture.server.apply(room('class', { peers: [{ name: 'ben' }, { name: 'cleo' }] }));
    await fixture.waitUntilReady('class');
    assert.deepEqual((await peersOf('class')).sort(), ['ben', 'cleo', 'guest']);
    assert.deepEqual(Object.keys((await fixture.secret('class-peers')) ?? {}).sort(), ['ben.token', 'ben.url', 'cleo.token', 'cleo.url']);
    await api.delete('/room/class/peer/ben');
    await eventually('the peer is added again', async () => (await peersOf('class')).includes('ben'));
    await fixture.server.apply(room('class', {}));
    await fixture.waitFor('class', (each) => isSettled(each) && each.status.peersSecretName === undefined);
    assert.equal(await fixture.secret('class-peers'), undefined);
  });

  test('rejected by a full room are reported, and added when there is space', async () => {
    await fixture.server.apply(room('small', { maxPeers: 2, peers: [{ name: 'ann' }] }));
    await fixture.waitUntilReady('small');
    await api.post('/room/small/peer', { type: 'webrtc', peerId: 'guest' });
    await fixture.server.apply(room('small', { maxPeers: 2, peers: [{ name: 'ann' }, { name: 'ben' }] }));
    const small = await fixture.waitFor('small', (each) => condition(each, 'Degraded')?.reason === 'RoomFull');
    assert.match(condition(small, 'Degraded').message, /Peer ben: Reached webrtc peers limit in room small\./);
    await api.delete('/room/small/peer/guest');
    await fixture.waitUntilReady('small');
  });
});

describe('A roomId', () => {
  test('used by two Rooms belongs to the older one, and the other reports it until the id is free', async () => {
    await fixture.server.apply(room('older', { roomId: 'wanted' }));
    const older = await fixture.waitUntilReady('older');
    await fixture.server.apply(room('younger', { roomId: 'wanted' }));
    const younger = await fixture.waitFor('younger', (each) => condition(each, 'Accepted')?.reason === 'RoomIdTaken');
    assert.match(condition(younger, 'Ready').message, /Room older of this namespace already uses the roomId wanted/);
    assert.equal((await api.get('/room/wanted')).body.data.externalId, older.metadata.uid);
    await fixture.server.kubectl(['delete', 'mroom', 'older']);
    await fixture.waitUntilReady('younger');
  });

  test('of a foreign room is never touched', async () => {
    await api.post('/room', { roomId: 'theirs', maxPeers: 7 });
    await fixture.server.apply(room('theirs', { maxPeers: 1 }));
    await fixture.waitFor('theirs', (each) => condition(each, 'Accepted')?.reason === 'RoomIdTaken');
    assert.equal((await fixture.server.kubectl(['delete', 'mroom', 'theirs', '--timeout=50s'])).code, 0);
    assert.equal((await api.get('/room/theirs')).body.data.config.maxPeers, 7);
  });

  test('is used by the Room once the foreign room has ended', async () => {
    await api.post('/room', { roomId: 'later' });
    await fixture.server.apply(room('later'));
    await fixture.waitFor('later', (each) => condition(each, 'Accepted')?.status === 'False');
    await api.delete('/room/later');
    await fixture.waitUntilReady('later');
  });
});

describe('A Room', () => {
  test('restores its room after a change over REST', async () => {
    await fixture.server.apply(room('steady', { maxPeers: 4 }));
    await fixture.waitUntilReady('steady');
    await api.patch('/room/steady', { maxPeers: 40, webhookUrl: 'http://127.0.0.1:9/' });
    await eventually('the room is restored', async () => (await api.get('/room/steady')).body.data.config.maxPeers === 4);
  });

  test('waits for its MediaCluster and uses its default timeouts', async () => {
    await fixture.server.apply(room('early', { clusterRef: { name: 'late' } }));
    const early = await fixture.waitFor('early', (each) => condition(each, 'Ready')?.reason === 'ClusterNotFound');
    assert.deepEqual(early.metadata.finalizers, undefined);
    const spec = { config: { roomDefaults: { peerDisconnectedTimeout: 77 } } };
    await fixture.addCluster('late', [{ url: nodeUrl }], spec);
    await fixture.waitUntilReady('early');
    assert.equal((await api.get('/room/early')).body.data.config.peerDisconnectedTimeout, 77);
    await fixture.addCluster('late', [{ url: nodeUrl }], { config: { roomDefaults: { peerDisconnectedTimeout: 78 } } });
    const timeout = async () => (await api.get('/room/early')).body.data.config.peerDisconnectedTimeout;
    await eventually('the new default is effective', async () => (await timeout()) === 78);
    // Deletion must not wait for a deleted MediaCluster.
    await fixture.server.kubectl(['delete', 'mcl', 'late']);
    await fixture.waitFor('early', (each) => condition(each, 'Accepted')?.status === 'False');
    assert.equal((await fixture.server.kubectl(['delete', 'mroom', 'early', '--timeout=50s'])).code, 0);
    await api.delete('/room/early');
  });

  test('without clusterRef stays on its MediaCluster if another one appears, and moves when its MediaCluster is deleted', async () => {
    const here = (name: string) => fixture.addCluster(name, [{ url: nodeUrl }], {}, 'unnamed');
    await fixture.server.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'unnamed' } });
    await here('one');
    await fixture.server.apply(room('settled', {}, 'unnamed'));
    assert.equal((await fixture.waitUntilReady('settled', 'unnamed')).status.cluster, 'one');
    await here('two');
    // Rooms and MediaClusters arrive by separate watches; a Room on the second one proves that it has arrived.
    await fixture.server.apply(room('second', { clusterRef: { name: 'two' } }, 'unnamed'));
    await fixture.waitUntilReady('second', 'unnamed');
    await fixture.server.apply(room('undecided', {}, 'unnamed'));
    const undecided = await fixture.waitFor('undecided', (each) => condition(each, 'Accepted') !== undefined, 'unnamed');
    assert.equal(condition(undecided, 'Accepted').reason, 'ClusterNotNamed');
    assert.equal((await fixture.room('settled', 'unnamed')).status.phase, 'Ready');
    await fixture.server.kubectl(['delete', 'mcl', 'one', '-n', 'unnamed']);
    await fixture.waitFor('settled', ({ status }) => status.cluster === 'two' && status.phase === 'Ready', 'unnamed');
    await fixture.waitUntilReady('undecided', 'unnamed');
    await fixture.server.kubectl(['delete', 'mroom', '--all', '-n', 'unnamed']);
  });

  test('accepts tokens of a node with hours of clock skew without renewing them constantly', async () => {
    for (const hours of [-30, 30]) {
      await operator.stop();
      operator = await fixture.startOperator({ now: () => Date.now() + hours * 3_600_000, pollMs: 2_000 });
      const name = `skewed${hours}`.replace('-', '-minus-');
      await fixture.server.apply(room(name, { peers: [{ name: 'ann' }] }));
      await fixture.waitUntilReady(name);
      const { resourceVersion } = (await fixture.object(`/api/v1/namespaces/default/secrets/${name}-peers`)).metadata;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      assert.equal((await fixture.object(`/api/v1/namespaces/default/secrets/${name}-peers`)).metadata.resourceVersion, resourceVersion);
      const secret = await fixture.secret(`${name}-peers`);
      const socket = await PeerSocket.enter(secret?.['ann.url'] ?? '', secret?.['ann.token'] ?? '');
      assert.equal(socket.welcome.ok, true);
      await socket.close();
    }
    await operator.stop();
    operator = await fixture.startOperator({ pollMs: 2_000 });
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
    await fixture.server.apply(lax);
    const old = [room('old-kind', { maxPeers: 0 }), room('old.name'), room('old-twice', { peers: [{ name: 'ann' }, { name: 'ann' }] })];
    // A CRD becomes effective a moment after it was written.
    let refused: unknown;
    const isTaken = () =>
      fixture.server.apply(old).then(
        () => true,
        (error: unknown) => {
          refused = error;
          return false;
        },
      );
    await eventually(() => `the old objects are accepted: ${refused}`, isTaken);
    for (const [name, message] of Object.entries({
      'old-kind': /spec\.maxPeers does not match the CRD/,
      'old.name': /old\.name is not a valid room id/,
      'old-twice': /The name ann is declared twice/,
    })) {
      const wrong = await fixture.waitFor(name, (each) => condition(each, 'Accepted')?.reason === 'InvalidSpec');
      assert.match(condition(wrong, 'Ready').message, message);
    }
    await fixture.server.apply(roomDefinition);
    assert.equal((await fixture.server.kubectl(['delete', 'mroom', 'old-kind', 'old.name', 'old-twice', '--timeout=50s'])).code, 0);
  });
});

const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
