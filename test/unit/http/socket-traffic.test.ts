// Bytes of connections are those that their other ends count.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { test } from 'node:test';
import { SocketTraffic } from '../../../node/http/socket-traffic.ts';

test('bytes of living and of closed connections are counted once each', async (t) => {
  const traffic = new SocketTraffic();
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (data) => socket.write(Buffer.alloc(data.length * 2)));
  });
  traffic.watch(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  for (const round of [1, 2, 3]) {
    const client = connect(port, '127.0.0.1');
    client.write(Buffer.alloc(100));
    while (client.bytesRead < 200) await once(client, 'data');
    assert.deepEqual(traffic.read(), { received: 100 * round, sent: 200 * round });
    client.destroy();
    while ((await new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)))) > 0) await setImmediatePromise();
    assert.deepEqual(traffic.read(), { received: 100 * round, sent: 200 * round });
  }
});

function setImmediatePromise(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
