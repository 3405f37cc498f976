// Event stream of the operator: no loss over a broken connection, and failover to another node.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { WebSocketServer } from 'ws';
import { NodeEvents, type NodeEventsOptions } from '../../../../operator/nodes/node-events.ts';
import type { NodeEvent } from '../../../../operator/nodes/schemas.ts';
import { apiClient } from '../../../kit/answers/api-client.ts';
import { eventually } from '../../../kit/eventually.ts';
import { startTcpProxy } from '../../../kit/network/tcp-proxy.ts';
import { startNodePair } from '../../../kit/processes/node-pair.ts';
import { startNode } from '../../../kit/processes/start-node.ts';
import { silentLog } from '../../../kit/silent-log.ts';

type Listening = {
  heard: NodeEvent[];
  gaps: () => number;
  events: NodeEvents;
  waitFor: (what: string, wanted: () => boolean) => Promise<void>;
};

/** The node rejects a signature for the address of a proxy. */
const plain = (url: string) => ({ url, signed: false });
const signed = (url: string) => ({ url, signed: true });

function listen(t: TestContext, options: Pick<NodeEventsOptions, 'nodes' | 'token'> & Partial<NodeEventsOptions>): Listening {
  const heard: NodeEvent[] = [];
  let gaps = 0;
  const events = new NodeEvents({
    types: ['RoomCreated', 'RoomDeleted'],
    onEvent: (event) => heard.push(event),
    onGap: () => {
      gaps += 1;
    },
    log: silentLog(),
    random: () => 0,
    ...options,
  });
  const stop = new AbortController();
  const running = events.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await running;
  });
  const waitFor = async (what: string, wanted: () => boolean) => {
    await eventually(() => `${what}; received ${JSON.stringify(heard)}`, wanted, { every: 10 });
  };
  return { heard, gaps: () => gaps, events, waitFor };
}

test('events during a broken connection are received afterwards, once and in order', async (t) => {
  const node = await startNode(t);
  const proxy = await startTcpProxy(t, node.port);
  const api = apiClient(node.url, node.token);
  const { heard, gaps, events, waitFor } = listen(t, { nodes: () => [plain(`http://127.0.0.1:${proxy.port}`)], token: () => node.token });
  await waitFor('subscribed', () => events.connected !== undefined);
  assert.equal(gaps(), 1, 'earlier state must be listed');
  await api.post('/room', { roomId: 'one' });
  await waitFor('the first event', () => heard.length === 1);
  proxy.cut();
  await api.post('/room', { roomId: 'two' });
  await api.delete('/room/one');
  proxy.restore();
  await waitFor('the events of the cut', () => heard.length === 3);
  assert.deepEqual(
    heard.map(({ type, roomId }) => `${type} ${roomId}`),
    ['RoomCreated one', 'RoomCreated two', 'RoomDeleted one'],
  );
  assert.equal(heard[2]?.reason, 'deleted');
  assert.equal(gaps(), 1);
});

test('if a node is lost the event stream fails over to another node of its cluster', async (t) => {
  const { owner, nonOwner } = await startNodePair(t);
  const { heard, events, waitFor } = listen(t, { nodes: () => [signed(owner.url), signed(nonOwner.url)], token: () => owner.token });
  await waitFor('subscribed', () => events.connected === owner.url);
  await owner.close();
  await waitFor('subscribed at the other node', () => events.connected === nonOwner.url);
  await apiClient(nonOwner.url, nonOwner.token).post('/room', { roomId: 'later' });
  await waitFor('an event of the other node', () => heard.some(({ roomId }) => roomId === 'later'));
});

test('a silent node is abandoned', async (t) => {
  const silent = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(silent, 'listening');
  t.after(() => {
    for (const client of silent.clients) client.terminate();
    silent.close();
  });
  const node = await startNode(t);
  const silentUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const { events, waitFor } = listen(t, { nodes: () => [signed(silentUrl), signed(node.url)], token: () => node.token });
  await waitFor('subscribed at the other node', () => events.connected === node.url);
});

test('an oversized or invalid frame does no harm', async (t) => {
  const node = await startNode(t);
  const hostile = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(hostile, 'listening');
  t.after(() => {
    for (const client of hostile.clients) client.terminate();
    hostile.close();
  });
  let connections = 0;
  hostile.on('connection', (socket) => {
    connections += 1;
    socket.send('not json');
    socket.send('{"event": "roomEvent", "data": 5}');
    socket.send(`"${'x'.repeat(2 * 1024 * 1024)}"`);
  });
  const hostileUrl = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}`;
  const { heard, events, waitFor } = listen(t, { nodes: () => [signed(hostileUrl), signed(node.url)], token: () => node.token });
  await waitFor('subscribed at the other node', () => events.connected === node.url);
  assert.equal(connections, 1);
  assert.deepEqual(heard, []);
});

test('a rejected token is retried with backoff, and a new token is used once available', async (t) => {
  const node = await startNode(t);
  let token = 'wrong';
  const { events, waitFor } = listen(t, { nodes: () => [signed(node.url)], token: () => token });
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(events.connected, undefined);
  token = node.token;
  await waitFor('subscribed', () => events.connected !== undefined);
});
