// Distribution: a starting node is synced once it knows the other nodes, or after a timeout.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Atom, type Term, tuple } from '../../node/cluster/erlang/terms/terms.ts';
import { ErlangTransport } from '../../node/cluster/erlang-transport.ts';
import { Distribution } from '../../node/distribution.ts';
import { makeDispatcher } from '../kit/fakes/dispatcher.ts';
import { startDistNode, testCookie } from '../kit/network/dist-nodes.ts';
import { freePort } from '../kit/network/free-ports.ts';
import { turns } from '../kit/turns.ts';

/** Starts a node next to one that has not answered its handshake yet. */
async function startBeside(t: TestContext) {
  const epmdPort = await freePort();
  const { node, record } = await startDistNode(t, 'other', epmdPort);
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<Term>();
  node.register('svc', {
    call: () => {
      asked.resolve();
      return answer.promise;
    },
    cast: () => {},
  });
  const name = 'starts@127.0.0.1';
  const links = new ErlangTransport(name, record.log);
  const met = Promise.withResolvers<void>();
  links.listen({ up: () => met.resolve(), down: () => {} });
  const strategy = { name: 'NODES_LIST', nodes: [node.name] } as const;
  const place = { ip: '127.0.0.1', ports: null, tick: 60_000 };
  const config = {
    enabled: true,
    mode: 'name',
    nodeName: name,
    strategy,
    cookie: testCookie,
    dialsErlang: false,
    tls: null,
    ...place,
  } as const;
  const clock = { time: 0 };
  /** `incomplete`: a connected node has not sent its snapshot. */
  const members = { incomplete: false };
  const dispatcher = makeDispatcher({ links });
  const distribution = new Distribution({ config, name, links, members, dispatcher, log: record.log, epmdPort, now: () => clock.time });
  t.after(() => distribution.close());
  assert.deepEqual([distribution.discovering, distribution.synced], [true, false], 'before the start other nodes may have any room');
  await distribution.start();
  await asked.promise;
  return {
    distribution,
    links,
    members,
    clock,
    /** Answers the handshake as a Mediarooms node. */
    answer: async () => {
      answer.resolve(tuple(new Atom('ok'), 'null'));
      await met.promise;
      await turns();
    },
  };
}

test('a node is synced when every connected node completed its handshake', async (t) => {
  const { distribution, links, members, answer } = await startBeside(t);
  members.incomplete = true;
  assert.deepEqual([links.handshakePending, distribution.discovering, distribution.synced], [true, true, false]);
  await answer();
  assert.deepEqual([links.handshakePending, distribution.discovering, distribution.synced], [false, true, false]);
  members.incomplete = false;
  assert.deepEqual([distribution.discovering, distribution.synced], [false, true]);
  // Nodes that connect later had no rooms when this node started.
  members.incomplete = true;
  assert.deepEqual([distribution.discovering, distribution.synced], [true, true]);
});

test('an unresponsive node is waited for only until the timeout', async (t) => {
  const { distribution, clock } = await startBeside(t);
  clock.time = 5_000;
  assert.equal(distribution.synced, false);
  clock.time += 1;
  assert.deepEqual([distribution.discovering, distribution.synced], [true, true]);
});
