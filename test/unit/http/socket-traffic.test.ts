// Socket traffic: byte counts match those of the remote sockets.
import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { SocketByteCounter } from '../../../node/http/socket-traffic.ts';
import { emits, eventually } from '../../kit/eventually.ts';
import { listen } from '../../kit/network/listen.ts';

test('bytes of open and of closed connections are counted once each', async (t) => {
  const traffic = new SocketByteCounter();
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (data) => socket.write(Buffer.alloc(data.length * 2)));
  });
  traffic.watch(server);
  const port = await listen(t, server);
  const connections = promisify(server.getConnections.bind(server));
  for (const round of [1, 2, 3]) {
    const client = connect(port, '127.0.0.1');
    client.write(Buffer.alloc(100));
    await eventually('the response', () => client.bytesRead >= 200, { wakes: emits(client, 'data') });
    assert.deepEqual(traffic.read(), { received: 100 * round, sent: 200 * round });
    client.destroy();
    await eventually('no connection', async () => (await connections()) === 0);
    assert.deepEqual(traffic.read(), { received: 100 * round, sent: 200 * round });
  }
});
