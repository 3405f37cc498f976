// Erlang nodes with each other over real sockets: handshakes, calls, node loss, and hostile peers.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { CallError, type CallFailure } from '../../../../node/cluster/erlang/calls.ts';
import { registerNode } from '../../../../node/cluster/erlang/epmd/epmd-client.ts';
import { ownFlags } from '../../../../node/cluster/erlang/handshake/flags.ts';
import { cookieDigest, parseChallengePacket, replyPacket } from '../../../../node/cluster/erlang/handshake/handshake-packets.ts';
import { atom, tuple } from '../../../../node/cluster/erlang/terms/terms.ts';
import { eventually } from '../../../kit/eventually.ts';
import { connectedTo, startDistNode, type TestNode, testCookie } from '../../../kit/network/dist-nodes.ts';
import { freePort } from '../../../kit/network/free-ports.ts';
import { listen, socketClosed } from '../../../kit/network/listen.ts';
import { RawDistPeer } from '../../../kit/network/raw-dist-peer.ts';
import { holdUp } from '../../../kit/pace.ts';
import { assertPrompt, stopwatch } from '../../../kit/promised-time.ts';

async function startPair(t: TestContext, options = {}): Promise<{ a: TestNode; b: TestNode }> {
  const epmdPort = await freePort();
  const a = await startDistNode(t, 'a', epmdPort, options);
  const b = await startDistNode(t, 'b', epmdPort, options);
  return { a, b };
}

function failsWith(reason: CallFailure) {
  return (error: unknown) => error instanceof CallError && error.reason === reason;
}

describe('two Erlang nodes', () => {
  test('connect, call each other and log it', async (t) => {
    const { a, b } = await startPair(t);
    b.node.register('svc', { call: async (request, node) => tuple(atom('ok'), request, node) });
    assert.deepEqual(await Promise.all([a.node.connect(b.node.name), a.node.connect(b.node.name)]), [true, true]);
    const answer = await a.node.call(b.node.name, 'svc', 'hello', 30_000);
    assert.deepEqual(answer, tuple(atom('ok'), Buffer.from('hello'), Buffer.from(a.node.name)));
    assert.deepEqual((await b.record.logged('connected to node')).node, a.node.name);
    assert.equal(a.record.find('connected to node').length, 1);
    assert.equal(a.node.waitingCalls, 0);
  });

  test('send plain messages and casts, and survive errors of handlers', async (t) => {
    const { a, b } = await startPair(t);
    const got: string[] = [];
    const done = Promise.withResolvers<void>();
    b.node.register('svc', {
      info: () => {
        got.push('info');
        throw new Error('a fault of the test');
      },
      cast: () => {
        got.push('cast');
        done.resolve();
      },
    });
    await a.node.connect(b.node.name);
    assert.ok(a.node.send(b.node.name, 'unknown', 'x'));
    assert.ok(a.node.send(b.node.name, 'svc', 'x'));
    assert.ok(a.node.cast(b.node.name, 'svc', 'x'));
    await done.promise;
    assert.deepEqual(got, ['info', 'cast']);
    assert.equal(a.node.send('c@127.0.0.1', 'svc', 'x'), false);
  });

  test('deliver messages that were sent in the turn in which the sender closed', async (t) => {
    const { a, b } = await startPair(t);
    const heard = Promise.withResolvers<string>();
    b.node.register('svc', { call: () => atom('ok'), cast: (request) => heard.resolve(String(request)) });
    await a.node.connect(b.node.name);
    await a.node.call(b.node.name, 'svc', 'x', 30_000);
    const ended = once(b.node, 'nodeDown').then(() => heard.reject(new Error('it closed without sending the message')));
    assert.ok(a.node.cast(b.node.name, 'svc', 'farewell'));
    await a.node.close();
    assert.equal(await heard.promise, 'farewell');
    await ended;
  });

  test('answer failing calls with the reason, and leave none pending', async (t) => {
    const { a, b } = await startPair(t);
    b.node.register('svc', {
      call: (request) => {
        if (String(request) === 'throw') throw new Error('a fault of the test');
        return String(request) === 'reject' ? Promise.reject(new Error('a fault of the test')) : new Promise(() => {});
      },
    });
    const { name } = b.node;
    await assert.rejects(a.node.call(name, 'svc', 'x', 30_000), failsWith('noconnection'));
    await a.node.connect(name);
    await assert.rejects(a.node.call(name, 'unknown', 'x', 30_000), failsWith('noproc'));
    await assert.rejects(a.node.call(name, 'svc', 'throw', 30_000), failsWith('failed'));
    await assert.rejects(a.node.call(name, 'svc', 'reject', 30_000), failsWith('failed'));
    await assert.rejects(a.node.call(name, 'svc', 'x', 50), failsWith('timeout'));
    await assert.rejects(a.node.call(name, 'svc', 1.5, 50), TypeError);
    const waits = a.node.call(name, 'svc', 'x', 10_000);
    await Promise.all([assert.rejects(waits, failsWith('noconnection')), b.node.close()]);
    assert.equal(a.node.waitingCalls, 0);
  });

  test('complete a call even if the caller was paused for longer than the timeout', async (t) => {
    const { a, b } = await startPair(t);
    b.node.register('svc', { call: (request) => request });
    await a.node.connect(b.node.name);
    const answer = a.node.call(b.node.name, 'svc', 'x', 2_000);
    holdUp(2_100);
    assert.equal(String(await answer), 'x');
  });

  test('report a lost connection with its reason, and can reconnect', async (t) => {
    const { a, b } = await startPair(t);
    await a.node.connect(b.node.name);
    await connectedTo(b.node, [a.node.name]);
    const down = once(b.node, 'nodeDown');
    a.node.disconnect(b.node.name);
    assert.deepEqual(await down, [a.node.name, 'connection_closed']);
    assert.equal((await b.record.logged('lost connection to node')).reason, 'connection_closed');
    assert.deepEqual(a.node.connections, []);
    assert.ok(await a.node.connect(b.node.name));
  });

  test('that dial each other simultaneously always end up with one connection', async (t) => {
    const { a, b } = await startPair(t);
    for (let round = 0; round < 30; round += 1) {
      const both = await Promise.all([a.node.connect(b.node.name), b.node.connect(a.node.name)]);
      assert.deepEqual(both, [true, true]);
      assert.deepEqual([a.node.connections, b.node.connections], [[b.node.name], [a.node.name]]);
      const down = [once(a.node, 'nodeDown'), once(b.node, 'nodeDown')];
      a.node.disconnect(b.node.name);
      await Promise.all(down);
    }
  });

  for (const outcome of ['completes', 'fails'] as const) {
    test(`keep the dial of a peer open until their own preferred dial ${outcome}`, async (t) => {
      const epmdPort = await freePort();
      const { node } = await startDistNode(t, 'z', epmdPort, { dialsErlang: true });
      const sockets = createServer();
      const registration = await registerNode({ host: '127.0.0.1', port: epmdPort }, { name: 'a', port: await listen(t, sockets) });
      t.after(registration.close);
      // The peer reads our dial only after its own has been proven.
      const theirs = await RawDistPeer.dial(t, node.port);
      theirs.sayName('a@127.0.0.1');
      assert.equal(String(await theirs.read()), 'sok');
      const dialed = once(sockets, 'connection') as Promise<[Socket]>;
      const connected = node.connect('a@127.0.0.1');
      const ours = new RawDistPeer((await dialed)[0]);
      await ours.read();
      await theirs.answerChallenge();
      if (outcome === 'fails') {
        ours.socket.destroy();
        assert.equal((await theirs.read())?.length, 17);
      } else {
        // A whole handshake later it would have been closed.
        await (await RawDistPeer.dial(t, node.port)).shakeHands('b@127.0.0.1');
        assert.equal(theirs.socket.readableEnded, false);
        await ours.acceptHandshake('a@127.0.0.1');
        assert.equal(await theirs.read(), undefined);
      }
      assert.equal(await connected, outcome === 'completes');
      assert.ok(node.isConnected('a@127.0.0.1'));
    });
  }

  test('with different cookies reject each other, with a log line on both sides', async (t) => {
    const epmdPort = await freePort();
    const a = await startDistNode(t, 'a', epmdPort);
    const b = await startDistNode(t, 'b', epmdPort, { cookie: 'another' });
    assert.equal(await a.node.connect(b.node.name), false);
    assert.equal((await b.record.logged('node rejected: wrong cookie')).node, a.node.name);
    assert.equal((await a.record.logged('rejected by remote node: cookies differ')).node, b.node.name);
    assert.doesNotMatch(JSON.stringify([a.record.lines, b.record.lines]), /test_cookie|another/);
  });

  test('disconnect if one sends nothing for a tick', async (t) => {
    const epmdPort = await freePort();
    const a = await startDistNode(t, 'a', epmdPort, { tick: 400 });
    const silent = await RawDistPeer.dial(t, a.node.port);
    const elapsed = stopwatch();
    const down = once(a.node, 'nodeDown');
    await silent.shakeHands('z@127.0.0.1');
    const [node, reason] = await down;
    assert.deepEqual([node, reason], ['z@127.0.0.1', 'net_tick_timeout']);
    assert.ok(elapsed() >= 400);
  });

  test('keep an idle connection open with ticks', async (t) => {
    const { a, b } = await startPair(t, { tick: 200 });
    await a.node.connect(b.node.name);
    let lost = false;
    a.node.on('nodeDown', () => {
      lost = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 1000));
    assert.ok(!lost);
    assert.deepEqual(b.node.connections, [a.node.name]);
  });
});

describe('a node', () => {
  test('work with an IPv6 host, and when listening on all addresses', async (t) => {
    const epmdPort = await freePort();
    const a = await startDistNode(t, 'a@::1', epmdPort, { ip: '::1' });
    const b = await startDistNode(t, 'b@::1', epmdPort, { ip: '::1' });
    assert.ok(await a.node.connect(b.node.name));
    const all = await freePort();
    const c = await startDistNode(t, 'c@127.0.0.1', all, { ip: null });
    const d = await startDistNode(t, 'd@::1', all, { ip: null });
    assert.ok(await c.node.connect(d.node.name));
    assert.ok(await d.node.connect(c.node.name));
  });

  test('do not connect to themselves, invalid names, or unreachable nodes', async (t) => {
    const { node, record } = await startDistNode(t, 'a', await freePort());
    for (const name of ['a@127.0.0.1', 'nonsense', 'unknown@127.0.0.1', 'x@short']) assert.equal(await node.connect(name), false, name);
    assert.equal(record.find('node unreachable: short and long node names mixed').length, 1);
  });
});

describe('a mesh', () => {
  test('form a full mesh if each is connected to one node only, also if they join later', async (t) => {
    const epmdPort = await freePort();
    const nodes: TestNode[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e']) nodes.push(await startDistNode(t, name, epmdPort));
    const names = nodes.map(({ node }) => node.name);
    for (const { node } of nodes.slice(1)) await node.connect('a@127.0.0.1');
    await Promise.all(
      nodes.map(({ node }) =>
        connectedTo(
          node,
          names.filter((name) => name !== node.name),
        ),
      ),
    );
  });

  test('treat a node that restarts under the same name as a new one', async (t) => {
    const epmdPort = await freePort();
    const a = await startDistNode(t, 'a', epmdPort);
    const first = await RawDistPeer.dial(t, a.node.port);
    await first.shakeHands('z@127.0.0.1');
    const second = await RawDistPeer.dial(t, a.node.port);
    second.sayName('z@127.0.0.1');
    assert.equal(String(await second.read()), 'salive');
    // Nothing is proven yet, so the first connection stays.
    assert.deepEqual(a.node.connections, ['z@127.0.0.1']);
    const down = once(a.node, 'nodeDown');
    second.write(Buffer.from('strue'));
    const { challenge } = parseChallengePacket((await second.read()) ?? Buffer.alloc(0));
    second.write(replyPacket({ challenge: 1, digest: cookieDigest(testCookie, challenge) }));
    assert.deepEqual(await down, ['z@127.0.0.1', 'replaced']);
    await connectedTo(a.node, ['z@127.0.0.1']);
  });
});

describe('a hostile node', () => {
  test('without the cookie gets no connection and no connection line in the log', async (t) => {
    const { node, record } = await startDistNode(t, 'a', await freePort());
    const rawDistPeer = await RawDistPeer.dial(t, node.port);
    rawDistPeer.sayName('z@127.0.0.1');
    assert.equal(String(await rawDistPeer.read()), 'sok');
    await rawDistPeer.read();
    rawDistPeer.write(replyPacket({ challenge: 1, digest: Buffer.alloc(16) }));
    assert.deepEqual(await rawDistPeer.read(), Buffer.concat([Buffer.from('a'), Buffer.alloc(16)]));
    assert.equal(await rawDistPeer.read(), undefined);
    await record.logged('node rejected: wrong cookie');
    assert.deepEqual(node.connections, []);
  });

  test('with missing flags, our name or a name of the other mode is rejected', async (t) => {
    const { node } = await startDistNode(t, 'a', await freePort());
    for (const [name, flags] of [
      ['z@127.0.0.1', 0n],
      ['a@127.0.0.1', ownFlags],
      ['z@short', ownFlags],
    ] as const) {
      const rawDistPeer = await RawDistPeer.dial(t, node.port);
      rawDistPeer.sayName(name, flags);
      assert.equal(String(await rawDistPeer.read()), 'snot_allowed', name);
      assert.equal(await rawDistPeer.read(), undefined);
    }
  });

  test('that stalls during the handshake is disconnected after seven seconds', async (t) => {
    const { node, record } = await startDistNode(t, 'a', await freePort());
    const elapsed = stopwatch();
    const untrusted = await Promise.all([RawDistPeer.dial(t, node.port), RawDistPeer.dial(t, node.port)]);
    untrusted[1]?.sayName('z@127.0.0.1');
    await Promise.all(untrusted.map(({ socket }) => socketClosed(socket)));
    const took = elapsed();
    assert.ok(took > 6900, `${took} ms`);
    assertPrompt('disconnecting a stalled handshake', took, { promised: 7_000 });
    await record.logged('invalid distribution handshake, closing connection');
  });

  test('with the cookie but invalid messages is disconnected with a log line', async (t) => {
    const { node, record } = await startDistNode(t, 'a', await freePort());
    for (const frame of ['000000037083ff', 'ffffffff', '0000000144']) {
      const rawDistPeer = await RawDistPeer.dial(t, node.port);
      await rawDistPeer.shakeHands('z@127.0.0.1');
      await connectedTo(node, ['z@127.0.0.1']);
      rawDistPeer.socket.write(Buffer.from(frame, 'hex'));
      await connectedTo(node, []);
    }
    assert.equal(record.find('protocol violation, disconnecting node').length, 3);
  });

  test('that does not read is disconnected when the send buffer is full', async (t) => {
    const limits = { messageBytes: 1_000_000, bufferedBytes: 3_000_000 };
    const { node, record } = await startDistNode(t, 'a', await freePort(), { limits });
    const rawDistPeer = await RawDistPeer.dial(t, node.port);
    await rawDistPeer.shakeHands('z@127.0.0.1');
    await connectedTo(node, ['z@127.0.0.1']);
    rawDistPeer.socket.pause();
    let sent = 0;
    const send = () => {
      assert.ok(sent < 100, 'the system buffers less than that');
      sent += 1;
      node.send('z@127.0.0.1', 'svc', Buffer.alloc(500_000));
      return !node.isConnected('z@127.0.0.1');
    };
    await eventually('a disconnect', send, { every: 2 });
    assert.equal((await record.logged('lost connection to node')).reason, 'too_slow');
  });
});

describe('the distribution port', () => {
  test('is the first free one of its range, or an error if none is free', async (t) => {
    const epmdPort = await freePort();
    const first = await freePort();
    const ports = { min: first, max: first };
    const { node } = await startDistNode(t, 'a', epmdPort, { ports });
    assert.equal(node.port, first);
    await assert.rejects(startDistNode(t, 'b', epmdPort, { ports }), new RegExp(`No free port .* from ${first} to ${first}`));
  });

  test('is not opened for a name that the mode does not allow', async (t) => {
    await assert.rejects(startDistNode(t, 'a@host.local', await freePort(), { mode: 'sname' }), /is not a node name of mode sname/);
    await assert.rejects(startDistNode(t, 'a@host', await freePort()), /is not a node name of mode name/);
  });
});
