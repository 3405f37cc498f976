// Why a room ended, as its events tell the part Watch.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { roomEndReason } from '../../../packages/console/src/watch/room-end-reason.ts';
import type { EventType } from '../../../packages/server-sdk/src/generated/schemas.ts';

test('the last event of a room says why it ended, and nothing of a room that was made anew', () => {
  const events = (...kinds: [EventType, string?][]) => kinds.map(([type, reason]) => ({ type, ...(reason !== undefined && { reason }) }));
  assert.equal(roomEndReason([]), undefined);
  assert.equal(roomEndReason(events(['RoomCreated'], ['PeerDeleted', 'removed'])), undefined);
  assert.equal(roomEndReason(events(['RoomCreated'], ['RoomDeleted', 'draining'], ['HlsUploaded'])), 'its node is drained');
  assert.equal(roomEndReason(events(['RoomDeleted', 'draining'], ['RoomCreated'])), undefined);
  assert.equal(
    roomEndReason(events(['RoomDeleted', 'deleted'], ['RoomCreated'], ['RoomDeleted', 'peerless'])),
    'nobody was in it any more',
  );
  assert.equal(roomEndReason(events(['RoomCrashed', 'node_lost'])), 'its node was lost');
  assert.equal(roomEndReason(events(['RoomCrashed', 'a worker died'])), 'of a fault on its node');
  assert.equal(roomEndReason(events(['RoomDeleted', 'a reason of a later version'])), undefined);
});
