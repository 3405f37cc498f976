// Webhooks against real receivers: order, retries, permanent failures, and isolation of receivers.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { describe, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { roomEvent, secret, startWebhooks, testSettings, untilPending } from '../../../kit/fakes/webhooks.ts';
import { fieldsOf } from '../../../kit/fields.ts';
import { listen } from '../../../kit/network/listen.ts';
import { accept, reject, startReceiver } from '../../../kit/network/webhook-receiver.ts';
import { selfSigned } from '../../../kit/self-signed.ts';
import { tempFolder } from '../../../kit/temp-folder.ts';

const other = `whsec_${Buffer.from('another secret of 24 bytes or more').toString('base64')}`;

describe('deliveries', () => {
  it('go to the receiver of the room and to those of the cluster, once each, signed according to Standard Webhooks', async (t) => {
    const own = await startReceiver(t);
    const cluster = await startReceiver(t);
    const { webhooks } = startWebhooks(t, testSettings({ urls: [cluster.url] }));
    const event = roomEvent('one', 1);
    webhooks.publish(event, own.url);
    await Promise.all([own.until(1), cluster.until(1)]);
    for (const { received } of [own, cluster]) {
      const [got] = received;
      assert.deepEqual(new Webhook(secret).verify(got?.body ?? '', got?.headers ?? {}), event);
      assert.equal(got?.id, event.id);
      assert.equal(got?.headers['user-agent'], 'Mediarooms/test');
      assert.equal(got?.headers['content-type'], 'application/json');
      assert.equal(received.length, 1);
    }
  });

  it('carry two signatures during rotation of a secret, and either verifies', async (t) => {
    const receiver = await startReceiver(t);
    const { webhooks } = startWebhooks(t, testSettings({ secrets: [secret, other] }));
    webhooks.publish(roomEvent('one', 1), receiver.url);
    await receiver.until(1);
    const [got] = receiver.received;
    for (const each of [secret, other]) assert.ok(new Webhook(each).verify(got?.body ?? '', got?.headers ?? {}));
    const attacker = new Webhook(`whsec_${Buffer.alloc(24).toString('base64')}`);
    assert.throws(() => attacker.verify(got?.body ?? '', got?.headers ?? {}));
  });

  it('are not signed without a secret, which is logged once', async (t) => {
    const receiver = await startReceiver(t);
    const { webhooks, of } = startWebhooks(t, testSettings({ secrets: [] }));
    for (const seq of [1, 2]) webhooks.publish(roomEvent('one', seq), receiver.url);
    await receiver.until(2);
    assert.equal(receiver.received[0]?.headers['webhook-signature'], undefined);
    assert.equal(of('warn').filter(({ msg }) => msg.includes('not signed')).length, 1);
  });

  it('reuse connections', async (t) => {
    const receiver = await startReceiver(t);
    const { webhooks } = startWebhooks(t, testSettings());
    for (let seq = 1; seq <= 50; seq += 1) webhooks.publish(roomEvent('one', seq), receiver.url);
    await receiver.until(50);
    assert.equal(receiver.connections(), 1);
  });

  it('keep the order of a room despite failures, and are retried with the same id', async (t) => {
    const answers = [reject(500), reject(302, { location: '/elsewhere' }), reject(429), accept];
    const receiver = await startReceiver(t, (response, received, count, request) => {
      if (count % 7 === 0) response.destroy();
      else if (count % 11 === 0) response.writeHead(503, { 'content-length': '100' }).write('half', () => response.destroy());
      else answers[count % answers.length]?.(response, received, count, request);
    });
    const { webhooks } = startWebhooks(t, testSettings());
    const taken: string[] = [];
    for (let seq = 1; seq <= 20; seq += 1) {
      webhooks.publish(roomEvent('one', seq), receiver.url);
      webhooks.publish(roomEvent('two', seq), receiver.url);
    }
    await receiver.untilTrue(() => webhooks.counters().delivered >= 39);
    await untilPending(webhooks);
    for (const { id } of receiver.received) if (!taken.includes(id)) taken.push(id);
    for (const room of ['one', 'two']) {
      const first = taken.filter((id) => id.startsWith(`${room}-`));
      assert.deepEqual(
        first,
        Array.from({ length: 20 }, (_, index) => `${room}-${index + 1}`),
      );
    }
    assert.ok(
      receiver.received.every(({ path }) => path === '/hook'),
      'no redirect was followed',
    );
    assert.ok(webhooks.counters().retries > 0);
    assert.deepEqual(webhooks.counters().dead, 0);
  });

  it('start when a receiver that was down is up', async (t) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const first = await startReceiver(t, (response) => void response.destroy());
    const { webhooks } = startWebhooks(t, testSettings(), {
      dispatcher: {
        delay: (attempts) => {
          if (attempts === 3) resolve();
          return 10;
        },
      },
    });
    for (let seq = 1; seq <= 5; seq += 1) webhooks.publish(roomEvent('one', seq), first.url);
    await promise;
    const failed = first.received.length;
    first.answer(accept);
    await first.until(failed + 5);
    assert.deepEqual(
      fieldsOf(first.received.slice(-5), 'id'),
      [1, 2, 3, 4, 5].map((seq) => `one-${seq}`),
    );
  });

  it('wait for the time of Retry-After', async (t) => {
    const receiver = await startReceiver(
      t,
      (response, _, count) => void response.writeHead(count === 1 ? 503 : 204, { 'retry-after': '1' }).end(),
    );
    const { webhooks } = startWebhooks(t, testSettings());
    webhooks.publish(roomEvent('one', 1), receiver.url);
    await receiver.until(2);
    const [first, second] = receiver.received;
    assert.ok((second?.at ?? 0) - (first?.at ?? 0) >= 990);
  });

  it('stop for a room after a response of 410, and continue for other rooms', async (t) => {
    const receiver = await startReceiver(t, (response, { event }) => void response.writeHead(event.roomId === 'gone' ? 410 : 204).end());
    const { webhooks } = startWebhooks(t, testSettings());
    for (let seq = 1; seq <= 3; seq += 1) webhooks.publish(roomEvent('gone', seq), receiver.url);
    await receiver.until(1);
    await untilPending(webhooks);
    webhooks.publish(roomEvent('gone', 4), receiver.url);
    webhooks.publish(roomEvent('other', 1), receiver.url);
    await receiver.until(2);
    assert.deepEqual(fieldsOf(receiver.received, 'id'), ['gone-1', 'other-1']);
    assert.equal(webhooks.counters().dead, 4);
  });

  it('fail permanently at the configured age', async (t) => {
    const receiver = await startReceiver(t, reject(500));
    const { webhooks, of } = startWebhooks(t, testSettings({ maxAge: 2_000 }), { dispatcher: { delay: () => 1_000_000 } });
    webhooks.publish(roomEvent('one', 1), receiver.url);
    await receiver.until(2);
    await untilPending(webhooks);
    assert.equal(webhooks.counters().dead, 1);
    assert.match(String(of('error')[0]?.reason), /too old; the receiver responded with 500/);
  });

  it('do not wait for another receiver that hangs', async (t) => {
    const hanging = await startReceiver(t, () => {});
    const { webhooks } = startWebhooks(t, testSettings({ urls: [hanging.url] }), { poster: { deadline: 60_000 } });
    const quick = await startReceiver(t);
    for (let room = 0; room < 200; room += 1) webhooks.publish(roomEvent(`room-${room}`, 1), quick.url);
    await quick.until(200);
    assert.equal(hanging.received.length, 1, 'a receiver that has not responded yet gets one request');
  });

  it('have at most eight concurrent requests per receiver', async (t) => {
    const receiver = await startReceiver(t, (response, _, count) => {
      if (count === 1) response.writeHead(204).end();
    });
    const { webhooks } = startWebhooks(t, testSettings(), { poster: { deadline: 60_000 } });
    for (let room = 0; room < 50; room += 1) webhooks.publish(roomEvent(`room-${room}`, 1), receiver.url);
    await receiver.until(9);
    const quick = await startReceiver(t);
    webhooks.publish(roomEvent('another', 1), quick.url);
    await quick.until(1);
    assert.equal(receiver.received.length, 9);
  });

  it('are sent only to receivers with a trusted certificate', async (t) => {
    const { keyPath, certPath } = selfSigned(tempFolder(t), 'localhost', 'IP:127.0.0.1');
    const taken: string[] = [];
    const server = createTlsServer({ key: readFileSync(keyPath), cert: readFileSync(certPath) }, (request, response) => {
      taken.push(String(request.headers['webhook-id']));
      request.resume().on('end', () => response.writeHead(204).end());
    });
    const url = `https://127.0.0.1:${await listen(t, server)}/`;
    const strict = startWebhooks(t, testSettings({ maxAge: 0 }));
    strict.webhooks.publish(roomEvent('strict', 1), url);
    const lenient = startWebhooks(t, testSettings(), { poster: { ca: readFileSync(certPath, 'utf8') } });
    lenient.webhooks.publish(roomEvent('lenient', 1), url);
    for (const { webhooks } of [strict, lenient]) await untilPending(webhooks);
    assert.match(String(strict.of('error')[0]?.reason), /self-signed certificate/);
    assert.deepEqual(taken, ['lenient-1']);
  });

  it('end at the timeout of a request', async (t) => {
    const receiver = await startReceiver(t, (response, _, count) => {
      if (count > 1) response.writeHead(204).end();
    });
    const { webhooks, of } = startWebhooks(t, testSettings(), { poster: { deadline: 50 } });
    webhooks.publish(roomEvent('one', 1), receiver.url);
    await receiver.until(2);
    assert.match(String(of('info')[0]?.why), /timeout/);
  });

  it('are limited while pending: the oldest fail first', async (t) => {
    const receiver = await startReceiver(t, reject(500));
    const { webhooks } = startWebhooks(t, testSettings({ pendingMaxBytes: 4_000 }), { dispatcher: { delay: () => 1_000_000 } });
    for (let seq = 1; seq <= 100; seq += 1) webhooks.publish(roomEvent('one', seq), receiver.url);
    const { pending, pendingBytes, dead } = webhooks.counters();
    assert.ok(pendingBytes <= 4_000 && pending > 0);
    assert.equal(pending + dead, 100);
  });

  it('of an endless room displace its own and none of other rooms', async (t) => {
    const receiver = await startReceiver(t, reject(500));
    const settings = testSettings({ pendingMaxBytes: 64 * 1024 });
    const { webhooks, of } = startWebhooks(t, settings, { dispatcher: { delay: () => 1_000_000 } });
    for (const room of ['quiet', 'other']) for (let seq = 1; seq <= 5; seq += 1) webhooks.publish(roomEvent(room, seq), receiver.url);
    for (let seq = 1; seq <= 1_000; seq += 1) webhooks.publish(roomEvent('greedy', seq), receiver.url);
    const dead = of('error').filter(({ msg }) => msg === 'webhook failed permanently');
    assert.deepEqual(new Set(dead.map(({ roomId }) => roomId)), new Set(['greedy']));
    assert.deepEqual(fieldsOf(dead.slice(0, 2), 'event'), ['greedy-1', 'greedy-2']);
    const { pending, pendingBytes } = webhooks.counters();
    assert.equal(pending, 10 + 1_000 - dead.length);
    assert.ok(pendingBytes < (64 * 1024) / 2, `${pendingBytes} bytes are pending`);
  });

  it('of many rooms displace those of the room with the most', async (t) => {
    const receiver = await startReceiver(t, reject(500));
    const settings = testSettings({ pendingMaxBytes: 32 * 1024 });
    const { webhooks, of } = startWebhooks(t, settings, { dispatcher: { delay: () => 1_000_000 } });
    webhooks.publish(roomEvent('quiet', 1), receiver.url);
    for (let seq = 1; seq <= 5; seq += 1)
      for (let room = 0; room < 20; room += 1) webhooks.publish(roomEvent(`r${room}`, seq), receiver.url);
    const dead = of('error').filter(({ msg }) => msg === 'webhook failed permanently');
    assert.ok(dead.length > 0 && webhooks.counters().pendingBytes <= 32 * 1024);
    assert.ok(dead.every(({ roomId }) => roomId !== 'quiet'));
  });
});

describe('private addresses, if they are forbidden', () => {
  for (const host of ['127.0.0.1', '[::1]', '10.1.2.3', '169.254.169.254', '[::ffff:127.0.0.1]', '2130706433']) {
    it(`are rejected: ${host}`, async (t) => {
      const receiver = await startReceiver(t);
      const { webhooks, of } = startWebhooks(t, testSettings({ allowPrivate: false }));
      webhooks.publish(roomEvent('one', 1), `http://${host}:${receiver.port}/`);
      await untilPending(webhooks);
      assert.match(String(of('error')[0]?.reason), /private address/);
      assert.equal(receiver.received.length, 0);
    });
  }

  it('are rejected if a name resolves to them', async (t) => {
    const receiver = await startReceiver(t);
    const { webhooks, of } = startWebhooks(t, testSettings({ allowPrivate: false }), {
      poster: { lookup: (_, __, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]) },
    });
    webhooks.publish(roomEvent('one', 1), `http://hooks.example:${receiver.port}/`);
    await untilPending(webhooks);
    assert.match(String(of('error')[0]?.reason), /hooks\.example is or resolves to a private address/);
    assert.equal(receiver.received.length, 0);
  });

  it('are not reached through a connection opened while they were allowed', async (t) => {
    const receiver = await startReceiver(t);
    const settings = testSettings();
    const { webhooks } = startWebhooks(t, settings, {
      poster: {
        lookup: (_, { all }, callback) => (all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4)),
      },
    });
    webhooks.publish(roomEvent('one', 1), `http://hooks.example:${receiver.port}/`);
    await receiver.until(1);
    settings.allowPrivate = false;
    webhooks.publish(roomEvent('one', 2), `http://hooks.example:${receiver.port}/`);
    await untilPending(webhooks);
    assert.equal(receiver.received.length, 1);
    assert.equal(webhooks.counters().dead, 1);
  });
});
