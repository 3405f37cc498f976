// A node with a full disk under the webhook spool: it logs and counts that, and delivers from memory.
import assert from 'node:assert/strict';
import { statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { accept, reject, startReceiver } from '../kit/network/webhook-receiver.ts';
import { smallDisk } from '../kit/processes/small-disk.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { recordedLog } from '../kit/recorded-log.ts';

test('a node with a full disk keeps running, logs it once, and delivers webhooks from memory in order', async (t) => {
  const resources = smallDisk(t, '64k');
  if (resources === undefined) return;
  const receiver = await startReceiver(t, reject(500));
  const { log, of } = recordedLog();
  const { api, metricsUrl, peerSocketUrl } = await startNode(
    t,
    { SVC_RESOURCES_BASE_PATH: resources, SVC_WEBHOOK_URLS: receiver.url },
    log,
  );
  assert.equal((await api.post('/room', { roomId: 'before' })).status, 201);
  const { bavail, bsize } = statfsSync(resources);
  writeFileSync(join(resources, 'filler'), Buffer.alloc(bavail * bsize));

  assert.equal((await api.post('/room', { roomId: 'full' })).status, 201);
  for (let count = 0; count < 100; count += 1) {
    const { status, body } = await api.post('/room/full/peer', { type: 'webrtc', peerId: `p${count}` });
    assert.equal(status, 201);
    if (count > 0) continue;
    const peer = await PeerSocket.enter(peerSocketUrl, body.data.token);
    t.after(() => peer.cut());
    assert.equal((await peer.request('createTransport', { direction: 'send' })).ok, true, 'media still works');
  }
  const said = of('error').filter(({ msg }) => msg.includes('could not write webhook spool'));
  assert.equal(said.length, 1);
  const errors = /^svc_webhook_spool_errors_total (\d+)$/m.exec(await (await fetch(metricsUrl)).text());
  assert.ok(Number(errors?.[1]) > 0, String(errors));
  assert.equal((await api.get('/webhooks')).body.data[0].spoolErrors > 0, true);

  receiver.answer(accept);
  await receiver.untilTrue((all) => all.some(({ event }) => event.peerId === 'p99' && event.type === 'PeerAdded'));
  const seqs = new Map(receiver.received.filter(({ event }) => event.roomId === 'full').map(({ id, event }) => [id, event.seq]));
  assert.deepEqual(
    [...seqs.values()],
    Array.from({ length: seqs.size }, (_, index) => index + 1),
  );
  assert.ok(seqs.size >= 102);
});
