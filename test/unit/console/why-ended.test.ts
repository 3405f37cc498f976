// Why a room ended, as its events tell the part Watch.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { whyEnded } from '../../../node/console/src/watch/why-ended.ts';
import type { EventType } from '../../../node/sdk/src/generated/schemas.ts';

test('the last event of a room says why it ended, and nothing of a room that was made anew', () => {
  const events = (...kinds: [EventType, string?][]) => kinds.map(([type, reason]) => ({ type, ...(reason !== undefined && { reason }) }));
  assert.equal(whyEnded([]), undefined);
  assert.equal(whyEnded(events(['RoomCreated'], ['PeerDeleted', 'removed'])), undefined);
  assert.equal(whyEnded(events(['RoomCreated'], ['RoomDeleted', 'draining'], ['HlsUploaded'])), 'its node is drained');
  assert.equal(whyEnded(events(['RoomDeleted', 'draining'], ['RoomCreated'])), undefined);
  assert.equal(whyEnded(events(['RoomDeleted', 'deleted'], ['RoomCreated'], ['RoomDeleted', 'peerless'])), 'nobody was in it any more');
  assert.equal(whyEnded(events(['RoomCrashed', 'node_lost'])), 'its node was lost');
  assert.equal(whyEnded(events(['RoomCrashed', 'a worker died'])), 'of a fault on its node');
  assert.equal(whyEnded(events(['RoomDeleted', 'a reason of a later version'])), undefined);
});
