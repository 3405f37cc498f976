// Server access: grants of access tokens for requests of a backend.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../../api/errors.ts';
import { ServerAccess } from '../../../../node/rooms/tokens/server-access.ts';

const of = (video: object, key = {}) => new ServerAccess({ video }, { id: 'backend', ...key });

function rejection(check: () => unknown): string {
  try {
    check();
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error));
    return `${error.code}: ${error.message}`;
  }
  return 'accepted';
}

test('a grant is valid for its room, and roomCreate without a room for all', () => {
  of({ roomAdmin: true, room: 'r' }).requireRoom('roomAdmin', 'r');
  of({ roomCreate: true }).requireRoom('roomCreate', 'r');
  of({ roomCreate: true, room: 'r' }).requireRoom('roomCreate', 'r');
  of({ roomList: true }).require('roomList');
  new ServerAccess({ sip: { call: true } }, { id: 'backend' }).requireSip('call');
  const cases: [() => unknown, string][] = [
    [() => of({ roomAdmin: true }).requireRoom('roomAdmin', 'r'), 'forbidden: The grant roomAdmin of the access token is not for room r'],
    [
      () => of({ roomCreate: true, room: 'x' }).requireRoom('roomCreate', 'r'),
      'forbidden: The grant roomCreate of the access token is not for room r',
    ],
    [() => of({}).requireRoom('roomCreate', 'r'), 'forbidden: The access token has no grant roomCreate'],
    [() => of({ roomList: false }).require('roomList'), 'forbidden: The access token has no grant roomList'],
    [() => of({}).requireSip('call'), 'forbidden: The access token has no grant sip.call'],
    [() => of({ room: 7 }), 'invalid_token: Access token: Expected video.room to be a string, got: 7'],
  ];
  for (const [check, expected] of cases) assert.equal(rejection(check), expected);
});

test('a token of a participant permits no requests of a backend', () => {
  assert.equal(
    rejection(() => of({ roomJoin: true, roomCreate: true, roomAdmin: true, room: 'r' })),
    'forbidden: An access token of a participant (roomJoin) does not permit requests of a backend',
  );
});

test('the restrictions of a key apply', () => {
  const partner = { id: 'partner', roomPrefix: 'partner-', roomCreate: false };
  of({ roomAdmin: true, room: 'partner-1' }, partner).requireRoom('roomAdmin', 'partner-1');
  assert.equal(
    rejection(() => of({ roomAdmin: true, room: 'r' }, partner).requireRoom('roomAdmin', 'r')),
    'forbidden: The access key partner is valid for rooms with the prefix partner- only',
  );
  assert.equal(
    rejection(() => of({ roomCreate: true }, partner).requireRoom('roomCreate', 'partner-1')),
    'forbidden: The access key partner creates and deletes no rooms',
  );
  assert.equal(of({ roomList: true }, partner).includes('r'), false);
});
