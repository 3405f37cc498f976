// Polling of the health of nodes.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { NodePoll, reportTtlMs } from '../../../../../operator/clusters/pods/node-poll.ts';
import type { NodeHealth } from '../../../../../operator/nodes/schemas.ts';
import { eventually } from '../../../../kit/eventually.ts';

const well: NodeHealth = {
  state: 'accepting',
  load: { rooms: 0, connectedPeers: 0, forwardedTracks: 0 },
  distribution: { nodesInCluster: 1 },
  config: { files: [], error: null },
};

/** Fake nodes with scripted responses; `reported` records reported changes, `asked` the requests. */
function start(t: TestContext, periods = { usual: 20, quick: 5 }) {
  const events = new EventEmitter();
  const answers = new Map<string, NodeHealth | Error>();
  const clock = { now: 0 };
  const poll = new NodePoll({
    calls: ({ url }) => ({
      health: async () => {
        events.emit('asked', url);
        const answer = answers.get(url) ?? new Error('It could not be reached.');
        if (answer instanceof Error) throw answer;
        return answer;
      },
      drain: async () => {},
      cancelDrain: async () => {},
      resetBackoff: () => {},
    }),
    token: () => 'token',
    changed: (key) => events.emit('reported', key),
    now: () => clock.now,
    periods,
  });
  t.after(() => poll.close());
  return { poll, answers, clock, reported: () => once(events, 'reported'), asked: () => once(events, 'asked') };
}

const nodeA = { uid: 'a', url: 'http://a', signed: true };

/** With a node of the cluster that was polled once; its pods are settling. */
async function polled(t: TestContext) {
  const made = start(t);
  made.answers.set('http://a', well);
  const first = made.reported();
  made.poll.watch('n/c', [nodeA], true);
  await first;
  return made;
}

test('a new node is polled immediately, and its report is published', async (t) => {
  const { poll, answers, reported } = start(t);
  answers.set('http://a', well);
  const first = reported();
  poll.watch('n/c', [nodeA], false);
  assert.equal(poll.neverPolled('n/c', 'a'), true);
  assert.deepEqual(await first, ['n/c']);
  assert.deepEqual(poll.report('n/c', 'a')?.health, well);
  assert.equal(poll.neverPolled('n/c', 'a'), false);
});

test('only changes that affect decisions are published', async (t) => {
  const { poll, answers, reported, asked } = await polled(t);
  let times = 0;
  void reported().then(() => (times += 1));
  answers.set('http://a', { ...well, load: { ...well.load, forwardedTracks: 7 } });
  for (let round = 0; round < 3; round += 1) await asked();
  assert.equal(times, 0);
  assert.equal(poll.report('n/c', 'a')?.health.load.forwardedTracks, 7);
  const busy = reported();
  answers.set('http://a', { ...well, load: { rooms: 1, connectedPeers: 1, forwardedTracks: 7 } });
  await busy;
});

test('the report of an unresponsive node is valid until its TTL', async (t) => {
  const { poll, answers, reported, clock } = await polled(t);
  const silent = reported();
  answers.set('http://a', new Error('It could not be reached.'));
  await silent;
  assert.equal(poll.error('n/c', 'a'), 'It could not be reached.');
  assert.deepEqual(poll.report('n/c', 'a')?.health, well);
  clock.now = reportTtlMs;
  assert.equal(poll.report('n/c', 'a'), undefined);
  assert.equal(poll.neverPolled('n/c', 'a'), false);
});

test('an unresponsive node is polled again before its Kubernetes node could count as lost', async (t) => {
  const { poll, answers, reported } = start(t, { usual: 3_600_000, quick: 5 });
  const first = reported();
  poll.watch('n/c', [nodeA], false);
  await first;
  assert.equal(poll.error('n/c', 'a'), 'It could not be reached.');
  const second = reported();
  answers.set('http://a', well);
  await second;
  assert.deepEqual(poll.report('n/c', 'a')?.health, well);
});

test('a node polled before it listened counts as unpolled and is polled again when its pod is ready', async (t) => {
  const { poll, answers, reported } = start(t, { usual: 3_600_000, quick: 3_600_000 });
  const first = reported();
  poll.watch('n/c', [{ ...nodeA, ready: false }], true);
  await first;
  assert.equal(poll.neverPolled('n/c', 'a'), false);
  const second = reported();
  answers.set('http://a', well);
  poll.watch('n/c', [{ ...nodeA, ready: true }], true);
  assert.equal(poll.neverPolled('n/c', 'a'), true);
  await second;
  assert.deepEqual(poll.report('n/c', 'a')?.health, well);
});

test('a node whose pod becomes ready during a failing poll is polled again immediately', async (t) => {
  const { poll, answers, asked } = start(t, { usual: 3_600_000, quick: 3_600_000 });
  const first = asked();
  poll.watch('n/c', [{ ...nodeA, ready: false }], true);
  await first;
  poll.watch('n/c', [{ ...nodeA, ready: true }], true);
  answers.set('http://a', well);
  const { health } = await eventually('its report', () => poll.report('n/c', 'a'));
  assert.deepEqual(health, well);
});

test('a pod of the same name with another address is another node', async (t) => {
  const { poll } = await polled(t);
  poll.watch('n/c', [{ ...nodeA, url: 'http://b' }], true);
  assert.equal(poll.neverPolled('n/c', 'a'), true);
});

test('a node with another authentication is polled again', async (t) => {
  const { poll } = await polled(t);
  poll.watch('n/c', [{ ...nodeA, signed: false }], true);
  assert.equal(poll.neverPolled('n/c', 'a'), true);
});

test('nodes of a forgotten cluster are not polled', async (t) => {
  const { poll, asked } = await polled(t);
  poll.forget('n/c');
  assert.equal(poll.report('n/c', 'a'), undefined);
  const other = asked();
  poll.watch('n/d', [{ uid: 'b', url: 'http://b', signed: true }], true);
  assert.deepEqual(await other, ['http://b']);
});
