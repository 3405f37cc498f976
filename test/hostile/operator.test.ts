// A man in the middle between operator and nodes: clients of the operator, real nodes, and a relay that records everything.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { TestContext } from 'node:test';
import { NodeClient } from '../../operator/nodes/node-client.ts';
import { NodeError } from '../../operator/nodes/node-error.ts';
import { NodeEvents } from '../../operator/nodes/node-events.ts';
import { roomRequest as room } from '../kit/fakes/room-request.ts';
import { freePort } from '../kit/network/free-ports.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { startWiretap } from '../kit/network/wiretap.ts';
import { startNodeProcess } from '../kit/processes/node-process.ts';
import { apiToken } from '../kit/processes/start-node.ts';
import { silentLog } from '../kit/silent-log.ts';
import { attack } from './attack.ts';
import { attacks } from './operator.attacks.ts';

const token = () => apiToken;

/** A node whose address is that of the relay. */
async function startTapped(t: TestContext) {
  const port = await freePort();
  const tap = await startWiretap(t, port);
  const node = await startNodeProcess(t, { SVC_PORT: String(port), SVC_INTERNAL_ADDRESS: `127.0.0.1:${tap.port}` });
  return { node, tap, url: `http://127.0.0.1:${tap.port}` };
}

/** Status of the response to replayed bytes. */
async function repeat(port: number, request: string): Promise<number> {
  const socket = connect(port, '127.0.0.1');
  socket.write(request, 'latin1');
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return Number(/^HTTP\/1\.1 (\d+) /.exec(answer.toString('latin1'))?.[1]);
}

attack(attacks.eavesdropper, async (t) => {
  const { node, tap, url } = await startTapped(t);
  const other = await startNodeProcess(t);
  const operator = new NodeClient({ url, signed: true, token });
  const stop = new AbortController();
  const heard = new EventTarget();
  const deleted: string[] = [];
  const listening = new NodeEvents({
    nodes: () => [{ url, signed: true }],
    token,
    types: ['RoomDeleted'],
    onEvent: ({ roomId }) => {
      deleted.push(roomId);
      heard.dispatchEvent(new Event('event'));
    },
    onGap: () => heard.dispatchEvent(new Event('subscribed')),
    log: silentLog(),
  });
  const subscribed = once(heard, 'subscribed');
  const running = listening.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await running;
  });
  await subscribed;
  const reported = once(heard, 'event');
  const [itself] = await operator.clusterNodes();
  await operator.drain(itself?.name ?? '', 60);
  await operator.cancelDrain(itself?.name ?? '');
  await operator.createRoom(room);
  await operator.patchRoom('r', { maxPeers: 3 });
  await operator.deleteRoom('r');
  await reported;
  assert.deepEqual(deleted, ['r']);
  // Recreated by another client: operations on the previous room must not affect it.
  const { api } = node;
  await api.post('/room', { roomId: 'r', maxPeers: 5 });

  const requests = tap.requests().filter((request) => !/^upgrade:/im.test(request));
  assert.deepEqual(requests.map((request) => request.split(' ', 1)[0]).sort(), ['DELETE', 'DELETE', 'GET', 'PATCH', 'POST', 'POST']);
  const frames = tap.frames();
  for (const said of [...tap.requests(), ...frames]) assert.ok(!said.includes(apiToken), said);
  for (const request of requests) {
    assert.match(request, /^authorization: Mediarooms-Signature v1\./im);
    assert.equal(await repeat(node.port, request), 401, request);
    assert.equal(await repeat(other.port, request), 401, request);
    assert.equal(await repeat(node.port, request.replace(/^\w+ \S+/, 'DELETE /room/r')), 401, request);
  }
  const signature: string = JSON.parse(frames[0] ?? '').data.token;
  assert.match(signature, /^Mediarooms-Signature v1\./);
  for (const { url: at } of [node, other]) {
    const socket = await PeerSocket.enter(`${at.replace('http', 'ws')}/socket/server/websocket`, signature);
    assert.equal(socket.welcome.ok, false);
    assert.equal((await socket.closed).code, 4401);
  }
  assert.deepEqual((await api.get('/room/r')).body.data.config.maxPeers, 5);
  assert.equal((await api.get('/cluster/nodes')).body.data[0].state, 'accepting');
  assert.equal((await other.api.get('/room')).body.data.length, 0);
  // The operator is not locked out.
  assert.equal((await operator.room('r')).config.maxPeers, 5);
  assert.equal(listening.connected, url);
});

attack(attacks.downgrade, async (t) => {
  const said: string[] = [];
  const server = createServer((request, response) => {
    said.push(JSON.stringify(request.headers));
    request.on('data', (chunk: Buffer) => said.push(chunk.toString()));
    response.writeHead(401, { 'www-authenticate': 'Bearer realm="mediarooms"' });
    response.end('{"errors": "Missing token", "code": "missing_token"}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const operator = new NodeClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, signed: true, token });
  for (const call of [() => operator.health(), () => operator.createRoom(room), () => operator.health()])
    await assert.rejects(call(), (error: unknown) => error instanceof NodeError && /does not support signed requests/.test(error.message));
  assert.equal(said.length, 4);
  assert.ok(!said.join('').includes(apiToken));
});
