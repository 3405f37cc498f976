// Life of a Room on a real API server and real nodes: created, changed, ended, deleted.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { condition, room } from '../kit/kube/read-objects.ts';
import { isSettled, RoomFixture } from '../kit/kube/room-fixture.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { startNode } from '../kit/processes/start-node.ts';

const fixture = await RoomFixture.start({ after });
const node = await startNode({ after }, { SVC_IP: '127.0.0.1' });
const { api } = node;
await fixture.addCluster('media', [node]);
await fixture.startOperator();

describe('A Room', () => {
  test('creates a room on a node, and kubectl shows it', async () => {
    await fixture.server.apply(room('lesson', { maxPeers: 3, peers: [{ name: 'teacher' }] }));
    const { code } = await fixture.server.kubectl(['wait', '--for=condition=Ready', 'mroom/lesson', '--timeout=50s']);
    assert.equal(code, 0);
    const made = await fixture.room('lesson');
    const { body } = await api.get('/room/lesson');
    assert.equal(body.data.externalId, made.metadata.uid);
    assert.equal(body.data.config.maxPeers, 3);
    assert.equal(body.data.config.peerDisconnectedTimeout, 120);
    assert.equal(made.status.incarnation, body.data.incarnation);
    assert.equal(made.status.node, 'media-0');
    const { stdout } = await fixture.server.kubectl(['get', 'mroom', 'lesson', '-o', 'wide']);
    assert.match(stdout, /lesson +Ready +media-0 +0 +127\.0\.0\.1:\d+/);
  });

  test('provides tokens and URLs with which its peers join', async () => {
    await fixture.server.apply(room('seminar', { peers: [{ name: 'alice', permissions: { publish: ['audio'] } }] }));
    const { status } = await fixture.waitUntilReady('seminar');
    const secret = await fixture.secret(status.peersSecretName);
    const socket = await PeerSocket.enter(secret?.['alice.url'] ?? '', secret?.['alice.token'] ?? '');
    assert.equal(socket.welcome.ok, true);
    await fixture.waitFor('seminar', (each) => each.status.peers.connected === 1);
    // The change is effective without disconnecting a peer.
    const [alice, bob] = [
      { name: 'alice', attributes: { role: 'host' }, permissions: { roomMetadata: true, publishSources: ['microphone'] } },
      { name: 'bob', admitted: true },
    ];
    await fixture.server.apply(
      room('seminar', { maxPeers: 2, admission: 'manual', webhookUrl: 'http://127.0.0.1:9/', peers: [alice, bob] }),
    );
    await fixture.waitUntilReady('seminar');
    const { body } = await api.get('/room/seminar');
    assert.equal(body.data.config.maxPeers, 2);
    assert.equal(body.data.config.webhookUrl, 'http://127.0.0.1:9/');
    assert.deepEqual(
      body.data.peers.map(({ id, status: each }: { id: string; status: string }) => `${id} ${each}`),
      ['alice connected', 'bob disconnected'],
    );
    assert.equal(body.data.config.admission, 'manual');
    assert.deepEqual([body.data.peers[0].attributes, body.data.peers[1].admitted], [{ role: 'host' }, true]);
    const updated = await socket.waitFor('permissionsUpdated');
    assert.deepEqual(Object(updated.permissions).publishSources, ['microphone']);
    await socket.waitFor('peerAttributesUpdated', ({ peerId }) => peerId === 'alice');
    assert.equal((await socket.request('setRoomMetadata', { metadata: 'plans' })).ok, true);
    assert.equal((await socket.waitFor('roomMetadataUpdated')).metadata, 'plans');
    assert.equal((await fixture.secret('seminar-peers'))?.['alice.token'], secret?.['alice.token']);
    assert.equal(socket.webSocket.readyState, 1);
    await socket.close();
  });

  test('whose room is deleted over REST is Finished and stays Finished', async () => {
    await fixture.server.apply(room('short'));
    await fixture.waitUntilReady('short');
    await api.delete('/room/short');
    const over = await fixture.waitFor('short', (each) => each.status.phase === 'Finished');
    assert.equal(condition(over, 'Finished').reason, 'Deleted');
    await fixture.server.apply(room('short', { maxPeers: 9 }));
    await fixture.waitFor('short', isSettled);
    assert.equal((await api.get('/room/short')).status, 404);
  });

  test('is deleted when the TTL after its end has expired, which may be set later', async () => {
    await fixture.server.apply([
      room('at-once', { ttlSecondsAfterFinished: 0 }),
      room('in-time', { ttlSecondsAfterFinished: 1 }),
      room('kept'),
    ]);
    for (const name of ['at-once', 'in-time', 'kept']) {
      await fixture.waitUntilReady(name);
      await api.delete(`/room/${name}`);
    }
    for (const name of ['at-once', 'in-time']) await fixture.waitFor(name, (each) => each === undefined);
    const { metadata } = await fixture.waitFor('kept', (each) => each.status.phase === 'Finished');
    assert.deepEqual([metadata.deletionTimestamp, metadata.finalizers], [undefined, ['mediarooms.dev/room']]);
    await fixture.server.apply(room('kept', { ttlSecondsAfterFinished: 0 }));
    await fixture.waitFor('kept', (each) => each === undefined);
  });

  test('deletes its room when it is deleted, and its Secret has an owner reference', async () => {
    await fixture.server.apply(room('passing', { peers: [{ name: 'alice' }] }));
    const { metadata } = await fixture.waitUntilReady('passing');
    const secret = await fixture.object('/api/v1/namespaces/default/secrets/passing-peers');
    assert.deepEqual(
      secret.metadata.ownerReferences.map(({ kind, uid, controller }: Record<string, unknown>) => ({ kind, uid, controller })),
      [{ kind: 'Room', uid: metadata.uid, controller: true }],
    );
    const { code } = await fixture.server.kubectl(['delete', 'mroom', 'passing', '--timeout=50s']);
    assert.equal(code, 0);
    assert.equal((await api.get('/room/passing')).status, 404);
  });
});
