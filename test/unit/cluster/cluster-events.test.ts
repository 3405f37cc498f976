// Cluster events on a simulated network with partitions: every node receives every event once and in order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RoomEvent } from '../../../api/events.ts';
import { ClusterEvents } from '../../../node/cluster/cluster-events.ts';
import { EventLog } from '../../../node/events/event-log.ts';
import type { SourcedEvent } from '../../../node/rooms/event-feed.ts';
import { flushNetwork } from '../../kit/fakes/cluster.ts';
import { makeDispatcher } from '../../kit/fakes/dispatcher.ts';
import { type FakeLinks, FakeNetwork } from '../../kit/fakes/fake-links.ts';
import { seededRandom } from '../../kit/seeded-random.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { turns } from '../../kit/turns.ts';

type TestNode = {
  name: string;
  links: FakeLinks;
  log: EventLog;
  events: ClusterEvents;
  heard: SourcedEvent[];
  say: (type?: RoomEvent['type']) => void;
};

/** `uptime`: age of the node in milliseconds. */
function join(network: FakeNetwork, name: string, options: { capacity?: number; uptime?: number } = {}): TestNode {
  const links = network.join(name);
  const log = new EventLog(silentLog(), { node: name, capacity: options.capacity ?? 10_000 });
  const events = new ClusterEvents({
    links,
    dispatcher: makeDispatcher({ links }),
    own: log,
    log: silentLog(),
    uptime: () => options.uptime ?? 1_000,
  });
  const heard: SourcedEvent[] = [];
  events.subscribe((sourced) => heard.push(sourced));
  links.listen({ up: (node) => events.nodeUp(node), down: (node) => events.nodeDown(node) });
  const say = (type: RoomEvent['type'] = 'PeerAdded') => {
    const seq = log.last + 1;
    log.publish({ id: `${name}-${seq}`, type, time: '2026-11-21T00:00:00.000Z', seq, node: name, incarnation: `i-${name}`, roomId: 'r' });
  };
  return { name, links, log, events, heard, say };
}

function trio(options: { capacity?: number } = {}) {
  const network = new FakeNetwork();
  const [a, b, c] = ['svc@a', 'svc@b', 'svc@c'].map((name) => join(network, name, options)) as [TestNode, TestNode, TestNode];
  network.connectAll();
  return { network, a, b, c, nodes: [a, b, c] };
}

const ids = (node: TestNode) => node.heard.map(({ event }) => event.id);
const from = (node: TestNode, source: TestNode) => node.heard.filter((each) => each.source === source.log.source).map(({ index }) => index);
const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, at) => first + at);

test('an event of one node reaches every node once and in order', async () => {
  const { a, b, nodes } = trio();
  for (let count = 0; count < 1_000; count += 1) a.say();
  b.say();
  await flushNetwork();
  for (const node of nodes) {
    assert.deepEqual(from(node, a), upTo(1_000));
    assert.deepEqual(from(node, b), [1]);
    assert.deepEqual(node.events.cursor()[a.log.source], 1_000);
  }
});

test('events of one event loop turn are sent in one message', async () => {
  const { a, b } = trio();
  await flushNetwork();
  let casts = 0;
  const { cast } = a.links;
  a.links.cast = (node, method, data) => {
    casts += 1;
    cast.call(a.links, node, method, data);
  };
  for (let count = 0; count < 100; count += 1) a.say();
  await flushNetwork();
  assert.equal(casts, 2);
  assert.equal(b.heard.length, 100);
});

test('a node that joins later receives only new events, and the older node receives all events of the younger one', async () => {
  const network = new FakeNetwork();
  const old = join(network, 'svc@old', { uptime: 60_000 });
  const young = join(network, 'svc@young', { uptime: 10 });
  for (let count = 0; count < 5; count += 1) old.say();
  for (let count = 0; count < 3; count += 1) young.say();
  await flushNetwork();
  network.connectAll();
  old.say();
  young.say();
  await flushNetwork();
  assert.deepEqual(from(young, old), [6]);
  assert.deepEqual(from(old, young), [1, 2, 3, 4]);
});

test('after a lost connection both nodes receive the missed events, also if more occur during the catch-up', async () => {
  const { network, a, b } = trio();
  a.say();
  await flushNetwork();
  network.cut('svc@a', 'svc@b');
  for (let count = 0; count < 1_500; count += 1) a.say();
  await flushNetwork();
  assert.deepEqual([from(b, a), b.events.cursor()[a.log.source]], [[1], undefined]);
  network.connect('svc@a', 'svc@b');
  for (let turn = 0; turn < 30; turn += 1) {
    a.say();
    await turns();
  }
  await flushNetwork();
  assert.deepEqual(from(b, a), upTo(1_531));
});

test('after an overrun of the event log the remaining events arrive, and the gap is visible in the indexes', async () => {
  const { network, a, b } = trio({ capacity: 10 });
  a.say();
  await flushNetwork();
  network.cut('svc@a', 'svc@b');
  for (let count = 0; count < 30; count += 1) a.say();
  network.connect('svc@a', 'svc@b');
  await flushNetwork();
  assert.deepEqual(from(b, a), [1, ...upTo(31, 22)]);
});

test('a restarted node is a new source, and its old source cannot be queried', async () => {
  const { network, a, b } = trio();
  a.say();
  await flushNetwork();
  network.kill('svc@a');
  const again = join(network, 'svc@a', { uptime: 1 });
  again.say();
  network.connect('svc@a', 'svc@b');
  await flushNetwork();
  assert.deepEqual(from(b, again), [1]);
  assert.equal(await b.events.since(a.log.source, 0), undefined);
  assert.deepEqual(
    Object.keys(b.events.cursor()).map((source) => source.split('#')[0]),
    ['svc@b', 'svc@a', 'svc@c'],
  );
});

test('pages of a remote node are requested from it, and an unresponsive node is an error', { timeout: 10_000 }, async () => {
  const { a, b } = trio();
  for (let count = 0; count < 3; count += 1) a.say();
  await flushNetwork();
  const page = await b.events.since(a.log.source, 1);
  assert.deepEqual(
    page?.events.map(({ index }) => index),
    [2, 3],
  );
  assert.deepEqual((await b.events.since(a.log.source, 0, 1))?.upTo, 1);
  assert.equal(await b.events.since('svc@unknown#1', 0), undefined);
  a.links.frozen = true;
  await assert.rejects(b.events.since(a.log.source, 1), { code: 'node_unreachable' });
});

test('each node reports rooms lost with a node to its local listeners, with the same event id everywhere', async () => {
  const { network, a, b, c } = trio();
  a.say();
  await flushNetwork();
  network.kill('svc@a');
  for (const node of [b, c]) node.events.roomLost('svc@a', { id: 'r', incarnation: 'i-svc@a', connected: ['p'] });
  await flushNetwork();
  for (const node of [b, c]) {
    assert.deepEqual(ids(node), ['svc@a-1', 'i-svc@a-lost-p', 'i-svc@a-lost']);
    const { source, index, event } = node.heard[2] as SourcedEvent;
    assert.deepEqual(
      [source, index, event.type, event.reason, event.seq, event.node],
      [a.log.source, 1, 'RoomCrashed', 'node_lost', undefined, 'svc@a'],
    );
  }
});

test('a node cannot send events of another source, and malformed messages are rejected', async () => {
  const { a, b } = trio();
  const event = { id: 'g', type: 'PeerAdded', time: '2026-11-21T00:00:00.000Z', seq: 1, node: 'svc@c', incarnation: 'i', roomId: 'r' };
  a.links.cast('svc@b', 'events', { source: 'svc@c#1', from: 0, events: [event] });
  for (const data of [
    null,
    {},
    { source: 1 },
    { source: 'svc@a#1', from: -1, events: [event] },
    { source: 'svc@a#1', from: 0, events: Array(1_001).fill(event) },
  ]) {
    a.links.cast('svc@b', 'events', data);
  }
  a.links.cast('svc@b', 'eventsAt', { source: 'svc@a#1', index: 'x' });
  await flushNetwork();
  assert.deepEqual(b.heard, []);
  a.say();
  await flushNetwork();
  assert.deepEqual(ids(b), ['svc@a-1']);
});

test('an event of unknown type from a newer node does not block other events', async () => {
  const { network, b } = trio();
  const newer = network.join('svc@new');
  network.connect('svc@b', 'svc@new');
  const good = { id: 'g', type: 'PeerAdded', time: '2026-11-21T00:00:00.000Z', seq: 2, node: 'svc@new', incarnation: 'i', roomId: 'r' };
  newer.cast('svc@b', 'events', { source: 'svc@new#1', from: 0, events: [{ ...good, type: 'PeerPainted' }, good] });
  await flushNetwork();
  assert.deepEqual(
    b.heard.map(({ event, index }) => [event.id, index]),
    [['g', 2]],
  );
});

test('a node whose response was lost is asked again', { timeout: 10_000 }, async () => {
  const { network, a, b } = trio();
  a.say();
  await flushNetwork();
  network.cut('svc@a', 'svc@b');
  a.say();
  const { call } = b.links;
  let failures = 0;
  b.links.call = async (...args) => {
    failures += 1;
    if (failures === 1) throw new Error('lost');
    return call.apply(b.links, args);
  };
  const reported = Promise.withResolvers<void>();
  b.events.subscribe(({ index }) => index === 2 && reported.resolve());
  network.connect('svc@a', 'svc@b');
  // The retry timer does not keep the process alive.
  const awake = setInterval(() => {}, 1_000);
  await reported.promise;
  clearInterval(awake);
  assert.deepEqual(from(b, a), [1, 2]);
});

test('under churn no node misses or repeats an event', async () => {
  const random = seededRandom(20261121);
  const network = new FakeNetwork();
  const names = ['svc@a', 'svc@b', 'svc@c', 'svc@d'];
  const nodes = names.map((name) => join(network, name));
  network.connectAll();
  const pick = () => names[Math.floor(random() * names.length)] as string;
  for (let step = 0; step < 3_000; step += 1) {
    const [one, other] = [pick(), pick()];
    const dice = random();
    if (dice < 0.05 && one !== other) network.cut(one, other);
    else if (dice < 0.15 && one !== other) network.connect(one, other);
    else if (dice < 0.9) nodes[names.indexOf(one)]?.say();
    else await turns();
  }
  network.connectAll();
  for (let turn = 0; turn < 50; turn += 1) await flushNetwork();
  for (const node of nodes) {
    for (const source of nodes) assert.deepEqual(from(node, source), upTo(source.log.last), `${node.name} has events of ${source.name}`);
  }
});
