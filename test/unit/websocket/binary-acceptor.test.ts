// Binary acceptor: authentication by the HTTP request, and limits of the sockets.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { WebSocket } from 'ws';
import { ServiceError } from '../../../api/errors.ts';
import { defaultLimits } from '../../../node/signaling/limits.ts';
import {
  BinaryAcceptor,
  type BinaryAcceptorOptions,
  type BinarySocket,
  type UpgradeRequest,
} from '../../../node/websocket/binary-acceptor.ts';
import { silentLog } from '../../kit/silent-log.ts';

/** Accepts the token `good`, and sends frames back. */
async function startAcceptor(t: TestContext, options: Partial<BinaryAcceptorOptions> = {}) {
  const requests: UpgradeRequest[] = [];
  const lost: number[] = [];
  const sockets: BinarySocket[] = [];
  const acceptor = new BinaryAcceptor({
    log: silentLog(),
    limits: { ...defaultLimits, messageBytes: 1_000 },
    checkOrigin: () => ['https://app.example.com'],
    address: () => 'node.example.com',
    authenticate: async (request) => {
      requests.push(request);
      if (!request.url.endsWith('=good')) throw new ServiceError('invalid_token', 'Invalid token');
      return (socket) => {
        sockets.push(socket);
        return { message: (frame) => socket.send(frame), lost: (code) => void lost.push(code) };
      };
    },
    ...options,
  });
  const server = createServer();
  server.on('upgrade', (request, socket, head) => acceptor.handleUpgrade(request, socket, head, '192.0.2.7'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    await acceptor.close();
    server.close();
  });
  return { acceptor, requests, lost, sockets, url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/rtc?access_token=` };
}

async function rejection(url: string, headers: Record<string, string> = {}): Promise<{ status: number; code: string }> {
  const socket = new WebSocket(url, { headers });
  socket.on('error', () => {});
  const [, response] = await once(socket, 'unexpected-response');
  let body = '';
  for await (const chunk of response) body += chunk;
  return { status: response.statusCode, code: JSON.parse(body).code };
}

async function opened(url: string, headers: Record<string, string> = {}): Promise<WebSocket> {
  const socket = new WebSocket(url, { headers });
  await once(socket, 'open');
  return socket;
}

test('a request without a valid token is rejected with the error, and one with a token gets frames back', async (t) => {
  const { url, requests } = await startAcceptor(t);
  assert.deepEqual(await rejection(`${url}bad`), { status: 401, code: 'invalid_token' });
  const socket = await opened(`${url}good`, { authorization: 'Bearer x' });
  socket.send(Buffer.from([1, 2, 3]));
  const [frame, binary] = await once(socket, 'message');
  assert.deepEqual([...(frame as Buffer)], [1, 2, 3]);
  assert.equal(binary, true);
  assert.deepEqual(requests[1], {
    url: '/rtc?access_token=good',
    authorization: 'Bearer x',
    client: { address: '192.0.2.7', forwarded: false, trace: undefined },
  });
});

test('pages of other origins are rejected before authentication', async (t) => {
  const { url, requests } = await startAcceptor(t);
  assert.deepEqual(await rejection(`${url}good`, { origin: 'https://other.example.com' }), { status: 403, code: 'forbidden' });
  assert.deepEqual(requests, []);
});

for (const [name, frame, code] of [
  ['a text frame', 'text', 4400],
  ['a frame above the limit', Buffer.alloc(1_001), 4413],
] as const) {
  test(`${name} closes the socket with ${code}`, async (t) => {
    const { url, lost } = await startAcceptor(t);
    const socket = await opened(`${url}good`);
    socket.send(frame);
    const [closed] = await once(socket, 'close');
    assert.equal(closed, code);
    assert.deepEqual(lost, [code]);
  });
}

test('a network with too many requests in authentication loses its oldest one', async (t) => {
  const waiting: (() => void)[] = [];
  const arrived = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const limits = { ...defaultLimits, unauthenticatedPerNetwork: 1 };
  const { url } = await startAcceptor(t, {
    limits,
    authenticate: () =>
      new Promise((resolve) => {
        waiting.push(() => resolve(() => ({ message: () => {}, lost: () => {} })));
        arrived[waiting.length - 1]?.resolve();
      }),
  });
  const first = new WebSocket(`${url}good`);
  const failed = once(first, 'error');
  await arrived[0].promise;
  const second = opened(`${url}good`);
  await failed;
  await arrived[1].promise;
  for (const proceed of waiting) proceed();
  assert.equal((await second).readyState, WebSocket.OPEN);
});

test('the end of the node closes sockets with 1001 and rejects new ones', async (t) => {
  const { url, acceptor } = await startAcceptor(t);
  const socket = await opened(`${url}good`);
  const closed = once(socket, 'close');
  const ended = acceptor.close();
  assert.equal((await closed)[0], 1001);
  await ended;
  assert.deepEqual(await rejection(`${url}good`), { status: 503, code: 'unavailable' });
});
