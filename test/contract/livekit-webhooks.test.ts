// Webhooks in LiveKit's form, verified by the receiver of LiveKit's server SDK, unmodified.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type WebhookEvent, WebhookReceiver } from 'livekit-server-sdk';
import { accessKey, accessKeysText, signAccessToken } from '../kit/access-tokens.ts';
import { secret } from '../kit/fakes/webhooks.ts';
import { LiveKitSocket } from '../kit/livekit/livekit-socket.ts';
import { enterRoom } from '../kit/network/room-sockets.ts';
import { accept, reject, startReceiver } from '../kit/network/webhook-receiver.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { opusParameters } from '../media/kit.ts';

const verifier = new WebhookReceiver(accessKey.id, accessKey.secret);

test('a receiver of LiveKit gets room, participants and tracks in order, signed by the access key, also after failures', async (t) => {
  const ours = await startReceiver(t);
  const theirs = await startReceiver(t, reject(500));
  const node = await startNode(t, {
    SVC_LIVEKIT_ENABLED: 'true',
    SVC_ACCESS_KEYS: accessKeysText,
    SVC_WEBHOOK_URLS: ours.url,
    SVC_WEBHOOK_SECRET: secret,
    SVC_WEBHOOK_LIVEKIT_URLS: theirs.url,
    SVC_WEBHOOK_ALLOW_PRIVATE: 'true',
  });
  assert.equal((await node.api.post('/room', { roomId: 'r', metadata: { topic: 'maths' }, maxPeers: 7 })).status, 201);
  await theirs.until(1);
  theirs.answer(accept);
  const own = await enterRoom(t, node, 'r', { peerId: 'own', metadata: { name: 'Own' } });
  const transport = await own.request('createTransport', { direction: 'send' });
  const track = { transportId: String(transport.data?.id), kind: 'audio', rtpParameters: opusParameters('0') };
  await own.request('publish', { ...track, metadata: { source: 'microphone' } });
  const token = await signAccessToken({ room: 'r', identity: 'ada@example.com', claims: { name: 'Ada' } });
  const ada = await LiveKitSocket.open(node.url, token);
  await ada.waitFor('join');
  assert.equal((await node.api.delete('/room/r/peer/own')).status, 204);
  ada.send({ case: 'leave', value: {} });
  await ada.closed;
  assert.equal((await node.api.delete('/room/r')).status, 204);
  await ours.untilTrue((received) => received.some(({ event }) => event.type === 'RoomDeleted'));

  const events: WebhookEvent[] = [];
  await theirs.untilTrue((received) => received.some(({ body }) => body.includes('room_finished')));
  for (const { headers, body } of theirs.received) {
    assert.equal(headers['content-type'], 'application/webhook+json');
    events.push(await verifier.receive(body, headers.authorization));
  }
  const seen = events.map(({ event, participant }) => [event, participant?.identity, participant?.name]);
  assert.deepEqual(seen, [
    ['room_started', undefined, undefined],
    ['room_started', undefined, undefined],
    ['participant_joined', 'own', 'Own'],
    ['track_published', 'own', 'Own'],
    ['participant_joined', 'ada@example.com', 'Ada'],
    ['track_unpublished', 'own', 'Own'],
    ['participant_left', 'own', 'Own'],
    ['participant_left', 'ada@example.com', 'Ada'],
    ['room_finished', undefined, undefined],
  ]);
  assert.equal(events[0]?.id, events[1]?.id);
  const [published, unpublished] = events.filter(({ track: each }) => each);
  assert.equal(published?.track?.sid, unpublished?.track?.sid);
  const rooms = new Set(events.map(({ room }) => `${room?.sid} ${room?.name} ${room?.metadata} ${room?.maxParticipants}`));
  assert.deepEqual([...rooms], [`${events[0]?.room?.sid} r {"topic":"maths"} 7`]);
  await assert.rejects(verifier.receive(`${theirs.received[0]?.body} `, theirs.received[0]?.headers.authorization));
});

test('a dead letter of a receiver of LiveKit is shown as our event, and is delivered again in its form', async (t) => {
  const theirs = await startReceiver(t, reject(410));
  const node = await startNode(t, {
    SVC_LIVEKIT_ENABLED: 'true',
    SVC_ACCESS_KEYS: accessKeysText,
    SVC_WEBHOOK_LIVEKIT_URLS: theirs.url,
    SVC_WEBHOOK_ALLOW_PRIVATE: 'true',
  });
  assert.equal((await node.api.post('/room', { roomId: 'r' })).status, 201);
  await theirs.until(1);
  await node.api.delete('/room/r');
  theirs.answer(accept);
  const { replayed } = (await node.api.post('/webhooks/dead/replay', { roomId: 'r' })).body.data;
  assert.ok(replayed >= 1);
  await theirs.until(2);
  const [, redelivered] = theirs.received;
  assert.equal((await verifier.receive(redelivered?.body ?? '', redelivered?.headers.authorization)).event, 'room_started');
});
