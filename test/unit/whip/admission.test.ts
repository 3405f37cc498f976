// Admission of encoders: which token opens which room and peer, and one message for each that does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RoomOptions } from '../../../api/room.ts';
import { AccessAdmission } from '../../../node/rooms/access-admission.ts';
import { AccessTokens } from '../../../node/rooms/tokens/access-tokens.ts';
import { WhipAdmission } from '../../../node/whip/admission.ts';
import { type AccessTokenInit, accessKey, signAccessToken } from '../../kit/access-tokens.ts';
import { makeRooms } from '../../kit/fakes/rooms.ts';

/** `createdHere`: false if new rooms are placed on another node. */
function start({ createdHere = true } = {}) {
  const { rooms, keys } = makeRooms();
  const opened: RoomOptions[] = [];
  const access = new AccessAdmission({
    rooms,
    tokens: new AccessTokens({ keys: () => [accessKey], maxTtl: () => 86_400_000 }),
    openRoom: async (room) => {
      opened.push(room);
      if (createdHere) await rooms.createRoom(room);
    },
    discovering: () => false,
  });
  const admission = new WhipAdmission({ rooms, tokens: keys, access });
  const sign = (init: AccessTokenInit = {}) => signAccessToken({ room: 'r', ...init });
  const enter = async (init?: AccessTokenInit, forwarded = false) => admission.enter({ roomId: 'r', token: await sign(init) }, forwarded);
  return { rooms, admission, opened, sign, enter };
}
const creates = { roomCreate: true };
const seconds = () => Math.floor(Date.now() / 1000);

test('a peer token admits to its peer, which it neither creates nor takes over', async () => {
  const { rooms, admission } = start();
  await rooms.createRoom({ roomId: 'r' });
  const { token, peer } = await rooms.addPeer('r', { type: 'webrtc', peerId: 'alice' });
  assert.deepEqual(await admission.enter({ roomId: 'r', token }, false), { peer, takeover: false });
  assert.equal(await admission.find({ roomId: 'r', token }), peer);
  await assert.rejects(admission.find({ roomId: 's', token }), { code: 'forbidden', message: 'This token is for another room' });
  await assert.rejects(admission.find({ roomId: 'r', token: `${token}x` }), { code: 'invalid_token', message: 'Invalid token' });
  peer.remove('removed');
  await assert.rejects(admission.enter({ roomId: 'r', token }, false), { code: 'peer_not_found' });
});

test('an access token creates its room and its peer, with the profile and the permissions of its claims', async () => {
  const { enter, opened } = start();
  const claims = { name: 'Camera 1', attributes: { seat: '7' } };
  const admitted = await enter({ identity: 'camera', claims, video: { ...creates, canPublishSources: ['microphone'] } });
  assert.deepEqual(opened, [{ roomId: 'r', peerlessPurgeTimeout: 300 }]);
  const view = admitted?.peer.view();
  assert.deepEqual([view?.id, view?.metadata, view?.attributes], ['camera', { name: 'Camera 1' }, { seat: '7' }]);
  assert.deepEqual([view?.permissions.publish, admitted?.takeover], [['audio'], true]);
  assert.equal((await enter({ identity: 'camera' }))?.peer, admitted?.peer);
});

test('a room that was created on another node is entered there, and never created by the second node of a request', async () => {
  const { enter, opened } = start({ createdHere: false });
  assert.equal(await enter({ video: creates }), undefined);
  await assert.rejects(enter({ video: creates }, true), { code: 'unavailable', message: 'Room r is no longer on this node' });
  await assert.rejects(enter({}, true), { code: 'room_not_found', message: 'Room r does not exist' });
  assert.equal(opened.length, 1);
});

test('an access token that does not admit is rejected with one message, and creates neither room nor peer', async () => {
  const { admission, enter, rooms, sign } = start();
  const notPermitted = { code: 'forbidden', message: 'The access token does not permit publishing (canPublish, hidden)' };
  await assert.rejects(enter({ video: { ...creates, canPublish: false } }), notPermitted);
  await assert.rejects(enter({ video: { ...creates, hidden: true } }), notPermitted);
  await assert.rejects(enter({ video: creates, now: 0 }), { code: 'invalid_token', message: 'The access token has expired' });
  const other = admission.enter({ roomId: 'other', token: await sign({ video: creates }) }, false);
  await assert.rejects(other, { code: 'forbidden', message: 'This token is for another room' });
  await assert.rejects(enter({}), { code: 'room_not_found', message: 'Room r does not exist' });
  assert.equal(rooms.size, 0);
});

test('a request about a session never creates the peer of its access token, and a deletion revokes the token', async () => {
  const { admission, enter, rooms, sign } = start();
  const now = seconds();
  await rooms.createRoom({ roomId: 'r' });
  const request = { roomId: 'r', token: await sign({ identity: 'ada@example.com', now }) };
  await assert.rejects(admission.find(request), { code: 'peer_not_found', message: 'Peer ada@example.com does not exist' });
  const admitted = await enter({ identity: 'ada@example.com', now });
  assert.equal(await admission.find(request), admitted?.peer);
  rooms.room('r').peers.delete(admitted?.peer.id ?? '');
  const message = 'The access token is revoked: its peer was removed after it was issued';
  await assert.rejects(admission.find(request), { code: 'invalid_token', message });
  await assert.rejects(admission.enter(request, false), { code: 'invalid_token', message });
  rooms.room('r').close('deleted');
  await assert.rejects(enter({ video: creates, now }), {
    code: 'invalid_token',
    message: 'The access token is revoked: its room was deleted after it was issued',
  });
  assert.equal(rooms.size, 0);
});
