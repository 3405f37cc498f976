// Nodes that are gone without a word: found out when they are needed, by all at once, and nobody else is taken for one.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ErlangTransport } from '../../../node/cluster/erlang-transport.ts';
import { FailureDetector, type FailureDetectorTimings } from '../../../node/cluster/failure-detector.ts';
import { ServiceError } from '../../../node/common/errors.ts';
import { emits, eventually } from '../../kit/eventually.ts';
import { connectedTo, startDistNode } from '../../kit/network/dist-nodes.ts';
import { freePort } from '../../kit/network/free-ports.ts';
import { RawDistPeer } from '../../kit/network/raw-dist-peer.ts';

/** Nobody is trusted for long, so that the test is quick. */
const times: FailureDetectorTimings = { trusted: 50, answer: 200, silence: 300 };
const gone = 'z@127.0.0.1';

async function startLinked(t: TestContext, name: string, epmdPort: number) {
  const { node, record } = await startDistNode(t, name, epmdPort);
  const links = new ErlangTransport(node.name, record.log, times);
  links.handle({ call: async () => 'done', cast: () => {} });
  const ups = new EventEmitter();
  links.listen({ up: () => ups.emit('up'), down: () => {} });
  links.attach(node);
  const meets = async (count: number) => {
    await eventually(`${count} nodes`, () => links.nodes().length >= count, { wakes: emits(ups, 'up') });
  };
  return { node, record, links, meets };
}

test('a node that gives no sign of life is lost when it is needed, for the others that are connected to it as well', async (t) => {
  const epmdPort = await freePort();
  const [a, b] = await Promise.all([startLinked(t, 'a', epmdPort), startLinked(t, 'b', epmdPort)]);
  await a.node.connect(b.node.name);
  await Promise.all([a.meets(1), b.meets(1)]);
  // Its kernel takes what it is sent, and nothing comes back: so it looks until the network tells otherwise.
  for (const { node } of [a, b]) await (await RawDistPeer.dial(t, node.port)).shakeHands(gone);
  await Promise.all([connectedTo(a.node, [b.node.name, gone]), connectedTo(b.node, [a.node.name, gone])]);
  await sleep(times.trusted * 2);
  const down = [once(a.node, 'nodeDown'), once(b.node, 'nodeDown')];
  const asked = a.links.call(gone, 'anything', null, 60_000);
  await assert.rejects(asked, (error) => error instanceof ServiceError && error.code === 'node_unreachable');
  for (const each of down) assert.deepEqual(await each, [gone, 'unanswered']);
  assert.deepEqual([a.node.connections, b.node.connections], [[b.node.name], [a.node.name]]);
  assert.equal(await a.links.call(b.node.name, 'anything', null, 5_000), 'done');
});

test('an idle node that answers stays, however long it was silent', async (t) => {
  const epmdPort = await freePort();
  const [a, b] = await Promise.all([startLinked(t, 'a', epmdPort), startLinked(t, 'b', epmdPort)]);
  await a.node.connect(b.node.name);
  await Promise.all([a.meets(1), b.meets(1)]);
  await sleep(times.silence * 2);
  a.links.doubt(b.node.name);
  await sleep(times.answer + times.silence);
  assert.deepEqual(a.node.connections, [b.node.name]);
  assert.deepEqual(a.record.find('lost the connection to node'), []);
});

test('a node is asked once at a time, and only after a silence; others are told when it does not answer at once', async () => {
  const said: string[] = [];
  let heardAt = Number.POSITIVE_INFINITY;
  const ended = Promise.withResolvers<void>();
  const failureDetector = new FailureDetector({
    silence: () => performance.now() - heardAt,
    ask: async (_, deadline) => {
      said.push('asked');
      await sleep(deadline);
    },
    tell: () => said.push('told'),
    lost: () => {
      said.push('lost');
      ended.resolve();
    },
    times,
  });
  failureDetector.probe(gone);
  assert.deepEqual(said, [], 'it said something just now');
  heardAt = performance.now() - times.silence;
  failureDetector.probe(gone);
  failureDetector.probe(gone);
  await ended.promise;
  assert.deepEqual(said, ['asked', 'told', 'asked', 'lost']);
});

test('a node that says anything while it is asked is not lost, and one whose connection ended is left to that', async () => {
  for (const after of [0, undefined]) {
    let silence: number | undefined = times.silence;
    const settled = Promise.withResolvers<void>();
    const failureDetector = new FailureDetector({
      silence: () => silence,
      ask: async () => {
        silence = after;
        settled.resolve();
      },
      tell: () => assert.fail('nobody is to be told'),
      lost: () => assert.fail('it is not lost'),
      times,
    });
    failureDetector.probe(gone);
    await settled.promise;
    await sleep(20);
  }
});
