// Silent network between a client and a node: connections stay open, and nothing arrives.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiClient } from '../kit/answers/api-client.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { startTcpProxy } from '../kit/network/tcp-proxy.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { assertPrompt, stopwatch } from '../kit/promised-time.ts';

test('a peer with a silent network is disconnected and removed within its timeout', async (t) => {
  const { url, port, token, serverSocketUrl, peerSocketUrl } = await startNode(t);
  const api = apiClient(url, token);
  await api.post('/room', { roomId: 'r', peerDisconnectedTimeout: 2 });
  const events = await PeerSocket.enter(serverSocketUrl, token);
  await events.request('subscribe', { events: 'all' });
  const peerToken = async (peerId: string) => (await api.post('/room/r/peer', { type: 'webrtc', peerId })).body.data.token as string;
  const proxy = await startTcpProxy(t, port);
  const far = await PeerSocket.enter(peerSocketUrl.replace(`:${port}`, `:${proxy.port}`), await peerToken('far'));
  const near = await PeerSocket.enter(peerSocketUrl, await peerToken('near'));
  assert.equal((await far.request('ping')).ok, true);

  proxy.hush();
  const took = stopwatch();
  const { reason } = await events.waitFor('roomEvent', ({ type }) => type === 'PeerDeleted');
  assertPrompt('the removal of a peer with a silent network', took(), { promised: 2_000 });
  assert.equal(reason, 'timeout');
  assert.equal((await near.request('ping')).ok, true);
  const reported = events.events('roomEvent').map(({ data: { type, peerId } }) => `${type} ${peerId}`);
  assert.deepEqual(reported.slice(-2), ['PeerDisconnected far', 'PeerDeleted far']);
});
