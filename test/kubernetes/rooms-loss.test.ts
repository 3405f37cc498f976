// Loss of rooms: deleted externally, lost with the node, drained, and unreachable.
import assert from 'node:assert/strict';
import { after, describe, type TestContext, test } from 'node:test';
import { peerSocketPath } from '../../api/peer.ts';
import { RoomClient } from '../../packages/client/src/index.ts';
import { apiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { claimBlock } from '../kit/kube/pods/loopback-block.ts';
import { condition, type KubeJson, room, waitForEvent } from '../kit/kube/read-objects.ts';
import { RoomFixture } from '../kit/kube/room-fixture.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { waitForMesh } from '../kit/processes/node-pair.ts';
import { type NodeProcess, startNodeProcess } from '../kit/processes/node-process.ts';
import { apiToken } from '../kit/processes/start-node.ts';
import { assertPrompt, stopwatch } from '../kit/promised-time.ts';

let pairs = 0;
const fixture = await RoomFixture.start({ after });
const block = await claimBlock();
after(() => block.dns.close());
let operator = await fixture.startOperator({ pollMs: 2_000 });

/** Two nodes of one cluster as processes, and a MediaCluster of that name. The nodes end with the test. */
async function startPair(t: TestContext, name: string): Promise<[NodeProcess, NodeProcess]> {
  pairs += 1;
  // Separate addresses as of pods, on which no other EPMD runs.
  const ip = (index: number) => `127.${block.number}.${pairs}.${index}`;
  const env = (index: number) => ({
    SVC_IP: ip(index),
    SVC_DIST_ENABLED: 'true',
    SVC_DIST_MODE: 'name',
    SVC_DIST_IP: ip(index),
    SVC_DIST_NODE_NAME: `svc@${ip(index)}`,
    SVC_DIST_NODES: `svc@${ip(1)}`,
  });
  const first = await startNodeProcess(t, env(1));
  const second = await startNodeProcess(t, env(2));
  await waitForMesh([first, second].map(({ api }) => api));
  await fixture.addCluster(name, [first, second]);
  t.after(() => fixture.setPods(`default/${name}`, []));
  return [first, second];
}

function ofCluster(cluster: string, spec: object = {}): object {
  return { clusterRef: { name: cluster }, ...spec };
}

describe('A room that is lost', () => {
  test('with its node is recreated on another node and accepts the existing tokens', async (t) => {
    const nodes = await startPair(t, 'killed');
    await fixture.server.apply(room('lost', ofCluster('killed', { peers: [{ name: 'alice' }] })));
    const first = await fixture.waitUntilReady('lost');
    const token = (await fixture.secret('lost-peers'))?.['alice.token'] ?? '';
    const index = Number(first.status.node.split('-').at(-1));
    nodes[index]?.kill('SIGKILL');
    await nodes[index]?.ended;
    fixture.removePod('default/killed', first.status.node);
    const again = await fixture.waitFor(
      'lost',
      ({ status }) => status.phase === 'Ready' && status.incarnation !== first.status.incarnation,
    );
    assert.notEqual(again.status.node, first.status.node);
    const secret = await fixture.secret('lost-peers');
    assert.equal(secret?.['alice.token'], token);
    assert.notEqual(again.status.address, first.status.address);
    const socket = await PeerSocket.enter(secret?.['alice.url'] ?? '', token);
    assert.equal(socket.welcome.ok, true);
    await socket.close();
    await waitForEvent(fixture.server, 'lost', 'RoomLost');
  });

  test('is not recreated with recreate Never, until that is changed', async (t) => {
    const nodes = await startPair(t, 'never');
    await fixture.server.apply(room('once', ofCluster('never', { recreate: 'Never' })));
    const first = await fixture.waitUntilReady('once');
    nodes[Number(first.status.node.split('-').at(-1))]?.kill('SIGKILL');
    fixture.removePod('default/never', first.status.node);
    const failed = await fixture.waitFor('once', ({ status }) => status.phase === 'Failed');
    assert.match(condition(failed, 'Ready').message, /It is not recreated, because spec.recreate is Never/);
    await fixture.server.apply(room('once', ofCluster('never', { recreate: 'Always' })));
    await fixture.waitUntilReady('once');
  });

  test('by a drain is recreated on another node, and its peers wait for it', async (t) => {
    const nodes = await startPair(t, 'drained');
    await fixture.server.apply(room('moving', ofCluster('drained', { peers: [{ name: 'alice' }] })));
    const first = await fixture.waitUntilReady('moving');
    const { api } = nodes[0];
    const { body } = await api.get('/cluster/nodes');
    const owner = body.data.find(({ address }: KubeJson) => address === first.status.address);
    const secret = await fixture.secret('moving-peers');
    const fallbackUrls = nodes.map(({ url }) => url.replace('http', 'ws') + peerSocketPath);
    const alice = new RoomClient({ url: secret?.['alice.url'] ?? '', token: secret?.['alice.token'] ?? '', fallbackUrls });
    t.after(() => alice.leave());
    await alice.join();
    const states: string[] = [];
    const back = Promise.withResolvers<void>();
    alice.on('stateChanged', ({ state }) => {
      states.push(state);
      if (state === 'joined') back.resolve();
    });
    alice.on('closed', ({ message }) => back.reject(new Error(message)));
    assert.equal((await api.post(`/cluster/nodes/${encodeURIComponent(owner.name)}/drain`, { deadline: 1 })).status, 202);
    const again = await fixture.waitFor(
      'moving',
      ({ status }) => status.phase === 'Ready' && status.incarnation !== first.status.incarnation,
    );
    assert.notEqual(again.status.node, first.status.node);
    await back.promise;
    assert.deepEqual(states, ['reconnecting', 'joined']);
  });
});

describe('A room that ended', () => {
  test('while no operator ran is Finished if its node reports the deletion', async (t) => {
    const nodes = await startPair(t, 'unwatched');
    await fixture.server.apply(room('unseen', ofCluster('unwatched')));
    const { incarnation } = (await fixture.waitUntilReady('unseen')).status;
    await operator.stop();
    await nodes[0].api.delete('/room/unseen');
    operator = await fixture.startOperator({ pollMs: 2_000 });
    // The node may need a moment for its first response, which is reported as well.
    const over = await fixture.waitFor('unseen', ({ status }) => status.phase === 'Finished' || status.incarnation !== incarnation);
    assert.equal(over.status.phase, 'Finished');
    assert.equal(condition(over, 'Finished').reason, 'Deleted');
  });

  test('with its node while no operator ran is recreated', async (t) => {
    const nodes = await startPair(t, 'unwatched-too');
    await fixture.server.apply(room('forgotten', ofCluster('unwatched-too')));
    const first = await fixture.waitUntilReady('forgotten');
    await operator.stop();
    const owner = nodes[Number(first.status.node.split('-').at(-1))];
    owner?.kill('SIGKILL');
    await owner?.ended;
    fixture.removePod('default/unwatched-too', first.status.node);
    operator = await fixture.startOperator({ pollMs: 2_000 });
    await fixture.waitFor('forgotten', ({ status }) => status.phase === 'Ready' && status.incarnation !== first.status.incarnation);
  });

  test('because no peer joined is Finished', async (t) => {
    await startPair(t, 'peerless');
    await fixture.server.apply(room('lonely', ofCluster('peerless', { peerlessPurgeTimeout: 1 })));
    const over = await fixture.waitFor('lonely', ({ status }) => status?.phase === 'Finished');
    assert.equal(condition(over, 'Finished').reason, 'Purged');
  });

  test('by three crashes within ten minutes is recreated each time, after a pause for the third', async (t) => {
    const nodes = await startPair(t, 'crashing');
    await fixture.server.apply(room('fragile', ofCluster('crashing')));
    let { incarnation, node } = (await fixture.waitUntilReady('fragile')).status;
    for (let crash = 1; crash <= 3; crash += 1) {
      const owner = nodes[Number(node.split('-').at(-1))];
      // The room has media once it has a peer.
      await apiClient(owner?.url ?? '', apiToken).post('/room/fragile/peer', { type: 'webrtc' });
      for (const child of (await owner?.children()) ?? []) process.kill(child, 'SIGKILL');
      if (crash === 3) {
        const { status } = await fixture.waitFor('fragile', (each) => condition(each, 'Ready').reason === 'CrashedTooOften');
        assert.equal(status.phase, 'Recovering');
      }
      const after = await fixture.waitFor('fragile', ({ status }) => status.phase === 'Ready' && status.incarnation !== incarnation);
      ({ incarnation, node } = after.status);
    }
  });
});

describe('A Room whose nodes do not respond', () => {
  test('reports it within seconds, is kept, and can be deleted in bounded time', async (t) => {
    const silent = [{ url: 'http://127.0.0.1:9' }];
    await fixture.addCluster('silent', silent);
    const elapsed = stopwatch();
    await fixture.server.apply(room('waiting', ofCluster('silent')));
    // Rooms and MediaClusters arrive by separate watches, so a missing MediaCluster may be reported first.
    const waiting = await fixture.waitFor('waiting', (each) => condition(each, 'Ready')?.reason === 'NodeUnreachable');
    const took = elapsed();
    t.diagnostic(`reported after ${Math.round(took)} ms`);
    assertPrompt('to report it', took, { promised: 5_000 });
    assert.match(condition(waiting, 'Ready').message, /could not be reached/);
    fixture.setPods('default/silent', []);
    await fixture.waitFor('waiting', (each) => condition(each, 'Ready').reason === 'NoReadyNode');
    const { code } = await fixture.server.kubectl(['delete', 'mroom', 'waiting', '--timeout=60s']);
    assert.equal(code, 0);
  });

  test('can be deleted, its orphaned room is deleted later, and a recreated Room gets a new room', async (t) => {
    pairs += 1;
    const node = await startNodeProcess(t, { SVC_IP: `127.${block.number}.${pairs}.1` });
    await fixture.addCluster('frozen', [node]);
    await fixture.server.apply(room('left', ofCluster('frozen')));
    const { metadata } = await fixture.waitUntilReady('left');
    node.kill('SIGSTOP');
    const { code, stderr } = await fixture.server.kubectl(['delete', 'mroom', 'left', '--timeout=80s']);
    assert.equal(code, 0, stderr);
    await waitForEvent(fixture.server, 'left', 'RoomLeft');
    await fixture.server.apply(room('left', ofCluster('frozen')));
    await fixture.waitFor('left', (each) => condition(each, 'Ready')?.reason === 'NodeUnreachable');
    node.kill('SIGCONT');
    const { api } = node;
    await eventually('the orphaned room is deleted', async () => (await api.get('/room/left')).body.data?.externalId !== metadata.uid);
    const again = await fixture.waitUntilReady('left');
    assert.notEqual(again.metadata.uid, metadata.uid);
    const { body } = await api.get('/room');
    assert.deepEqual(
      body.data.map(({ id, externalId, incarnation }: KubeJson) => ({ id, externalId, incarnation })),
      [{ id: 'left', externalId: again.metadata.uid, incarnation: again.status.incarnation }],
    );
  });
});
