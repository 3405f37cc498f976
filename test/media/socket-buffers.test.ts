// UDP socket buffers of workers: a stopped worker loses no packets for a while, and the log reports small buffers.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { buffersGiven, tellSmallBuffers, wantedBuffer } from '../../node/media/worker/socket-buffers.ts';
import { recordedLog } from '../kit/recorded-log.ts';
import { engineFor } from './kit.ts';

/** Packets that the kernel dropped at the UDP socket of 127.0.0.1 with this port: the last column of /proc/net/udp. */
function dropsAt(port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = readFileSync('/proc/net/udp', 'utf8').split('\n');
  const fields = lines.map((line) => line.trim().split(/\s+/)).find(([, address]) => address?.endsWith(local));
  assert.ok(fields, `no socket at port ${port}`);
  return Number(fields.at(-1));
}

test('a stopped worker loses none of 1,900 packets within a second', async (t) => {
  const mediaWorkerPool = await engineFor(t);
  const [worker] = mediaWorkerPool.workers();
  assert.ok(worker?.pid !== undefined && worker.port !== undefined);
  const { pid, port } = worker;
  const { receive } = await buffersGiven();
  const count = Math.floor((1_900 * receive) / wantedBuffer);
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  t.after(() => socket.close());
  await once(socket, 'listening');
  const packet = Buffer.alloc(1_200, 0x80);
  process.kill(pid, 'SIGSTOP');
  try {
    for (let sent = 0; sent < count; sent += 1) await new Promise((resolve) => socket.send(packet, port, '127.0.0.1', resolve));
    assert.equal(dropsAt(port), 0);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  assert.ok(count >= 95, `${count} packets: 50 ms of them fit whatever the kernel gives`);
});

test('if the kernel grants less, one log line has the size and the sysctl', async () => {
  const { log, lines } = recordedLog();
  await tellSmallBuffers(log, async () => ({ receive: 212_992, send: wantedBuffer }));
  await tellSmallBuffers(log, async () => ({ receive: wantedBuffer, send: wantedBuffer }));
  assert.deepEqual(lines, [
    {
      level: 'warn',
      receive: 212_992,
      send: wantedBuffer,
      sysctl: 'net.core.rmem_max=4194304 net.core.wmem_max=4194304',
      msg: 'UDP socket buffers are small',
    },
  ]);
});
