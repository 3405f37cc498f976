// Webhooks in LiveKit's form: which events of a room become which of theirs, and what they contain.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EgressStatus, RoomEndReason, WebhookEvent } from '@livekit/protocol';
import { WebhookReceiver } from 'livekit-server-sdk';
import { LiveKitWebhooks } from '../../../node/livekit/server/webhook-form.ts';
import { accessKey } from '../../kit/access-tokens.ts';
import { connectPeer, flushEvents, makeRooms } from '../../kit/fakes/rooms.ts';
import { roomEvent } from '../../kit/fakes/webhooks.ts';

/** A room with manual admission, and what its events become. */
async function start() {
  const converted: WebhookEvent[] = [];
  const convert = () => {
    const event = made.events.at(-1);
    const json = event && form.convert(event);
    if (json) converted.push(WebhookEvent.fromJson(json as never));
  };
  const made = makeRooms({}, { onEvent: convert });
  const form = new LiveKitWebhooks({ rooms: made.rooms, keys: () => [accessKey] });
  await made.rooms.createRoom({ roomId: 'r', admission: 'manual' });
  return { ...made, form, converted };
}

test('participants, components and recordings of a room are events of LiveKit', async () => {
  const { rooms, converted } = await start();
  await rooms.addPeer('r', { type: 'webrtc', peerId: 'ada', externalId: 'ada@example.com', attributes: { role: 'host' }, admitted: true });
  await connectPeer(rooms, 'r', 'ada');
  await rooms.addPeer('r', { type: 'webrtc', peerId: 'eve' });
  rooms
    .room('r')
    .peers.get('eve')
    .connect({ send: () => {}, pongTimeoutChanged: () => {}, close: () => {} });
  rooms.room('r').peers.deny('eve');
  const { component: file } = await rooms.addComponent('r', { type: 'file', options: { filePath: 'a.ogg' } });
  const { component: recording } = await rooms.addComponent('r', { type: 'recording' });
  await flushEvents();
  await rooms.patchRoom('r', { metadata: 'second' });
  await rooms.deleteRoom('r');
  assert.deepEqual(
    converted.map(({ event, participant, egressInfo }) => [event, participant?.identity ?? egressInfo?.egressId]),
    [
      ['room_started', undefined],
      ['participant_joined', 'ada@example.com'],
      ['participant_connection_aborted', 'eve'],
      ['participant_joined', file.id],
      ['track_published', file.id],
      ['egress_started', `EG_r.${recording.id}`],
      ['track_unpublished', file.id],
      ['participant_left', file.id],
      ['egress_ended', `EG_r.${recording.id}`],
      ['participant_left', 'ada@example.com'],
      ['room_finished', undefined],
    ],
  );
  const [, joined] = converted;
  assert.equal(joined?.participant?.attributes.role, 'host');
  assert.equal(converted[7]?.room?.activeRecording, true);
  assert.equal(converted[8]?.egressInfo?.status, EgressStatus.EGRESS_COMPLETE);
  assert.deepEqual([converted[10]?.roomEndReason, converted[10]?.room?.metadata], [RoomEndReason.ROOM_END_API_DELETE, 'second']);
});

test('events of a room that was lost with its node contain the ids of participants', () => {
  const form = new LiveKitWebhooks({ rooms: { find: () => undefined }, keys: () => [] });
  const left = form.convert({ ...roomEvent('lost', 1, 'PeerDisconnected'), peerId: 'ada' });
  const { event, participant, room } = WebhookEvent.fromJson(left as never);
  assert.deepEqual([event, participant?.identity, room?.name], ['participant_left', 'ada', 'lost']);
  assert.equal(form.convert(roomEvent('lost', 2, 'HlsPlayable')), undefined);
});

test('the first key with a secret signs', async () => {
  const keys = [{ id: 'public', publicKey: 'unused' }, accessKey];
  const form = new LiveKitWebhooks({ rooms: { find: () => undefined }, keys: () => keys });
  const { authorization } = await form.headers('{}');
  await new WebhookReceiver(accessKey.id, accessKey.secret).receive('{}', authorization);
  const unsigned = new LiveKitWebhooks({ rooms: { find: () => undefined }, keys: () => [] });
  await assert.rejects(unsigned.headers('{}'), /no access key with a secret/);
});
