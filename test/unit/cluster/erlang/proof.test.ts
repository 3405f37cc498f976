// How nodes prove that they know the cookie: for one connection, between two names; and who is not given a proof at all.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { HalfOpen } from '../../../../node/cluster/erlang/handshake/half-open.ts';
import { boundProof, namePacket, nonceBytes, parseNamePacket } from '../../../../node/cluster/erlang/handshake/handshake-packets.ts';
import { startDistNode } from '../../../kit/network/dist-nodes.ts';
import { startRelay } from '../../../kit/network/dist-relay.ts';
import { freePort } from '../../../kit/network/free-ports.ts';
import { RawDistPeer } from '../../../kit/network/raw-dist-peer.ts';

describe('a proof', () => {
  const transcript = { hello: Buffer.from('hello'), answer: Buffer.from('answer'), binding: Buffer.alloc(0) };

  test('is another one for another cookie, side, packet, connection or challenge', () => {
    const proofs = [
      boundProof('cookie', 'dialler', transcript, 1),
      boundProof('cookie', 'acceptor', transcript, 1),
      boundProof('cookiE', 'dialler', transcript, 1),
      boundProof('cookie', 'dialler', transcript, 2),
      boundProof('cookie', 'dialler', { ...transcript, hello: Buffer.from('hell'), answer: Buffer.from('oanswer') }, 1),
      boundProof('cookie', 'dialler', { ...transcript, binding: Buffer.from('x') }, 1),
    ];
    assert.equal(new Set(proofs.map((proof) => proof.toString('hex'))).size, proofs.length);
    assert.ok(proofs.every(({ length }) => length === 16));
  });

  test('needs a nonce behind the name, which nodes of Erlang do not see', () => {
    const name = { flags: 1n, creation: 5, name: 'a@127.0.0.1' };
    const nonce = Buffer.alloc(nonceBytes, 7);
    const whole = namePacket({ ...name, nonce });
    assert.deepEqual(parseNamePacket(whole), { ...name, nonce });
    assert.deepEqual(parseNamePacket(whole.subarray(0, -1)), name);
  });
});

describe('two nodes', () => {
  test('prove it to each other for this connection', async (t) => {
    const epmdPort = await freePort();
    const [a, b] = [await startDistNode(t, 'a', epmdPort), await startDistNode(t, 'b', epmdPort)];
    assert.ok(await a.node.connect(b.node.name));
    for (const { record } of [a, b]) assert.equal((await record.logged('connected to node')).proof, 'bound');
  });

  test('of another cookie do not connect', async (t) => {
    const epmdPort = await freePort();
    const [a, b] = [await startDistNode(t, 'a', epmdPort), await startDistNode(t, 'b', epmdPort, { cookie: 'another' })];
    assert.equal(await a.node.connect(b.node.name), false);
    await b.record.logged('a node with a wrong cookie is refused');
  });

  test('one of them of a version before, which dials: it is taken', async (t) => {
    const { node, record } = await startDistNode(t, 'a', await freePort());
    await (await RawDistPeer.dial(t, node.port)).shakeHands('z@127.0.0.1');
    assert.equal((await record.logged('connected to node')).proof, 'erlang');
  });
});

describe('one without the cookie in the place of a node that is dialled', () => {
  async function startPlace(t: TestContext, erlang: boolean, dialsErlang: boolean) {
    const epmdPort = await freePort();
    const dials = await startDistNode(t, 'dials', epmdPort, { dialsErlang });
    const goal = await startDistNode(t, 'goal', epmdPort, { dialsErlang });
    const next = await startRelay(t, { name: 'gone', wholeName: 'gone@127.0.0.1', target: 'goal', epmdPort, erlang });
    const dialled = dials.node.connect('gone@127.0.0.1');
    return { dials, goal, dialled, relayed: await next() };
  }

  test('is given a proof that no other node takes', async (t) => {
    const { goal, dialled, relayed } = await startPlace(t, false, false);
    assert.deepEqual([relayed.proof?.length, relayed.letIn, goal.node.connections], [21, false, []]);
    await goal.record.logged('a node with a wrong cookie is refused');
    void dialled;
  });

  test('is given none where it says that it knows only that of Erlang, and is left alone then', async (t) => {
    const { dials, dialled, relayed } = await startPlace(t, true, false);
    assert.deepEqual(relayed, { proof: undefined, letIn: false });
    assert.equal(await dialled, false);
    const lines = dials.record.find(
      'a node is not dialled: it knows only the proof of the cookie that others could show elsewhere (SVC_DIST_ERLANG)',
    );
    assert.equal(lines.length, 1);
    assert.equal(await dials.node.connect('gone@127.0.0.1'), false);
  });

  test('is let in by it where Erlang nodes are dialled: that is what the setting is about', async (t) => {
    assert.equal((await startPlace(t, true, true)).relayed.letIn, true);
  });
});

describe('half-open connections', () => {
  test('the oldest of an address makes room, else the oldest of all', async (t) => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const { port } = server.address() as { port: number };
    const open = async (localAddress: string): Promise<Socket> => {
      const dialled = connect({ port, host: '127.0.0.1', localAddress });
      dialled.on('error', () => {});
      const [socket] = (await once(server, 'connection')) as [Socket];
      t.after(() => [dialled, socket].map((each) => each.destroy()));
      return socket;
    };
    const half = new HalfOpen({ all: 3, perAddress: 2 });
    const [a1, a2, a3, b1, c1] = [
      await open('127.0.0.1'),
      await open('127.0.0.1'),
      await open('127.0.0.1'),
      await open('127.0.0.2'),
      await open('127.0.0.3'),
    ];
    for (const socket of [a1, a2, a3, b1, c1]) half.enter(socket);
    assert.deepEqual(
      [a1, a2, a3, b1, c1].map(({ destroyed }) => destroyed),
      [true, true, false, false, false],
    );
    half.leave(a3);
    assert.equal(half.size, 2);
    half.close();
    assert.deepEqual(
      [a3, b1, c1].map(({ destroyed }) => destroyed),
      [false, true, true],
    );
  });
});
