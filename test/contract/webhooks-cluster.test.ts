// Webhooks when nodes end: other nodes deliver pending ones and report lost rooms.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { peerSocketPath } from '../../api/peer.ts';
import { apiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { accept, reject, startReceiver } from '../kit/network/webhook-receiver.ts';
import { startNodePair, waitForMesh } from '../kit/processes/node-pair.ts';
import { startNodeProcess } from '../kit/processes/node-process.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { assertPrompt, stopwatch } from '../kit/promised-time.ts';

const webhooks = { SVC_WEBHOOK_ALLOW_PRIVATE: 'true' };

test('a node that shuts down hands its pending events to another one, which delivers them in order', async (t) => {
  const receiver = await startReceiver(t, reject(500));
  const { owner, nonOwner } = await startNodePair(t, { both: { ...webhooks, SVC_MAX_ROOMS: '0' }, owner: { SVC_MAX_ROOMS: '10' } });
  const answer = await apiClient(owner.url, owner.token).post('/room', { roomId: 'one', webhookUrl: receiver.url });
  assert.equal(answer.status, 201);
  await receiver.until(1);
  await owner.close();
  assert.equal(owner.node.parts.webhooks.counters().pending, 0, 'nothing is pending at the node that shut down');
  assert.equal(nonOwner.node.parts.webhooks.counters().pending, 2);
  receiver.answer(accept);
  const refused = receiver.received.length;
  await receiver.until(refused + 2);
  assert.deepEqual(
    receiver.received.slice(refused).map(({ event }) => [event.type, event.seq]),
    [
      ['RoomCreated', 1],
      ['RoomDeleted', 2],
    ],
  );
  assert.equal(receiver.received.at(-2)?.id, receiver.received[0]?.id, 'the same event has the same id from every node');
});

test('another node notifies receivers of rooms that were lost with their node', async (t) => {
  const receiver = await startReceiver(t);
  const dist = { SVC_DIST_ENABLED: 'true', SVC_DIST_NODES: `lost-${process.pid}@localhost`, ...webhooks };
  const lost = await startNodeProcess(t, { ...dist, SVC_DIST_NODE_NAME: `lost-${process.pid}@localhost` });
  const { api, serverSocketUrl } = await startNode(t, { ...dist, SVC_DIST_NODE_NAME: `left-${process.pid}@localhost`, SVC_MAX_ROOMS: '0' });
  await waitForMesh([api, apiClient(lost.url, apiToken)]);
  assert.equal((await apiClient(lost.url, apiToken).post('/room', { roomId: 'one', webhookUrl: receiver.url })).status, 201);
  const events = await PeerSocket.enter(serverSocketUrl, apiToken);
  t.after(() => events.cut());
  await events.request('subscribe', { events: 'all' });
  // Of three peers one is connected, one was, one never.
  const peers = new Map<string, PeerSocket>();
  for (const peerId of ['here', 'left', 'absent']) {
    const { token } = (await api.post('/room/one/peer', { type: 'webrtc', peerId })).body.data;
    if (peerId !== 'absent') peers.set(peerId, await PeerSocket.enter(lost.url.replace('http', 'ws') + peerSocketPath, token));
  }
  await peers.get('left')?.request('leave');
  // RoomCreated, three times PeerAdded, twice PeerConnected, PeerDisconnected: delivered to the receiver and known to the remaining node.
  await receiver.until(7);
  await events.waitFor('roomEvent', ({ type, peerId }) => type === 'PeerDisconnected' && peerId === 'left');
  lost.kill('SIGKILL');
  await receiver.until(9);
  const { incarnation } = receiver.received[0]?.event ?? {};
  assert.deepEqual(
    receiver.received.slice(7).map(({ id, event: { type, peerId, reason } }) => ({ id, type, peerId, reason })),
    [
      { id: `${incarnation}-lost-here`, type: 'PeerDisconnected', peerId: 'here', reason: undefined },
      { id: `${incarnation}-lost`, type: 'RoomCrashed', peerId: undefined, reason: 'node_lost' },
    ],
  );
});

test('any node lists and replays the dead letters of all nodes, and names unresponsive ones', async (t) => {
  const receiver = await startReceiver(t, reject(410));
  const dist = { SVC_DIST_ENABLED: 'true', SVC_DIST_NODES: `holder-${process.pid}@localhost`, ...webhooks };
  const holder = await startNodeProcess(t, { ...dist, SVC_DIST_NODE_NAME: `holder-${process.pid}@localhost` });
  const { api } = await startNode(t, { ...dist, SVC_DIST_NODE_NAME: `asked-${process.pid}@localhost`, SVC_MAX_ROOMS: '0' });
  await waitForMesh([api, apiClient(holder.url, apiToken)]);
  assert.equal((await apiClient(holder.url, apiToken).post('/room', { roomId: 'one', webhookUrl: receiver.url })).status, 201);
  await receiver.until(1);
  type Letter = { node: string; event: { type: string } };
  const dead = async () => (await api.get('/webhooks/dead?roomId=one')).body.data as Letter[];
  await eventually('a dead letter', async () => (await dead()).length > 0, { every: 20 });
  const name = `holder-${process.pid}@localhost`;
  // A node that was paused for two seconds is missing in one response.
  const whole = async (path: string) => {
    const check = async () => {
      const { body } = await api.get(path);
      return body.incomplete.length === 0 && body;
    };
    return eventually(`all nodes respond to ${path}`, check, { every: 20 });
  };
  assert.deepEqual(
    (await whole('/webhooks/dead?roomId=one')).data.map(({ node, event }: Letter) => [node, event.type]),
    [[name, 'RoomCreated']],
  );
  const states = await whole('/webhooks');
  assert.deepEqual(
    states.data.map(({ node, dead }: { node: string; dead: number }) => [node, dead]),
    [
      [`asked-${process.pid}@localhost`, 0],
      [name, 1],
    ],
  );
  receiver.answer(accept);
  assert.deepEqual((await api.post('/webhooks/dead/replay', { roomId: 'one' })).body, { data: { replayed: 1 }, incomplete: [] });
  await receiver.until(2);
  assert.deepEqual((await whole('/webhooks/dead?roomId=one')).data, []);

  holder.kill('SIGSTOP');
  const elapsed = stopwatch();
  const silent = await api.get('/webhooks');
  // The timeout is two seconds; a tick of a minute would also end the wait.
  assertPrompt('the response', elapsed(), { promised: 2_000, bound: 15_000 });
  assert.deepEqual([silent.status, silent.body.data.length, silent.body.incomplete], [200, 1, [name]]);
});
