// Webhooks of a whole node: what real rooms cause, as a receiver gets it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { startNode } from '../kit/start-node.ts';
import { startReceiver } from '../kit/webhook-receiver.ts';
import { secret } from '../kit/webhooks.ts';

test('a receiver of a room and one of the cluster get every event of the room in order, the last one too, signed', async (t) => {
  const own = await startReceiver(t);
  const cluster = await startReceiver(t);
  const { url, token } = await startNode(t, {
    SVC_WEBHOOK_URLS: cluster.url,
    SVC_WEBHOOK_SECRET: secret,
    SVC_WEBHOOK_ALLOW_PRIVATE: 'true',
  });
  const call = (method: string, path: string, body?: object) =>
    fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
  assert.equal((await call('POST', '/room', { roomId: 'one', webhookUrl: own.url })).status, 201);
  assert.equal((await call('POST', '/room/one/peer', { type: 'webrtc', peerId: 'alice' })).status, 201);
  assert.equal((await call('DELETE', '/room/one/peer/alice')).status, 204);
  assert.equal((await call('DELETE', '/room/one')).status, 204);
  await Promise.all([own.until(4), cluster.until(4)]);
  for (const { received } of [own, cluster]) {
    assert.deepEqual(
      received.map(({ event }) => [event.seq, event.type]),
      [
        [1, 'RoomCreated'],
        [2, 'PeerAdded'],
        [3, 'PeerDeleted'],
        [4, 'RoomDeleted'],
      ],
    );
    for (const { body, headers } of received) assert.ok(new Webhook(secret).verify(body, headers));
  }
});
