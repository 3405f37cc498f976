// Webhook receivers that start late, are slow, or close during their response.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../kit/eventually.ts';
import { roomEvent, startWebhooks, testSettings, untilPending } from '../../../kit/fakes/webhooks.ts';
import { fieldsOf } from '../../../kit/fields.ts';
import { freePort } from '../../../kit/network/free-ports.ts';
import { accept, reject, startReceiver } from '../../../kit/network/webhook-receiver.ts';
import { stopwatch } from '../../../kit/promised-time.ts';

const inOrder = (room: string, count: number) => Array.from({ length: count }, (_, index) => `${room}-${index + 1}`);

describe('a receiver', () => {
  it('that rejects connections at first gets all events in order once it listens', async (t) => {
    const port = await freePort();
    const { webhooks, of } = startWebhooks(t, testSettings());
    for (let seq = 1; seq <= 5; seq += 1) webhooks.publish(roomEvent('one', seq), `http://127.0.0.1:${port}/hook`);
    await eventually('three attempts have failed', () => webhooks.counters().retries >= 3, { every: 2 });
    assert.match(String(of('info')[0]?.why), /ECONNREFUSED/);
    const receiver = await startReceiver(t, undefined, port);
    await receiver.until(5);
    assert.deepEqual(fieldsOf(receiver.received, 'id'), inOrder('one', 5));
  });

  it('that is slow gets each event once and in order, without delaying others', async (t) => {
    const quickIsThrough = Promise.withResolvers<void>();
    const slow = await startReceiver(t, async (response) => {
      await quickIsThrough.promise;
      await sleep(100);
      response.writeHead(200).end('thanks');
    });
    const quick = await startReceiver(t);
    const { webhooks } = startWebhooks(t, testSettings({ urls: [slow.url] }));
    for (let seq = 1; seq <= 10; seq += 1) webhooks.publish(roomEvent('one', seq), quick.url);
    await quick.until(10);
    const elapsed = stopwatch();
    quickIsThrough.resolve();
    await slow.until(10);
    // Nine responses precede the tenth request; a timer may fire up to a millisecond early.
    assert.ok(elapsed() >= 890, 'one at a time within a room');
    for (const { received } of [slow, quick]) assert.deepEqual(fieldsOf(received, 'id'), inOrder('one', 10));
  });

  it('that sends its response too slowly exceeds the timeout, and gets the event again with the same id', async (t) => {
    const receiver = await startReceiver(t, (response, _received, count) => {
      if (count > 1) return void response.writeHead(204).end();
      const { socket } = response;
      // One byte of the head every 150 ms: incomplete at the timeout.
      void (async () => {
        for (const byte of 'HTTP/1.1 200 OK\r\nx-slow: and slower\r\n\r\n') {
          if (socket?.destroyed) return;
          socket?.write(byte);
          await sleep(150);
        }
      })();
    });
    const { webhooks } = startWebhooks(t, testSettings(), { poster: { deadline: 4_000 } });
    for (let seq = 1; seq <= 3; seq += 1) webhooks.publish(roomEvent('one', seq), receiver.url);
    await receiver.until(4);
    assert.deepEqual(fieldsOf(receiver.received, 'id'), ['one-1', ...inOrder('one', 3)]);
  });

  it('that closes during its response gets the event again', async (t) => {
    const receiver = await startReceiver(t, (response, _received, count) => {
      if (count > 2) return void response.writeHead(204).end();
      const { socket } = response;
      socket?.end(count === 1 ? 'HTTP/1.1 20' : 'HTTP/1.1 200 OK\r\ncontent-le');
    });
    const { webhooks } = startWebhooks(t, testSettings());
    for (let seq = 1; seq <= 2; seq += 1) webhooks.publish(roomEvent('one', seq), receiver.url);
    await receiver.until(4);
    assert.deepEqual(fieldsOf(receiver.received, 'id'), ['one-1', 'one-1', 'one-1', 'one-2']);
    await untilPending(webhooks);
    assert.equal(webhooks.counters().retries, 2);
  });

  it('is listed with pending deliveries and the last error, and a receiver of the cluster also without pending ones', async (t) => {
    const cluster = await startReceiver(t);
    const refusing = await startReceiver(t, reject(500));
    const silent = `http://127.0.0.1:${await freePort()}/hook?key=secret`;
    const { webhooks } = startWebhooks(t, testSettings({ urls: [cluster.url] }));
    const reported = (url: string) => webhooks.receivers().find((receiver) => receiver.url === url);
    const idle = { url: cluster.url, pending: 0, rooms: 0, failing: false };
    assert.deepEqual(webhooks.receivers(), [idle]);
    webhooks.publish(roomEvent('one', 1), refusing.url);
    webhooks.publish(roomEvent('two', 1), silent);
    for (const url of [refusing.url, silent])
      await eventually(`the problem of ${url}`, () => reported(url)?.problem !== undefined, { every: 2 });
    assert.deepEqual(reported(refusing.url), {
      url: refusing.url,
      pending: 1,
      rooms: 1,
      failing: false,
      problem: 'the receiver responded with 500',
    });
    assert.match(reported(silent)?.problem ?? '', /ECONNREFUSED/);
    assert.equal(reported(silent)?.failing, true);
    const done = await startReceiver(t, reject(410));
    webhooks.publish(roomEvent('three', 1), done.url);
    await eventually('it is a dead letter', () => webhooks.counters().dead >= 1, { every: 2 });
    const { pending, rooms, problem } = reported(done.url) ?? {};
    assert.deepEqual([pending, rooms], [0, 0]);
    assert.match(problem ?? '', /410/);
    webhooks.publish(roomEvent('three', 2, 'RoomDeleted'), done.url);
    assert.equal(reported(done.url), undefined, 'the room has ended');
    refusing.answer(accept);
    await untilPending(webhooks, 1);
    assert.equal(reported(refusing.url), undefined);
    assert.deepEqual(reported(cluster.url), idle);
  });

  it('that responded with 410 are remembered after the end of the room only while deliveries are pending', async (t) => {
    const receivers = await Promise.all([1, 2, 3].map(() => startReceiver(t, reject(410))));
    const { webhooks } = startWebhooks(t, testSettings());
    for (const [index, { url }] of receivers.entries()) {
      webhooks.publish(roomEvent(`room-${index}`, 1), url);
      webhooks.publish(roomEvent(`room-${index}`, 2, 'RoomDeleted'), url);
    }
    const ofAnother = roomEvent('elsewhere', 1);
    const { roomId, incarnation, id: eventId } = ofAnother;
    const [taken] = receivers;
    webhooks.take([{ url: taken?.url, roomId, incarnation, eventId, at: Date.now(), body: JSON.stringify(ofAnother) }]);
    await untilPending(webhooks);
    assert.equal(webhooks.counters().dead, 7);
    assert.deepEqual(webhooks.receivers(), []);
  });
});
