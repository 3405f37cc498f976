// Peer websocket proxy with binary frames: a websocket that its query authenticates.
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { type WebSocket, WebSocketServer } from 'ws';
import { NodeTokens } from '../../../../node/cluster/proxy/node-tokens.ts';
import { PeerSocketProxy } from '../../../../node/cluster/proxy/peer-socket-proxy.ts';
import type { ProxiedSocket } from '../../../../node/rooms/proxied-socket.ts';
import { listen } from '../../../kit/network/listen.ts';
import { silentLog } from '../../../kit/silent-log.ts';

test('binary frames pass in both directions through a websocket that its query authenticates', async (t) => {
  const queries: string[] = [];
  const owner = createServer();
  const server = new WebSocketServer({ server: owner });
  server.on('connection', (socket: WebSocket, request: IncomingMessage) => {
    queries.push(request.url ?? '');
    socket.on('message', (data, binary) => {
      socket.send('text is ignored');
      socket.send(data, { binary });
    });
  });
  const port = await listen(t, owner);
  t.after(() => server.close());
  const target = { name: 'svc@owner', internalAddress: `127.0.0.1:${port}`, address: 'a.example', tls: false };
  const tokens = new NodeTokens({ links: { self: 'svc@wrong', cast: () => {} }, secrets: ['a secret of the tests'], cookie: 'unused' });
  const proxy = new PeerSocketProxy({ log: silentLog(), tokens, locate: () => target });
  t.after(() => proxy.close());
  const path = '/rtc?access_token=t';
  const received = Promise.withResolvers<string | Buffer>();
  const socket = new FakeBinarySocket(path, (frame) => received.resolve(frame));
  assert.equal(await proxy.forward('room', socket), true);
  socket.listener?.message(Buffer.from([0, 255, 1]));
  assert.deepEqual([...(await received.promise)], [0, 255, 1]);
  assert.deepEqual(queries, [path]);
  socket.leave();
});

/** A client with binary frames, without a network. */
class FakeBinarySocket implements ProxiedSocket {
  readonly path: string;
  readonly binary = true;
  readonly first = undefined;
  readonly address = '192.0.2.7';
  readonly bufferedBytes = 0;
  readonly send: (frame: string | Buffer) => void;
  readonly closed: Promise<void>;
  leave: () => void = () => {};
  listener: Parameters<ProxiedSocket['listen']>[0] | undefined;

  constructor(path: string, send: (frame: string | Buffer) => void) {
    this.path = path;
    this.send = send;
    this.closed = new Promise((resolve) => {
      this.leave = resolve;
    });
  }

  listen(listener: Parameters<ProxiedSocket['listen']>[0]): void {
    this.listener = listener;
  }

  ping(): void {}

  async drained(): Promise<void> {}

  pause(): void {}

  resume(): void {}

  close(): void {
    this.leave();
  }
}
