// Load poll: rooms in transit are counted correctly for any order of responses.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LoadResponse } from '../../../api/operations/node-rpcs.ts';
import type { ClusterTransport } from '../../../node/cluster/cluster-transport.ts';
import { LoadPoll } from '../../../node/cluster/load-poll.ts';
import type { Dispatcher } from '../../../node/cluster/rpc/dispatcher.ts';

type Asked = { node: string; answer: (load: Partial<LoadResponse>) => void };

const idle: LoadResponse = { forwardedTracks: 0, rooms: 0, cpu: 0, accepting: true, sent: {}, received: {} };

/** A poll of svc@a, connected to svc@b and svc@c, which respond when the test says so. */
function makePoll(): { poll: LoadPoll; asked: Asked[]; connected: Set<string>; own: { rooms: number } } {
  const asked: Asked[] = [];
  const connected = new Set(['svc@b', 'svc@c']);
  const own = { rooms: 0 };
  const links: Pick<ClusterTransport, 'self' | 'nodes' | 'call'> = {
    self: 'svc@a',
    nodes: () => [...connected],
    call: (node) => new Promise((resolve) => asked.push({ node, answer: (load) => resolve({ ...idle, ...load }) })),
  };
  const dispatcher = { at: links.call } as unknown as Dispatcher;
  return { poll: new LoadPoll({ links: links as ClusterTransport, dispatcher, own: () => ({ ...idle, ...own }) }), asked, connected, own };
}

/** Rooms of each node plus those in transit to it. */
async function roomsOf(poll: LoadPoll): Promise<Record<string, number>> {
  return poll.choose((candidates) => Object.fromEntries(candidates.map(({ node, load, pending }) => [node, (load?.rooms ?? 0) + pending])));
}

describe('rooms in transit to a node', () => {
  test('count once if the node received them before it responded, although they are not created yet', async () => {
    const { poll, asked } = makePoll();
    poll.assign('svc@c');
    const rooms = roomsOf(poll);
    asked[0]?.answer({});
    asked[1]?.answer({ rooms: 1, received: { 'svc@a': 1 } });
    assert.deepEqual(await rooms, { 'svc@a': 0, 'svc@b': 0, 'svc@c': 1 });
  });

  test('count if they were sent to it after it responded, while another node still had to', async () => {
    const { poll, asked } = makePoll();
    const rooms = roomsOf(poll);
    asked[1]?.answer({});
    poll.assign('svc@c');
    asked[0]?.answer({});
    assert.deepEqual(await rooms, { 'svc@a': 0, 'svc@b': 0, 'svc@c': 1 });
  });

  test('count if another node sends them, without those that have arrived', async () => {
    const { poll, asked } = makePoll();
    const rooms = roomsOf(poll);
    asked[0]?.answer({ rooms: 2, sent: { 'svc@a': 1, 'svc@c': 5 } });
    asked[1]?.answer({ rooms: 3, received: { 'svc@b': 3 } });
    assert.deepEqual(await rooms, { 'svc@a': 1, 'svc@b': 2, 'svc@c': 5 });
  });

  test('count at this node from the moment at which it polled the others', async () => {
    const { poll, asked, own } = makePoll();
    const rooms = roomsOf(poll);
    poll.assign('svc@a');
    poll.received('svc@a');
    own.rooms = 1;
    asked[0]?.answer({});
    asked[1]?.answer({});
    assert.deepEqual(await rooms, { 'svc@a': 1, 'svc@b': 0, 'svc@c': 0 });
    const later = roomsOf(poll);
    asked[2]?.answer({});
    asked[3]?.answer({});
    assert.deepEqual(await later, { 'svc@a': 1, 'svc@b': 0, 'svc@c': 0 });
  });

  test('are dropped with the connection, and not counted without one', async () => {
    const { poll, asked, connected } = makePoll();
    poll.assign('svc@c');
    poll.received('svc@c');
    connected.delete('svc@c');
    poll.nodeDown('svc@c');
    poll.assign('svc@c');
    assert.deepEqual(poll.answer(), idle);
    connected.add('svc@c');
    const rooms = roomsOf(poll);
    for (const { answer } of asked) answer({});
    assert.deepEqual(await rooms, { 'svc@a': 0, 'svc@b': 0, 'svc@c': 0 });
  });
});
