// Failure detector: lost nodes are detected by all nodes when one needs them, and no other node is affected.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ErlangTransport } from '../../../node/cluster/erlang-transport.ts';
import { FailureDetector, type FailureDetectorTimings } from '../../../node/cluster/failure-detector.ts';
import { emits, eventually } from '../../kit/eventually.ts';
import { connectedTo, startDistNode } from '../../kit/network/dist-nodes.ts';
import { freePort } from '../../kit/network/free-ports.ts';
import { RawDistPeer } from '../../kit/network/raw-dist-peer.ts';

/** Short times keep the test fast. */
const times: FailureDetectorTimings = { trusted: 50, answer: 200, silence: 300 };
const lost = 'z@127.0.0.1';

async function startLinked(t: TestContext, name: string, epmdPort: number) {
  const { node, record } = await startDistNode(t, name, epmdPort);
  const links = new ErlangTransport(node.name, record.log, { times });
  links.handle({ call: async () => 'done', cast: () => {} });
  const ups = new EventEmitter();
  links.listen({ up: () => ups.emit('up'), down: () => {} });
  links.attach(node);
  const meets = async (count: number) => {
    await eventually(`${count} nodes`, () => links.nodes().length >= count, { wakes: emits(ups, 'up') });
  };
  return { node, record, links, meets };
}

test('a node that does not answer a probe is lost when it is needed, also for the other nodes connected to it', async (t) => {
  const epmdPort = await freePort();
  const [a, b] = await Promise.all([startLinked(t, 'a', epmdPort), startLinked(t, 'b', epmdPort)]);
  await a.node.connect(b.node.name);
  await Promise.all([a.meets(1), b.meets(1)]);
  // Its kernel accepts data and nothing responds, like a node that is unreachable without a network error.
  for (const { node } of [a, b]) await (await RawDistPeer.dial(t, node.port)).shakeHands(lost);
  await Promise.all([connectedTo(a.node, [b.node.name, lost]), connectedTo(b.node, [a.node.name, lost])]);
  await sleep(times.trusted * 2);
  const down = [once(a.node, 'nodeDown'), once(b.node, 'nodeDown')];
  const asked = a.links.call(lost, 'anything', null, 60_000);
  await assert.rejects(asked, { code: 'node_unreachable' });
  for (const each of down) assert.deepEqual(await each, [lost, 'unanswered']);
  assert.deepEqual([a.node.connections, b.node.connections], [[b.node.name], [a.node.name]]);
  assert.equal(await a.links.call(b.node.name, 'anything', null, 5_000), 'done');
});

test('an idle node that answers a probe stays connected after any silence', async (t) => {
  const epmdPort = await freePort();
  const [a, b] = await Promise.all([startLinked(t, 'a', epmdPort), startLinked(t, 'b', epmdPort)]);
  await a.node.connect(b.node.name);
  await Promise.all([a.meets(1), b.meets(1)]);
  await sleep(times.silence * 2);
  a.links.suspect(b.node.name);
  await sleep(times.answer + times.silence);
  assert.deepEqual(a.node.connections, [b.node.name]);
  assert.deepEqual(a.record.find('lost connection to node'), []);
});

test('a node is probed once at a time and only after a silence, and others are notified if it does not answer immediately', async () => {
  const said: string[] = [];
  let heardAt = Number.POSITIVE_INFINITY;
  const ended = Promise.withResolvers<void>();
  const failureDetector = new FailureDetector({
    silence: () => performance.now() - heardAt,
    ask: async (_, deadline) => {
      said.push('asked');
      await sleep(deadline);
    },
    tell: () => said.push('reported'),
    lost: () => {
      said.push('lost');
      ended.resolve();
    },
    times,
  });
  failureDetector.probe(lost);
  assert.deepEqual(said, [], 'it sent data just now');
  heardAt = performance.now() - times.silence;
  failureDetector.probe(lost);
  failureDetector.probe(lost);
  await ended.promise;
  assert.deepEqual(said, ['asked', 'reported', 'asked', 'lost']);
});

test('a node that sends any data during a probe is not lost, and a closed connection ends the probe', async () => {
  for (const after of [0, undefined]) {
    let silence: number | undefined = times.silence;
    const settled = Promise.withResolvers<void>();
    const failureDetector = new FailureDetector({
      silence: () => silence,
      ask: async () => {
        silence = after;
        settled.resolve();
      },
      tell: () => assert.fail('no other node must be notified'),
      lost: () => assert.fail('it is not lost'),
      times,
    });
    failureDetector.probe(lost);
    await settled.promise;
    await sleep(20);
  }
});
