// Events of the server SDK: the iterator over the server websocket of a real node with network failures, and webhooks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type EventStreamOptions,
  Mediarooms,
  MediaroomsError,
  type RoomEvent,
  WebhookVerifier,
} from '../../packages/server-sdk/src/index.ts';
import { startTcpProxy } from '../kit/network/tcp-proxy.ts';
import { startReceiver } from '../kit/network/webhook-receiver.ts';
import { startNode } from '../kit/processes/start-node.ts';

/** Reads a number of events. */
async function take(events: AsyncIterator<RoomEvent, void>, count: number): Promise<RoomEvent[]> {
  const taken: RoomEvent[] = [];
  while (taken.length < count) {
    const { done, value } = await events.next();
    if (done || !value) break;
    taken.push(value);
  }
  return taken;
}

const names = (events: readonly RoomEvent[]) => events.map(({ type, roomId }) => `${type} ${roomId}`);

test('events arrive in order across connection losses, without duplicates and gaps', async (t) => {
  const node = await startNode(t);
  const proxy = await startTcpProxy(t, node.port);
  const direct = new Mediarooms({ url: node.url, token: node.token });
  const lost = Promise.withResolvers<MediaroomsError>();
  const events = new Mediarooms({ url: `http://127.0.0.1:${proxy.port}`, token: node.token }).events({
    cursor: {},
    onDisconnect: (error) => lost.resolve(error),
  });
  const iterator = events[Symbol.asyncIterator]();
  await direct.rooms.create({ roomId: 'before' });
  assert.deepEqual(names(await take(iterator, 1)), ['RoomCreated before']);
  proxy.cut();
  await direct.rooms.create({ roomId: 'meanwhile' });
  await direct.rooms.delete('before');
  assert.equal((await lost.promise).code, 'connection_failed');
  proxy.restore();
  assert.deepEqual(names(await take(iterator, 2)), ['RoomCreated meanwhile', 'RoomDeleted before']);
  await direct.rooms.delete('meanwhile');
  assert.deepEqual(names(await take(iterator, 1)), ['RoomDeleted meanwhile']);
  assert.ok(proxy.connections() >= 2);
  await iterator.return();
  assert.deepEqual(await iterator.next(), { done: true, value: undefined });
});

test('a stream resumes at the cursor of an earlier one, and reports lost events', async (t) => {
  const node = await startNode(t);
  const mediarooms = new Mediarooms({ url: node.url, token: node.token });
  const first = mediarooms.events({ cursor: {} });
  assert.equal(first.cursor && Object.keys(first.cursor).length, 0);
  for (const roomId of ['a', 'b', 'c']) await mediarooms.rooms.create({ roomId });
  for await (const event of first) if (event.roomId === 'b') break;
  const { cursor } = first;
  assert.ok(cursor);
  const gaps: string[][] = [];
  const options: EventStreamOptions = {
    cursor: { ...JSON.parse(JSON.stringify(cursor)), 'gone@host#1': 7 },
    onGap: (sources) => gaps.push([...sources]),
  };
  const second = mediarooms.events(options);
  assert.deepEqual(names(await take(second[Symbol.asyncIterator](), 1)), ['RoomCreated c']);
  second.close();
  assert.deepEqual(gaps, [['gone@host#1']]);
});

test('event types and rooms can be filtered, and a stream has only one reader', async (t) => {
  const node = await startNode(t);
  const mediarooms = new Mediarooms({ url: node.url, token: node.token });
  const events = mediarooms.events({ cursor: {}, types: ['RoomDeleted'], rooms: ['y'] });
  for (const roomId of ['x', 'y']) {
    await mediarooms.rooms.create({ roomId });
    await mediarooms.rooms.delete(roomId);
  }
  const iterator = events[Symbol.asyncIterator]();
  const [event] = await take(iterator, 1);
  assert.ok(event?.type === 'RoomDeleted');
  const reason: string = event.reason;
  assert.deepEqual([event.roomId, reason], ['y', 'deleted']);
  await assert.rejects(events[Symbol.asyncIterator]().next(), TypeError);
  events.close();
  assert.equal((await iterator.next()).done, true);
});

test('events that are not read are buffered at the server, without loss', async (t) => {
  const node = await startNode(t);
  const proxy = await startTcpProxy(t, node.port);
  const mediarooms = new Mediarooms({ url: node.url, token: node.token });
  const events = new Mediarooms({ url: `http://127.0.0.1:${proxy.port}`, token: node.token }).events({ cursor: {}, buffer: 8 });
  const iterator = events[Symbol.asyncIterator]();
  const expected: string[] = [];
  for (let index = 0; index < 30; index += 1) {
    await mediarooms.rooms.create({ roomId: `room-${index}` });
    expected.push(`RoomCreated room-${index}`);
  }
  assert.deepEqual(names(await take(iterator, 30)), expected);
  assert.ok(proxy.connections() >= 3, `${proxy.connections()} connections`);
  events.close();
});

test('an abort signal ends a stream without error, and a rejected token ends it with the error', async (t) => {
  const node = await startNode(t);
  const mediarooms = new Mediarooms({ url: node.url, token: node.token });
  const abort = new AbortController();
  await mediarooms.rooms.create({ roomId: 'only' });
  const seen: string[] = [];
  for await (const event of mediarooms.events({ cursor: {}, signal: abort.signal })) {
    seen.push(event.type);
    abort.abort();
  }
  assert.deepEqual(seen, ['RoomCreated']);
  for await (const event of mediarooms.events({ signal: AbortSignal.abort() })) assert.fail(event.type);
  const wrong = new Mediarooms({ url: node.url, token: 'wrong' }).events()[Symbol.asyncIterator]();
  await assert.rejects(wrong.next(), (error) => error instanceof MediaroomsError && error.code === 'invalid_token');
});

test('webhooks of a node are verified and typed, and rejected after any modification', async (t) => {
  const secrets = [0, 1].map(() => `whsec_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64')}`);
  const [old = '', fresh = ''] = secrets;
  const receiver = await startReceiver(t);
  const node = await startNode(t, { SVC_WEBHOOK_SECRET: old, SVC_WEBHOOK_ALLOW_PRIVATE: 'true' });
  const mediarooms = new Mediarooms({ url: node.url, token: node.token });
  await mediarooms.rooms.create({ roomId: 'hooked', webhookUrl: receiver.url });
  await receiver.until(1);
  const [{ body, headers } = { body: '', headers: {} }] = receiver.received;
  // During rotation both secrets are valid.
  const verifier = new WebhookVerifier({ secrets: [fresh, old] });
  const { id, event } = await verifier.verify(body, headers);
  assert.deepEqual([event.type, event.roomId, event.id], ['RoomCreated', 'hooked', id]);
  const request = new Request('http://host/hook', { method: 'POST', body, headers: new Headers(headers) });
  assert.deepEqual((await verifier.verifyRequest(request)).event, event);
  const isInvalid = (error: unknown) => error instanceof MediaroomsError && error.code === 'invalid_webhook';
  await assert.rejects(verifier.verify(body.replace('hooked', 'hijack'), headers), isInvalid);
  await assert.rejects(verifier.verify(body, { ...headers, 'webhook-id': 'other' }), isInvalid);
  await assert.rejects(verifier.verify(body, { ...headers, 'webhook-timestamp': String(Math.floor(Date.now() / 1000) - 3600) }), isInvalid);
  await assert.rejects(verifier.verify(body, { ...headers, 'webhook-signature': 'v1,AAAA v2,x' }), isInvalid);
  await assert.rejects(verifier.verify(body, {}), isInvalid);
  await assert.rejects(new WebhookVerifier({ secrets: fresh }).verify(body, headers), isInvalid);
  assert.throws(() => new WebhookVerifier({ secrets: 'whsec_AAAA' }), TypeError);
});
