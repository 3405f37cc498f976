// SIP transport: failover between addresses, keep-alives, and reconnection.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { SipTransportAdapter } from '../../../../node/components/sip/wire/node-transport.ts';
import type { SipTarget } from '../../../../node/components/sip/wire/server-location.ts';
import { emits, eventually } from '../../../kit/eventually.ts';
import { freePort } from '../../../kit/network/free-ports.ts';
import { listen } from '../../../kit/network/listen.ts';

type Server = { target: SipTarget; next: () => Promise<Socket> };

async function serve(t: TestContext): Promise<Server> {
  const server = createServer();
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  const target: SipTarget = { transport: 'TCP', ip: '127.0.0.1', port: await listen(t, server) };
  let taken = 0;
  const next = async () => {
    const socket = await eventually('a connection', () => sockets[taken], { wakes: emits(server, 'connection') });
    taken += 1;
    return socket;
  };
  return { target, next };
}

function transportTo(t: TestContext, targets: () => SipTarget[], allowPrivate = true): SipTransportAdapter {
  const transport = new SipTransportAdapter(undefined, {
    ...{ registrar: { host: 'sip.example' }, announcedIp: '192.0.2.1', ports: { min: 20_000, max: 20_000 }, ca: undefined },
    allowPrivate,
    onFault: (error) => assert.fail(String(error)),
    find: async () => targets(),
  });
  t.after(() => transport.dispose());
  return transport;
}

const bye =
  'BYE sip:a@b SIP/2.0\r\nVia: SIP/2.0/TCP 192.0.2.1;branch=z9hG4bK1;rport\r\nFrom: <sip:a@b>;tag=1\r\nTo: <sip:c@d>\r\nCall-ID: 1\r\nCSeq: 1 BYE\r\nContent-Length: 0\r\n\r\n';

test('an unreachable and an unresponsive address fail over to the next, and the last one to the first', async (t) => {
  const dead = await freePort();
  const [one, two] = [await serve(t), await serve(t)];
  const transport = transportTo(t, () => [{ ...one.target, port: dead }, one.target, two.target]);
  await transport.connect();
  assert.deepEqual(transport.target, one.target);
  transport.failOver();
  await transport.connect();
  assert.deepEqual(transport.target, two.target);
  transport.failOver();
  await transport.connect();
  assert.deepEqual(transport.target, one.target);
});

test('a registrar with private addresses only is rejected if these are forbidden', async (t) => {
  const one = await serve(t);
  const forbidden = transportTo(t, () => [one.target, { ...one.target, ip: '::ffff:127.0.0.1' }], false);
  await assert.rejects(forbidden.connect(), { message: 'sip.example is or resolves to a private address, which is forbidden' });
  assert.equal(forbidden.target, undefined);
});

test('if no address is reachable, connecting fails with the last error', async (t) => {
  const dead = await freePort();
  const transport = transportTo(t, () => [{ transport: 'TCP', ip: '127.0.0.1', port: dead }]);
  await assert.rejects(transport.connect(), /ECONNREFUSED/);
  assert.equal(transport.isConnected(), false);
  await assert.rejects(transport.send(bye), /not connected/);
});

test('requests have the local address and port, pings are answered, and a lost connection is reported', async (t) => {
  const server = await serve(t);
  const transport = transportTo(t, () => [server.target]);
  const lost = Promise.withResolvers<Error | undefined>();
  transport.onDisconnect = (error) => lost.resolve(error);
  await transport.connect();
  const socket = await server.next();
  await transport.send(bye);
  const [request] = (await once(socket, 'data')) as [Buffer];
  assert.match(request.toString(), new RegExp(`^Via: SIP/2\\.0/TCP 192\\.0\\.2\\.1:${transport.localPort};branch=z9hG4bK1;rport\r$`, 'm'));
  const heard: string[] = [];
  const answered = Promise.withResolvers<void>();
  transport.onMessage = (message) => {
    heard.push(message);
    answered.resolve();
  };
  const lines = request.toString().split('\r\n').slice(1);
  // The response to another client arrives first.
  socket.write(`SIP/2.0 200 OK\r\n${lines.join('\r\n').replace('192.0.2.1', '192.0.2.9')}SIP/2.0 200 OK\r\n${lines.join('\r\n')}`);
  await answered.promise;
  assert.equal(heard.length, 1);
  assert.match(heard[0] ?? '', /^Via: SIP\/2\.0\/TCP 192\.0\.2\.1;branch=z9hG4bK1\r$/m);
  socket.write('\r\n\r\n');
  const [pong] = (await once(socket, 'data')) as [Buffer];
  assert.equal(pong.toString(), '\r\n');
  socket.write('this is no SIP\r\n\r\n');
  assert.match((await lost.promise)?.message ?? '', /has no valid Content-Length/);
  assert.equal(transport.isConnected(), false);
  await transport.connect();
  await server.next();
});
