// Mediarooms and real Erlang nodes: ping, calls, monitors, links, cookies, restarts, loss, and mesh.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, type TestContext, test } from 'node:test';
import { CallError } from '../../node/cluster/erlang/calls.ts';
import type { ErlangNodeOptions } from '../../node/cluster/erlang/erlang-node.ts';
import { atom, Float, Pid, type Term, tuple } from '../../node/cluster/erlang/terms/terms.ts';
import { decodeTerm, encodeTerm } from '../kit/erlang-terms.ts';
import { eventually } from '../kit/eventually.ts';
import { connectedTo, startDistNode, type TestNode } from '../kit/network/dist-nodes.ts';
import { freePort } from '../kit/network/free-ports.ts';
import { type Erl, type ErlOptions, startErl } from '../kit/processes/erlang-node.ts';
import { assertPrompt, stopwatch } from '../kit/promised-time.ts';

const erlName = 'erl@127.0.0.1';

/** A Mediarooms node that also dials Erlang nodes. */
const startOurs = (t: TestContext, name: string, epmdPort: number, options: Partial<ErlangNodeOptions> = {}) =>
  startDistNode(t, name, epmdPort, { dialsErlang: true, ...options });

async function startBoth(t: TestContext, options: Partial<ErlOptions> = {}): Promise<{ ours: TestNode; erl: Erl; epmdPort: number }> {
  const epmdPort = await freePort();
  const ours = await startOurs(t, 'svc', epmdPort);
  const erl = await startErl(t, { name: erlName, epmdPort, ...options });
  return { ours, erl, epmdPort };
}

/**
 * Resolves when Erlang returns this. Erlang lists a node that dialed it shortly after that node finished the handshake, and keeps a lost
 * one until it has read the close.
 */
async function eventuallyEvaluates(erl: Erl, expressions: string, expected: string): Promise<void> {
  let given = '';
  const isGiven = async () => {
    given = await erl.eval(expressions);
    return given === expected;
  };
  await eventually(() => `${expressions} returns ${expected} (now ${given})`, isGiven, { every: 20 });
}

/** An Erlang process that answers `gen_server:call`s with the reversed request. */
const echoServer =
  'true = register(echo, spawn(fun Loop() -> receive ' +
  "{'$gen_call', From, {sleep, _}} -> _ = From, Loop(); " +
  "{'$gen_call', _, crash} -> exit(crashed); " +
  "{'$gen_call', From, Request} -> gen_server:reply(From, {echo, Request}), Loop() end end))";

describe('an Erlang node', () => {
  test('pings ours, is pinged by ours, and both list each other', async (t) => {
    const { ours, erl } = await startBoth(t);
    assert.equal(await erl.eval("net_adm:ping('svc@127.0.0.1')"), 'pong');
    assert.equal(await erl.eval('nodes()'), "['svc@127.0.0.1']");
    await connectedTo(ours.node, [erlName]);
    assert.deepEqual(await ours.node.call(erlName, 'net_kernel', tuple(atom('is_auth'), atom(ours.node.name)), 30_000), atom('yes'));
    assert.equal((await ours.record.logged('connected to node')).node, erlName);
  });

  test('is dialed by ours', async (t) => {
    const { ours, erl } = await startBoth(t);
    assert.ok(await ours.node.connect(erlName));
    await eventuallyEvaluates(erl, 'nodes()', "['svc@127.0.0.1']");
  });

  test('connects to ours with short names too', async (t) => {
    const epmdPort = await freePort();
    const { node } = await startOurs(t, 'svc@localhost', epmdPort, { mode: 'sname' });
    const erl = await startErl(t, { name: 'erl@localhost', epmdPort, mode: 'sname' });
    assert.equal(await erl.eval('net_adm:ping(svc@localhost)'), 'pong');
    assert.deepEqual(node.connections, ['erl@localhost']);
  });

  test('calls a registered name of ours and gets a response, or an exit if the name is unknown', async (t) => {
    const { ours, erl } = await startBoth(t);
    ours.node.register('svc', {
      call: (request) => {
        if (String(request) === 'throw') throw new Error('a fault of the test');
        return String(request) === 'never' ? new Promise<Term>(() => {}) : tuple(atom('ok'), request);
      },
    });
    assert.equal(await erl.eval('gen_server:call({svc, \'svc@127.0.0.1\'}, #{a => [1, 2.5, <<"x">>]})'), '{ok,#{a => [1,2.5,<<"x">>]}}');
    assert.match(await erl.eval('gen_server:call({svc, \'svc@127.0.0.1\'}, <<"throw">>)'), /^\{exit,\{error,\{gen_server,call,/);
    assert.match(await erl.eval('gen_server:call({svc, \'svc@127.0.0.1\'}, <<"never">>, 100)'), /^\{exit,\{timeout,/);
    assert.match(await erl.eval("gen_server:call({unknown, 'svc@127.0.0.1'}, x)"), /^\{exit,\{noproc,/);
    assert.equal(
      await erl.eval("{unknown, 'svc@127.0.0.1'} ! hello, gen_server:cast({unknown, 'svc@127.0.0.1'}, x), net_adm:ping('svc@127.0.0.1')"),
      'pong',
    );
    assert.equal(
      await erl.eval("gen_server:multi_call(['svc@127.0.0.1', node()], svc, x, 1000)"),
      "{[{'svc@127.0.0.1',{ok,x}}],['erl@127.0.0.1']}",
    );
  });

  test('answers calls of ours, including failing ones', async (t) => {
    const { ours, erl } = await startBoth(t);
    await erl.eval(echoServer);
    await ours.node.connect(erlName);
    const reason = (wanted: string) => (error: unknown) => error instanceof CallError && error.reason === wanted;
    assert.deepEqual(
      await ours.node.call(erlName, 'echo', tuple(1, 'text', new Float(0.5)), 30_000),
      tuple(atom('echo'), tuple(1, Buffer.from('text'), new Float(0.5))),
    );
    await assert.rejects(ours.node.call(erlName, 'echo', tuple(atom('sleep'), 1), 100), reason('timeout'));
    await assert.rejects(ours.node.call(erlName, 'unknown', 1, 30_000), reason('noproc'));
    await assert.rejects(ours.node.call(erlName, 'echo', atom('crash'), 30_000), reason('failed'));
    const lost = ours.node.call(erlName, 'net_kernel', tuple(atom('nonsense')), 20_000);
    const rejected = assert.rejects(lost, reason('noconnection'));
    erl.kill('SIGKILL');
    await rejected;
    assert.equal(ours.node.waitingCalls, 0);
  });

  test('gets responses to monitors, links, unlinks and spawns', async (t) => {
    const { ours, erl } = await startBoth(t);
    ours.node.register('svc', { call: (request) => request });
    assert.equal(
      await erl.eval(
        "R = monitor(process, {unknown, 'svc@127.0.0.1'}), receive {'DOWN', R, process, _, W1} -> W1 after 30000 -> alive end",
      ),
      'noproc',
    );
    assert.equal(
      await erl.eval(
        "R2 = erlang:monitor(process, {svc, 'svc@127.0.0.1'}), receive {'DOWN', R2, process, _, W2} -> W2 after 300 -> alive end",
      ),
      'alive',
    );
    assert.equal(await erl.eval('erlang:demonitor(R2)'), 'true');
    // A pid that never existed, built from bytes like a stale one in a message.
    const pid = encodeTerm(new Pid('svc@127.0.0.1', 999, 0, ours.node.creation));
    await erl.eval(`Pid = binary_to_term(<<${[...pid].join(',')}>>)`);
    assert.equal(
      await erl.eval("process_flag(trap_exit, true), link(Pid), receive {'EXIT', Pid, W3} -> W3 after 30000 -> none end"),
      'noproc',
    );
    assert.equal(
      await erl.eval("R4 = monitor(process, Pid), receive {'DOWN', R4, process, _, W4} -> W4 after 30000 -> none end"),
      'noproc',
    );
    assert.equal(await erl.eval('link(Pid), unlink(Pid), exit(Pid, kill), group_leader(group_leader(), self())'), 'true');
    assert.equal(await erl.eval("rpc:call('svc@127.0.0.1', erlang, halt, [])"), '{badrpc,notsup}');
    assert.match(await erl.eval("erpc:call('svc@127.0.0.1', erlang, halt, [])"), /notsup/);
    assert.match(
      await erl.eval("spawn_request('svc@127.0.0.1', erlang, halt, []), receive {spawn_reply, _, error, W5} -> W5 after 30000 -> none end"),
      /notsup/,
    );
    assert.equal(await erl.eval("net_adm:ping('svc@127.0.0.1')"), 'pong');
  });

  test('writes terms that ours parses, and parses terms of ours', async (t) => {
    const { erl } = await startBoth(t);
    const sources = [
      '{ok, [1, 300, -1, 1 bsl 70, -(1 bsl 2100)], "text", <<"bin">>, <<5:3>>}',
      '#{a => 1.5, [b] => {}}',
      '[self(), make_ref(), hd(erlang:ports()), fun lists:map/2, [alias | make_ref()]]',
      'fun(X) -> X end',
      'list_to_atom([16#436, 16#e9])',
      'lists:seq(1, 1000)',
      'list_to_tuple(lists:seq(1, 300))',
      'lists:duplicate(70000, 7)',
    ];
    for (const source of sources) {
      const [, hex = ''] = /<<"([0-9A-F]+)">>/.exec(await erl.eval(`put(t, ${source}), binary:encode_hex(term_to_binary(get(t)))`)) ?? [];
      const written = encodeTerm(decodeTerm(Buffer.from(hex, 'hex')));
      assert.equal(await erl.eval(`binary_to_term(binary:decode_hex(<<"${written.toString('hex')}">>)) =:= get(t)`), 'true', source);
    }
  });
});

describe('the cookie', () => {
  test('of an Erlang node that dials ours is wrong: pang, and a log line on both sides', async (t) => {
    const { ours, erl } = await startBoth(t, { cookie: 'wrong' });
    assert.equal(await erl.eval("net_adm:ping('svc@127.0.0.1')"), 'pang');
    assert.equal((await ours.record.logged('node rejected: wrong cookie')).node, erlName);
    await erl.printed(/Connection attempt to .*svc@127\.0\.0\.1.*(cancelled|aborted)/);
    assert.deepEqual(ours.node.connections, []);
  });

  test('of ours that dials an Erlang node is wrong: no connection, and a log line on both sides', async (t) => {
    const { ours, erl } = await startBoth(t, { cookie: 'wrong' });
    assert.equal(await ours.node.connect(erlName), false);
    await erl.printed(/Connection attempt from .*svc@127\.0\.0\.1.*rejected/);
    assert.equal((await ours.record.logged('rejected by remote node without reason, cookies may differ')).node, erlName);
  });
});

describe('connections', () => {
  test('dialed by both simultaneously become one', async (t) => {
    for (const ourName of ['aaa', 'zzz']) {
      const epmdPort = await freePort();
      const { node } = await startOurs(t, ourName, epmdPort);
      const erl = await startErl(t, { name: erlName, epmdPort });
      for (let round = 0; round < 10; round += 1) {
        const [pinged, connected] = await Promise.all([erl.eval(`net_adm:ping('${node.name}')`), node.connect(erlName)]);
        assert.deepEqual([pinged, connected], ['pong', true], `${ourName}, round ${round}`);
        assert.equal(await erl.eval(`net_adm:ping('${node.name}')`), 'pong');
        const down = once(node, 'nodeDown');
        await erl.eval(`erlang:disconnect_node('${node.name}')`);
        await down;
      }
    }
  });

  test('to an Erlang node that is killed and restarts under its name are new ones', async (t) => {
    const { ours, erl, epmdPort } = await startBoth(t);
    await ours.node.connect(erlName);
    const creation = await erl.eval('erlang:system_info(creation)');
    const down = once(ours.node, 'nodeDown');
    erl.kill('SIGKILL');
    assert.deepEqual(await down, [erlName, 'connection_closed']);
    await erl.ended;
    const again = await startErl(t, { name: erlName, epmdPort });
    assert.equal(await again.eval("net_adm:ping('svc@127.0.0.1')"), 'pong');
    assert.notEqual(await again.eval('erlang:system_info(creation)'), creation);
    assert.deepEqual(ours.node.connections, [erlName]);
  });

  test('of ours that restarts under its name are new ones for an Erlang node', async (t) => {
    const { ours, erl, epmdPort } = await startBoth(t);
    assert.equal(await erl.eval("net_adm:ping('svc@127.0.0.1')"), 'pong');
    await ours.node.close();
    await eventuallyEvaluates(erl, 'nodes()', '[]');
    const other = await startOurs(t, 'other', epmdPort);
    const again = await startOurs(t, 'svc', epmdPort);
    assert.ok(other.node.registered);
    assert.equal(await erl.eval("net_adm:ping('svc@127.0.0.1')"), 'pong');
    assert.notEqual(again.node.creation, ours.node.creation);
    assert.ok(again.node.isConnected(erlName));
  });

  test('to an Erlang node that is paused are lost within one and a quarter of a tick', async (t) => {
    const epmdPort = await freePort();
    const { node, record } = await startOurs(t, 'svc', epmdPort, { tick: 4000 });
    const erl = await startErl(t, { name: erlName, epmdPort, args: ['-kernel', 'net_ticktime', '4'] });
    await node.connect(erlName);
    await erl.eval('nodes()');
    // Longer than a tick: both sides keep the idle connection open.
    await new Promise((resolve) => setTimeout(resolve, 6500));
    assert.equal(await erl.eval('nodes()'), "['svc@127.0.0.1']");
    const down = once(node, 'nodeDown');
    const elapsed = stopwatch();
    erl.kill('SIGSTOP');
    assert.deepEqual(await down, [erlName, 'net_tick_timeout']);
    const took = elapsed();
    t.diagnostic(`lost after ${Math.round(took)} ms`);
    assert.ok(took > 2500, `${took} ms`);
    assertPrompt('the loss', took, { promised: 5_000 });
    assert.equal((await record.logged('lost connection to node')).reason, 'net_tick_timeout');
    erl.kill('SIGCONT');
  });
});

describe('an Erlang node connected to one of ours', () => {
  test('lists all of ours, and global does not wait', async (t) => {
    const epmdPort = await freePort();
    const nodes: TestNode[] = [];
    for (const name of ['svc1', 'svc2', 'svc3']) nodes.push(await startOurs(t, name, epmdPort));
    for (const { node } of nodes.slice(1)) await node.connect('svc1@127.0.0.1');
    const erl = await startErl(t, { name: erlName, epmdPort });
    assert.equal(await erl.eval("net_adm:ping('svc1@127.0.0.1')"), 'pong');
    const others = (own: string) => [erlName, ...nodes.map(({ node }) => node.name)].filter((name) => name !== own);
    await Promise.all(nodes.map(({ node }) => connectedTo(node, others(node.name))));
    await eventuallyEvaluates(erl, 'lists:sort(nodes())', "['svc1@127.0.0.1','svc2@127.0.0.1','svc3@127.0.0.1']");
    assert.equal(await erl.eval('global:sync()'), 'ok');
    assert.equal(await erl.eval('global:register_name(something, self())'), 'yes');
  });

  test('connects two of ours and another Erlang node to each other', async (t) => {
    const epmdPort = await freePort();
    const a = await startOurs(t, 'a', epmdPort);
    const b = await startOurs(t, 'b', epmdPort);
    const erl = await startErl(t, { name: erlName, epmdPort });
    const erl2 = await startErl(t, { name: 'erl2@127.0.0.1', epmdPort });
    assert.equal(await erl.eval("[net_adm:ping(Node) || Node <- ['erl2@127.0.0.1', 'a@127.0.0.1', 'b@127.0.0.1']]"), '[pong,pong,pong]');
    await connectedTo(a.node, ['b@127.0.0.1', erlName, erl2.name]);
    await connectedTo(b.node, ['a@127.0.0.1', erlName, erl2.name]);
    for (const each of [erl, erl2]) {
      await eventuallyEvaluates(each, 'length(nodes())', '3');
      assert.equal(await each.eval('global:sync()'), 'ok');
    }
  });

  test('stays connected to the others if one of ours is lost', async (t) => {
    const epmdPort = await freePort();
    const a = await startOurs(t, 'a', epmdPort);
    const b = await startOurs(t, 'b', epmdPort);
    const erl = await startErl(t, { name: erlName, epmdPort });
    await b.node.connect(a.node.name);
    await erl.eval("net_adm:ping('a@127.0.0.1')");
    await connectedTo(b.node, [a.node.name, erlName]);
    assert.equal(await erl.eval('global:sync()'), 'ok');
    await b.node.close();
    await connectedTo(a.node, [erlName]);
    assert.equal(await erl.eval("net_adm:ping('a@127.0.0.1')"), 'pong');
    await eventuallyEvaluates(erl, 'nodes()', "['a@127.0.0.1']");
  });

  test('as a hidden node can call, but is not listed', async (t) => {
    const { ours, erl } = await startBoth(t, { args: ['-hidden'] });
    ours.node.register('svc', { call: (request) => request });
    assert.equal(await erl.eval("gen_server:call({svc, 'svc@127.0.0.1'}, x)"), 'x');
    assert.deepEqual(ours.node.connections, []);
    assert.ok(ours.node.isConnected(erlName));
  });
});
