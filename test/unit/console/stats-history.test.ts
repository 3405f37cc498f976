// Stats history: each measurement once, bounded, and without removed peers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kept, StatsHistory } from '../../../packages/console/src/room/stats/stats-history.ts';
import type { LinkFigures, PeerStats, RoomStats } from '../../../packages/server-sdk/src/generated/schemas.ts';

const link = (bitrate: number, loss: number | null, roundTrip: number | null): LinkFigures => ({
  state: 'connected',
  protocol: 'udp',
  available: null,
  jitter: null,
  bitrate,
  loss,
  roundTrip,
});
const peer = (id: string, up: LinkFigures | null, down: LinkFigures | null): PeerStats => ({
  id,
  status: 'connected',
  quality: 'good',
  up,
  down,
  published: [],
  received: [],
  receivedOmitted: 0,
});
const at = (second: number, ...peers: PeerStats[]): RoomStats => ({
  roomId: 'a',
  time: new Date(second * 1000).toISOString(),
  peers,
  components: [],
});

test('a measurement is added once with the worse direction, and a missing value is a gap', () => {
  const history = new StatsHistory();
  history.add(at(1, peer('a', link(100, 0.1, null), link(200, 0.3, 40))));
  history.add(at(1, peer('a', link(999, 0.9, 999), null)));
  history.add(at(2, peer('a', null, link(300, null, null))));
  assert.deepEqual(history.of('a'), { up: [100, null], down: [200, 300], loss: [0.3, null], roundTrip: [40, null] });
});

test('the history of a peer is bounded, and that of a removed peer is deleted', () => {
  const history = new StatsHistory();
  for (let second = 0; second < kept + 5; second += 1) history.add(at(second, peer('a', link(second, 0, 1), null), peer('b', null, null)));
  assert.deepEqual([history.of('a').up.length, history.of('a').up[0], history.of('a').up.at(-1)], [kept, 5, kept + 4]);
  history.add(at(1000, peer('b', null, null)));
  assert.deepEqual(history.of('a'), { up: [], down: [], loss: [], roundTrip: [] });
});
