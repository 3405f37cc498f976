// Cookie proofs between nodes: bound to one connection and two names, and not given to every node.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { HalfOpen } from '../../../../node/cluster/erlang/handshake/half-open.ts';
import { boundProof, namePacket, nonceBytes, parseNamePacket } from '../../../../node/cluster/erlang/handshake/handshake-packets.ts';
import { fieldsOf } from '../../../kit/fields.ts';
import { startDistNode } from '../../../kit/network/dist-nodes.ts';
import { startRelay } from '../../../kit/network/dist-relay.ts';
import { freePort } from '../../../kit/network/free-ports.ts';
import { listen } from '../../../kit/network/listen.ts';
import { RawDistPeer } from '../../../kit/network/raw-dist-peer.ts';

describe('a proof', () => {
  const transcript = { hello: Buffer.from('hello'), answer: Buffer.from('answer'), binding: Buffer.alloc(0) };

  test('a proof differs by cookie, side, packet, connection and challenge', () => {
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

  test('a proof needs a nonce after the name, which Erlang nodes ignore', () => {
    const name = { flags: 1n, creation: 5, name: 'a@127.0.0.1' };
    const nonce = Buffer.alloc(nonceBytes, 7);
    const whole = namePacket({ ...name, nonce });
    assert.deepEqual(parseNamePacket(whole), { ...name, nonce });
    assert.deepEqual(parseNamePacket(whole.subarray(0, -1)), name);
  });
});

describe('two Erlang nodes', () => {
  test('prove the cookie for this connection', async (t) => {
    const epmdPort = await freePort();
    const [a, b] = [await startDistNode(t, 'a', epmdPort), await startDistNode(t, 'b', epmdPort)];
    assert.ok(await a.node.connect(b.node.name));
    for (const { record } of [a, b]) assert.equal((await record.logged('connected to node')).proof, 'bound');
  });

  test('connect if the dialing one has a previous version', async (t) => {
    const { node, record } = await startDistNode(t, 'a', await freePort());
    await (await RawDistPeer.dial(t, node.port)).shakeHands('z@127.0.0.1');
    assert.equal((await record.logged('connected to node')).proof, 'erlang');
  });
});

describe('a process without the cookie at the address of a dialed node', () => {
  async function startPlace(t: TestContext, erlang: boolean, dialsErlang: boolean) {
    const epmdPort = await freePort();
    const dials = await startDistNode(t, 'dials', epmdPort, { dialsErlang });
    const goal = await startDistNode(t, 'goal', epmdPort, { dialsErlang });
    const next = await startRelay(t, { name: 'gone', wholeName: 'gone@127.0.0.1', target: 'goal', epmdPort, erlang });
    const dialled = dials.node.connect('gone@127.0.0.1');
    return { dials, goal, dialled, relayed: await next() };
  }

  test('receives a proof that no other node accepts', async (t) => {
    const { goal, dialled, relayed } = await startPlace(t, false, false);
    assert.deepEqual([relayed.proof?.length, relayed.letIn, goal.node.connections], [21, false, []]);
    await goal.record.logged('node rejected: wrong cookie');
    void dialled;
  });

  test('receives no proof if it claims to support only that of Erlang, and is then not dialed', async (t) => {
    const { dials, dialled, relayed } = await startPlace(t, true, false);
    assert.deepEqual(relayed, { proof: undefined, letIn: false });
    assert.equal(await dialled, false);
    const lines = dials.record.find('node not dialed: only supports the Erlang cookie proof (SVC_DIST_ERLANG)');
    assert.equal(lines.length, 1);
    assert.equal(await dials.node.connect('gone@127.0.0.1'), false);
  });

  test('connects with it if Erlang nodes are dialed, which is the purpose of the setting', async (t) => {
    assert.equal((await startPlace(t, true, true)).relayed.letIn, true);
  });
});

describe('half-open connections', () => {
  test('the oldest of the same address is closed, else the oldest of all', async (t) => {
    const server = createServer();
    const port = await listen(t, server);
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
    assert.deepEqual(fieldsOf([a1, a2, a3, b1, c1], 'destroyed'), [true, true, false, false, false]);
    half.leave(a3);
    assert.equal(half.size, 2);
    half.close();
    assert.deepEqual(fieldsOf([a3, b1, c1], 'destroyed'), [false, true, true]);
  });
});
