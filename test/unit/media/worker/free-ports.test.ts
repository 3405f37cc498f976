// Free ports: search for consecutive ports.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { findFreePortRange, isPortFree } from '../../../../node/media/worker/free-ports.ts';
import { freePort } from '../../../kit/network/free-ports.ts';
import { listen } from '../../../kit/network/listen.ts';

const except = (...taken: number[]) => {
  return (_ip: string, port: number) => Promise.resolve(!taken.includes(port));
};

test('the first block of free ports is selected', async () => {
  assert.equal(await findFreePortRange('::1', 3, 50_000, except()), 50_000);
  assert.equal(await findFreePortRange('::1', 3, 50_000, except(50_000)), 50_001);
  assert.equal(await findFreePortRange('::1', 3, 50_000, except(50_002, 50_004, 50_005)), 50_006);
  assert.equal(await findFreePortRange('::1', 1, 50_000, except(50_000, 50_001)), 50_002);
});

test('a block does not exceed the last port', async () => {
  assert.equal(await findFreePortRange('::1', 2, 65_534, except()), 65_534);
  assert.equal(await findFreePortRange('::1', 3, 65_534, except()), undefined);
});

test('a port is free if neither UDP nor TCP is in use', async (t) => {
  const tcp = await listen(t, createServer());
  assert.equal(await isPortFree('127.0.0.1', tcp), false);
  const socket = createSocket('udp4');
  // Reserved by the kit for UDP and TCP, so that no other process gets it when it is released.
  const udp = await freePort();
  socket.bind(udp, '127.0.0.1');
  await once(socket, 'listening');
  assert.equal(await isPortFree('127.0.0.1', udp), false);
  await new Promise<void>((resolve) => socket.close(resolve));
  assert.equal(await isPortFree('127.0.0.1', udp), true);
});

test('an address that is not local is an error, not a port in use', async () => {
  await assert.rejects(isPortFree('192.0.2.1', 50_000), { code: 'EADDRNOTAVAIL' });
});
