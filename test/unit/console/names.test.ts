// Untrusted names in the console.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameOf } from '../../../packages/console/src/api/types.ts';
import { readReport } from '../../../packages/console/src/recordings/report.ts';
import { RoomList } from '../../../packages/console/src/rooms/room-list.ts';
import type { Room } from '../../../packages/server-sdk/src/generated/schemas.ts';

test('names lose marks that change the direction of the following text, but keep point marks', () => {
  const turned = '\u202Elive\u202C \u2066Ada\u2067 \u05D0\u200F!';
  const plain = 'live Ada \u05D0\u200F!';
  const metadata = { name: turned };
  assert.equal(nameOf(metadata), plain);
  assert.equal(readReport({ tracks: [{ metadata }] }).tracks[0]?.originName, plain);
  const room = { id: 'a', incarnation: '1', config: {}, components: [], peers: [{ id: 'p', status: 'connected', metadata }] };
  assert.deepEqual(new RoomList([room as unknown as Room]).rows()[0]?.names, [plain]);
});

test('invalid names and names of only marks and blanks are undefined', () => {
  for (const metadata of [undefined, null, 'Ada', [], {}, { name: 7 }, { name: '' }, { name: ' \u2066\t\u202E ' }])
    assert.equal(nameOf(metadata), undefined, JSON.stringify(metadata));
  assert.equal(nameOf({ name: '  Ada ' }), 'Ada');
});
