// TURN front: PROXY protocol headers, forwarding, and limits for each client network.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { readProxyHeader } from '../../../node/turn/front/proxy-header.ts';
import { type FrontOptions, TurnFront } from '../../../node/turn/front/turn-front.ts';
import { eventually } from '../../kit/eventually.ts';
import { freePort } from '../../kit/network/free-ports.ts';
import { socketClosed } from '../../kit/network/listen.ts';
import { proxyHeader, proxyHeaderV2, startTcpServer } from '../../kit/network/tcp-server.ts';
import { silentLog } from '../../kit/silent-log.ts';

const client = { remoteAddress: '203.0.113.7', remotePort: 50_000, localAddress: '10.0.0.1', localPort: 443 };
const tls = Buffer.from('\x16\x03\x01', 'latin1');

test('a header has the address of the client, and nothing after it is read', () => {
  for (const version of [1, 2] as const) {
    const header = proxyHeader(client, version);
    assert.deepEqual(readProxyHeader(Buffer.concat([header, tls])), { length: header.length, address: '203.0.113.7' });
    for (let length = 0; length < header.length; length += 1) assert.equal(readProxyHeader(header.subarray(0, length)), 'incomplete');
  }
});

test('a header has IPv6 addresses, IPv4 addresses in their IPv6 form, and values of the proxy after them', () => {
  const ports = Buffer.alloc(4);
  const v2 = (address: string, more = Buffer.alloc(0)) =>
    readProxyHeader(proxyHeaderV2(0x21, 0x21, Buffer.concat([Buffer.from(address, 'hex'), Buffer.alloc(16), ports, more])));
  assert.deepEqual(v2('20010db8000000010000000000000007'), { length: 52, address: '2001:db8:0:1:0:0:0:7' });
  assert.deepEqual(v2('00000000000000000000ffffcb007107', Buffer.alloc(7)), { length: 59, address: '203.0.113.7' });
  const line = 'PROXY TCP6 2001:db8:0:1::7 2001:db8::1 50000 443\r\n';
  assert.deepEqual(readProxyHeader(Buffer.from(line)), { length: line.length, address: '2001:db8:0:1::7' });
});

test('connections of the proxy itself have no address', () => {
  assert.deepEqual(readProxyHeader(proxyHeaderV2(0x20, 0x00, Buffer.alloc(0))), { length: 16, address: undefined });
  assert.deepEqual(readProxyHeader(Buffer.from('PROXY UNKNOWN\r\n')), { length: 15, address: undefined });
});

test('anything else is invalid, also a header that never ends', () => {
  const invalid = [
    tls,
    proxyHeaderV2(0x11, 0x11, Buffer.alloc(12)),
    proxyHeaderV2(0x21, 0x12, Buffer.alloc(12)),
    proxyHeaderV2(0x21, 0x11, Buffer.alloc(11)),
    proxyHeaderV2(0x21, 0x11, Buffer.alloc(2033)),
    Buffer.from('PROXY TCP4 2001:db8::7 10.0.0.1 50000 443\r\n'),
    Buffer.from('PROXY TCP4 203.0.113.7 10.0.0.1 50000\r\n'),
    Buffer.from(`PROXY TCP4 ${' '.repeat(200)}`),
  ];
  for (const data of invalid) assert.equal(readProxyHeader(data), 'invalid', data.toString('latin1'));
});

/** A front before a server that sends back what it receives. */
async function startFront(t: TestContext, limits: Partial<FrontOptions> = {}) {
  const target = await startTcpServer(t, (socket) => socket.pipe(socket));
  const listen = { host: '127.0.0.1', port: await freePort() };
  const limited = { maxConnections: 100, maxPerNetwork: 2, headerTimeoutMs: 10_000, ...limits };
  const front = await TurnFront.start({ listen, target: { host: '127.0.0.1', port: target.port }, ...limited }, silentLog());
  t.after(() => front.close());
  const open = (data: Buffer) => {
    const socket = connect(listen);
    t.after(() => socket.destroy());
    socket.on('error', () => {}).write(data);
    return socket;
  };
  return { target, open };
}

const from = (remoteAddress: string) => Buffer.concat([proxyHeader({ ...client, remoteAddress }, 2), tls]);

/** True if the server sends the data of the connection back; false if the connection is closed or reset. */
function isServed(socket: Socket): Promise<boolean> {
  const received = once(socket, 'data').then(
    ([data]) => tls.equals(data),
    () => false,
  );
  return Promise.race([received, socketClosed(socket).then(() => false)]);
}

test('a connection reaches the server without its header, one without a header does not', async (t) => {
  const { open } = await startFront(t);
  assert.equal(await isServed(open(from('203.0.113.7'))), true);
  assert.equal(await isServed(open(tls)), false);
});

test('a connection that sends no header is closed', async (t) => {
  const { open } = await startFront(t, { headerTimeoutMs: 50 });
  assert.equal(await isServed(open(Buffer.from('PROXY '))), false);
});

test('a client network has a bounded number of connections, others are not affected, and closed ones do not count', async (t) => {
  const { open, target } = await startFront(t);
  const first = open(from('203.0.113.7'));
  assert.equal(await isServed(first), true);
  assert.equal(await isServed(open(from('203.0.113.7'))), true);
  assert.equal(await isServed(open(from('203.0.113.7'))), false);
  assert.equal(await isServed(open(from('203.0.113.8'))), true);
  first.destroy();
  await eventually('the connection to be closed', () => target.sockets.size === 2);
  assert.equal(await isServed(open(from('203.0.113.7'))), true);
});
