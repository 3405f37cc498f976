// Room end reason on the Watch page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { roomEndReason } from '../../../packages/console/src/watch/room-end-reason.ts';
import type { EventType } from '../../../packages/server-sdk/src/generated/schemas.ts';

test('the reason is derived from the last event of a room and undefined after it is recreated', () => {
  const events = (...kinds: [EventType, string?][]) => kinds.map(([type, reason]) => ({ type, ...(reason !== undefined && { reason }) }));
  assert.equal(roomEndReason([]), undefined);
  assert.equal(roomEndReason(events(['RoomCreated'], ['PeerDeleted', 'removed'])), undefined);
  assert.equal(roomEndReason(events(['RoomCreated'], ['RoomDeleted', 'draining'], ['HlsUploaded'])), 'its node was drained');
  assert.equal(roomEndReason(events(['RoomDeleted', 'draining'], ['RoomCreated'])), undefined);
  assert.equal(roomEndReason(events(['RoomDeleted', 'deleted'], ['RoomCreated'], ['RoomDeleted', 'peerless'])), 'it was empty');
  assert.equal(roomEndReason(events(['RoomCrashed', 'node_lost'])), 'its node was lost');
  assert.equal(roomEndReason(events(['RoomCrashed', 'a worker died'])), 'of an internal error');
  assert.equal(roomEndReason(events(['RoomDeleted', 'a reason of a later version'])), undefined);
});
