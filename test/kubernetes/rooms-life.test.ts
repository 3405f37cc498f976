// Life of a Room on a real API server and real nodes: created, changed, ended, deleted.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { apiClient } from '../kit/answers/api-client.ts';
import { conditionOf, isSettled, RoomFixture, room } from '../kit/kube/room-fixture.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { type StartedNode, startNode } from '../kit/processes/start-node.ts';

/** One node for all tests of the file. */
const ends: (() => Promise<void>)[] = [];
const scope = { after: (end: () => Promise<void>) => void ends.push(end) };
let stage: RoomFixture;
let node: StartedNode;

before(async () => {
  stage = await RoomFixture.start(scope);
  node = await startNode(scope as never, { SVC_IP: '127.0.0.1' });
  await stage.addCluster('media', [node]);
  await stage.startOperator();
});
after(async () => {
  for (const end of ends.reverse()) await end();
});

describe('A Room', () => {
  test('creates a room on a node, and kubectl shows it', async () => {
    await stage.apply(room('lesson', { maxPeers: 3, peers: [{ name: 'teacher' }] }));
    const { code } = await stage.server.kubectl(['wait', '--for=condition=Ready', 'mroom/lesson', '--timeout=50s']);
    assert.equal(code, 0);
    const made = await stage.room('lesson');
    const { body } = await apiClient(node.url, node.token).get('/room/lesson');
    assert.equal(body.data.externalId, made.metadata.uid);
    assert.equal(body.data.config.maxPeers, 3);
    assert.equal(body.data.config.peerDisconnectedTimeout, 120);
    assert.equal(made.status.incarnation, body.data.incarnation);
    assert.equal(made.status.node, 'media-0');
    const { stdout } = await stage.server.kubectl(['get', 'mroom', 'lesson', '-o', 'wide']);
    assert.match(stdout, /lesson +Ready +media-0 +0 +127\.0\.0\.1:\d+/);
  });

  test('provides tokens and URLs with which its peers join', async () => {
    await stage.apply(room('seminar', { peers: [{ name: 'alice', permissions: { publish: ['audio'] } }] }));
    const { status } = await stage.waitUntilReady('seminar');
    const secret = await stage.secret(status.peersSecretName);
    const socket = await PeerSocket.enter(secret?.['alice.url'] ?? '', secret?.['alice.token'] ?? '');
    assert.equal(socket.welcome.ok, true);
    await stage.waitFor('seminar', (each) => each.status.peers.connected === 1);
    // The change is effective without disconnecting a peer.
    await stage.apply(room('seminar', { maxPeers: 2, webhookUrl: 'http://127.0.0.1:9/', peers: [{ name: 'alice' }, { name: 'bob' }] }));
    await stage.waitUntilReady('seminar');
    const { body } = await apiClient(node.url, node.token).get('/room/seminar');
    assert.equal(body.data.config.maxPeers, 2);
    assert.equal(body.data.config.webhookUrl, 'http://127.0.0.1:9/');
    assert.deepEqual(
      body.data.peers.map(({ id, status: each }: { id: string; status: string }) => `${id} ${each}`),
      ['alice connected', 'bob disconnected'],
    );
    await socket.waitFor('permissionsUpdated');
    assert.equal((await stage.secret('seminar-peers'))?.['alice.token'], secret?.['alice.token']);
    assert.equal(socket.webSocket.readyState, 1);
    await socket.close();
  });

  test('whose room is deleted over REST is Finished and stays Finished', async () => {
    await stage.apply(room('short'));
    await stage.waitUntilReady('short');
    await apiClient(node.url, node.token).delete('/room/short');
    const over = await stage.waitFor('short', (each) => each.status.phase === 'Finished');
    assert.equal(conditionOf(over, 'Ready').reason, 'Deleted');
    await stage.apply(room('short', { maxPeers: 9 }));
    await stage.waitFor('short', isSettled);
    assert.equal((await apiClient(node.url, node.token).get('/room/short')).status, 404);
  });

  test('deletes its room when it is deleted, and its Secret has an owner reference', async () => {
    await stage.apply(room('passing', { peers: [{ name: 'alice' }] }));
    const { metadata } = await stage.waitUntilReady('passing');
    const secret = await stage.object('/api/v1/namespaces/default/secrets/passing-peers');
    assert.deepEqual(
      secret.metadata.ownerReferences.map(({ kind, uid, controller }: Record<string, unknown>) => ({ kind, uid, controller })),
      [{ kind: 'Room', uid: metadata.uid, controller: true }],
    );
    const { code } = await stage.server.kubectl(['delete', 'mroom', 'passing', '--timeout=50s']);
    assert.equal(code, 0);
    assert.equal((await apiClient(node.url, node.token).get('/room/passing')).status, 404);
  });
});
