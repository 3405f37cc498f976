// EPMD over real sockets: the server, and its replacement after a loss.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { EpmdService } from '../../../../../node/cluster/erlang/epmd/epmd.ts';
import { findNode, listNodes, NameTakenError, registerNode } from '../../../../../node/cluster/erlang/epmd/epmd-client.ts';
import { EpmdServer, epmdServerLimits } from '../../../../../node/cluster/erlang/epmd/epmd-server.ts';
import { eventually } from '../../../../kit/eventually.ts';
import { LogRecorder } from '../../../../kit/network/dist-nodes.ts';
import { freePort } from '../../../../kit/network/free-ports.ts';
import { listen, socketClosed } from '../../../../kit/network/listen.ts';
import { silentLog } from '../../../../kit/silent-log.ts';

async function startServer(t: TestContext, limits = epmdServerLimits, ip: string | null = '127.0.0.1'): Promise<EpmdServer> {
  const server = new EpmdServer(silentLog(), limits);
  await server.listen(ip, 0);
  t.after(() => server.close());
  return server;
}

async function startService(t: TestContext, port: number, name: string | null): Promise<{ service: EpmdService; record: LogRecorder }> {
  const record = new LogRecorder();
  const node = name === null ? null : { name, port: 9000 };
  const service = await EpmdService.start({ ip: '127.0.0.1', port, node, log: record.log });
  t.after(() => service.close());
  return { service, record };
}

async function open(t: TestContext, port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** All data until the remote closes. */
async function answerTo(t: TestContext, port: number, bytes: Buffer): Promise<string> {
  const socket = await open(t, port);
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
  socket.write(bytes);
  await socketClosed(socket);
  return answer;
}

describe('EPMD server', () => {
  test('keeps a name while its registering connection is open', async (t) => {
    const { port, names } = await startServer(t);
    assert.deepEqual(names, []);
    const address = { host: '127.0.0.1', port };
    const registration = await registerNode(address, { name: 'svc', port: 9000 });
    const found = await findNode(address, 'svc');
    assert.equal(found?.entry.port, 9000);
    assert.equal(found?.host, '127.0.0.1');
    assert.deepEqual(await listNodes(address), [{ name: 'svc', port: 9000 }]);
    registration.close();
    await eventually('the name is free', async () => (await findNode(address, 'svc')) === undefined, { every: 10 });
  });

  test('gives every registration a different creation and rejects a name twice', async (t) => {
    const { port } = await startServer(t);
    const address = { host: '127.0.0.1', port };
    const first = await registerNode(address, { name: 'svc', port: 9000 });
    await assert.rejects(registerNode(address, { name: 'svc', port: 9001 }), NameTakenError);
    first.close();
    await first.closed;
    await eventually('no registered name', async () => (await listNodes(address)).length === 0, { every: 10 });
    const second = await registerNode(address, { name: 'svc', port: 9000 });
    t.after(() => second.close());
    assert.notEqual(second.creation, first.creation);
    assert.ok(second.creation > 3);
  });

  test('responds over IPv6 too if it listens on all addresses', async (t) => {
    const { port } = await startServer(t, epmdServerLimits, null);
    for (const host of ['127.0.0.1', '::1']) assert.deepEqual(await listNodes({ host, port }), []);
  });

  test('responds NO to kill, and ignores stop and dump', async (t) => {
    const { port } = await startServer(t);
    assert.equal(await answerTo(t, port, Buffer.from('\0\x01k')), 'NO');
    assert.equal(await answerTo(t, port, Buffer.from('\0\x04ssvc')), '');
    assert.equal(await answerTo(t, port, Buffer.from('\0\x01d')), '');
    assert.deepEqual(await listNodes({ host: '127.0.0.1', port }), []);
  });

  test('closes connections with invalid, oversized or missing requests', async (t) => {
    const { port } = await startServer(t, { ...epmdServerLimits, requestTimeoutMs: 200 });
    for (const wrong of ['GET / HTTP/1.1\r\n\r\n', '\xff\xff', '\0\0', '\0\x01z', '\0'])
      assert.equal(await answerTo(t, port, Buffer.from(wrong, 'latin1')), '', wrong);
    assert.deepEqual(await listNodes({ host: '127.0.0.1', port }), []);
  });

  test('limits its connections and accepts new ones after others closed', async (t) => {
    const { port } = await startServer(t, { ...epmdServerLimits, connections: 2, requestTimeoutMs: 2_000 });
    const [first] = await Promise.all([open(t, port), open(t, port)]);
    await assert.rejects(listNodes({ host: '127.0.0.1', port }));
    await socketClosed(first);
    await eventually('a log line', () =>
      listNodes({ host: '127.0.0.1', port }).then(
        () => true,
        () => false,
      ),
    );
  });
});

describe('EPMD service', () => {
  test('one of several nodes serves all, and after its loss another one takes over and all register again', async (t) => {
    const port = await freePort();
    const nodes = [await startService(t, port, 'a'), await startService(t, port, 'b'), await startService(t, port, 'c')];
    const address = { host: '127.0.0.1', port };
    const names = async () => (await listNodes(address).catch(() => [])).map(({ name }) => name).sort();
    assert.deepEqual(
      nodes.map(({ service }) => service.serving),
      [true, false, false],
    );
    assert.deepEqual(await names(), ['a', 'b', 'c']);
    const creations = nodes.map(({ service }) => service.creation);
    assert.equal(new Set(creations).size, 3);
    await nodes[0]?.service.close();
    await eventually('two registered names', async () => (await names()).join() === 'b,c', { every: 10 });
    assert.equal(nodes.filter(({ service }) => service.serving).length, 1);
    assert.deepEqual(
      nodes.map(({ service }) => service.creation),
      creations,
    );
    assert.equal(nodes[1]?.record.find('lost connection to EPMD').length, 1);
    const last = nodes.findIndex(({ service }) => service.serving);
    await nodes[last]?.service.close();
    await eventually('one registered name', async () => (await names()).join() === (last === 1 ? 'c' : 'b'));
  });

  test('exactly one of several nodes that start together serves', async (t) => {
    const port = await freePort();
    const nodes = await Promise.all(['a', 'b', 'c', 'd'].map((name) => startService(t, port, name)));
    assert.equal(nodes.filter(({ service }) => service.serving).length, 1);
    assert.equal((await listNodes({ host: '127.0.0.1', port })).length, 4);
  });

  test('reports a port used by another server, and registers once the port is free', async (t) => {
    const other = createServer((socket) =>
      socket
        .on('error', () => {})
        .resume()
        .end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    );
    const port = await listen(t, other);
    const { service, record } = await startService(t, port, 'a');
    assert.equal(service.registered, false);
    assert.ok(service.creation > 3);
    const { creation } = service;
    assert.equal(record.find(`port ${port} is in use by a server that is not EPMD`).length, 1);
    await new Promise((resolve) => other.close(resolve));
    await eventually('a registration', () => service.registered, { every: 10 });
    assert.equal(service.creation, creation);
  });

  test('reports an EPMD that does not respond, for example because its process is stopped', async (t) => {
    const silent = createServer((socket) => socket.on('error', () => {}).once('data', () => t.mock.timers.runAll()));
    const port = await listen(t, silent);
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { service, record } = await startService(t, port, 'a');
    t.mock.timers.reset();
    assert.equal(service.registered, false);
    assert.equal(record.find('EPMD did not respond').length, 1);
  });

  test('does not start under a name that another node of the host has', async (t) => {
    const port = await freePort();
    await startService(t, port, 'a');
    await assert.rejects(startService(t, port, 'a'), /Another node is registered as a at the EPMD of this host/);
  });

  test('serves other nodes without registering a node', async (t) => {
    const port = await freePort();
    const { service } = await startService(t, port, null);
    assert.ok(service.serving);
    const { service: other } = await startService(t, port, 'b');
    assert.ok(other.registered && !other.serving);
  });

  test('stops completely if closed while it waits', async (t) => {
    const port = await freePort();
    const { service } = await startService(t, port, 'a');
    const { service: second } = await startService(t, port, 'b');
    await Promise.all([service.close(), second.close()]);
    await assert.rejects(listNodes({ host: '127.0.0.1', port }), /ECONNREFUSED/);
  });
});
