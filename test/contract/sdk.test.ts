// Server SDK against a real node, and behind a proxy with failures.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Mediarooms, MediaroomsError, type MediaroomsOptions } from '../../packages/server-sdk/src/index.ts';
import { apiClient } from '../kit/answers/api-client.ts';
import { fieldsOf } from '../kit/fields.ts';
import { startFaultyProxy } from '../kit/network/faulty-proxy.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { startNode } from '../kit/processes/start-node.ts';

const refused = (status: number, headers: Record<string, string> = {}) => ({ status, headers, body: 'not now' });

async function start(t: TestContext, options: Partial<MediaroomsOptions> = {}) {
  const node = await startNode(t);
  const proxy = await startFaultyProxy(t, node.port);
  const mediarooms = new Mediarooms({ url: proxy.url, token: node.token, ...options });
  return { node, proxy, mediarooms };
}

const is = (expected: Partial<MediaroomsError>) => (error: unknown) => {
  assert.ok(error instanceof MediaroomsError, String(error));
  for (const [name, value] of Object.entries(expected)) assert.equal(error[name as keyof MediaroomsError], value, name);
  return true;
};

test('rooms, peers and their parts are created, shown, changed and ended', async (t) => {
  const { mediarooms } = await start(t);
  const { room } = await mediarooms.rooms.create({ roomId: 'standup', maxPeers: 3, externalId: 'mine' });
  assert.deepEqual([room.id, room.externalId, room.config.maxPeers], ['standup', 'mine', 3]);
  assert.equal((await mediarooms.rooms.update('standup', { maxPeers: 4 })).config.maxPeers, 4);
  const { peer, token, peer_websocket_url } = await mediarooms.peers.add('standup', { peerId: 'ada', metadata: { name: 'Ada' } });
  assert.deepEqual([peer.id, peer.status, peer.metadata], ['ada', 'disconnected', { name: 'Ada' }]);
  assert.ok(token.length > 20 && peer_websocket_url.endsWith('/socket/peer/websocket'));
  const { peer: changed } = await mediarooms.peers.update('standup', 'ada', { permissions: { publish: ['audio'] } });
  assert.deepEqual(changed.permissions.publish, ['audio']);
  assert.notEqual(await mediarooms.peers.renewToken('standup', 'ada'), '');
  await mediarooms.rooms.sendData('standup', 'note', { text: 'hello' });
  const viewer = await mediarooms.hls.createToken('standup', { expiresIn: 60 });
  assert.ok(viewer.url.includes('/hls/standup/index.m3u8?token='));
  assert.deepEqual(fieldsOf((await mediarooms.rooms.get('standup')).peers, 'id'), ['ada']);
  await mediarooms.peers.delete('standup', 'ada');
  const { rooms, incomplete } = await mediarooms.rooms.all();
  assert.deepEqual([rooms.map(({ id, peers }) => [id, peers.length]), incomplete], [[['standup', 0]], []]);
  const [only] = await mediarooms.cluster.nodes();
  assert.equal(only?.state, 'accepting');
  assert.equal((await mediarooms.cluster.health()).status, 'UP');
  assert.deepEqual(await mediarooms.recordings.list({ details: true }), { data: [], recordings: [], incomplete: [] });
  assert.deepEqual((await mediarooms.webhooks.deadLetters({ limit: 5 })).letters, []);
  await mediarooms.rooms.delete('standup');
  await assert.rejects(mediarooms.rooms.get('standup'), is({ status: 404, code: 'room_ended', reason: 'deleted' }));
});

test('an error has status, code, message and the id of its request', async (t) => {
  const { mediarooms, node } = await start(t);
  await assert.rejects(mediarooms.rooms.get('nowhere'), (error) => {
    assert.ok(error instanceof MediaroomsError && error instanceof Error);
    assert.deepEqual(
      [error.name, error.status, error.code, error.message],
      ['MediaroomsError', 404, 'room_not_found', 'Room nowhere does not exist'],
    );
    assert.ok((error.requestId ?? '').length > 5);
    return true;
  });
  const wrong = new Mediarooms({ url: node.url, token: async () => 'wrong' });
  await assert.rejects(wrong.rooms.list(), is({ status: 401, code: 'invalid_token' }));
  await assert.rejects(mediarooms.rooms.create({ maxPeers: -1 }), is({ status: 400, code: 'invalid_field', field: 'maxPeers' }));
  await assert.rejects(mediarooms.rooms.get('..'), TypeError);
  assert.throws(() => new Mediarooms({ url: 'ftp://host', token: 'x' }), TypeError);
});

test('a request that a proxy rejects temporarily is retried, not before Retry-After', async (t) => {
  const { mediarooms, proxy } = await start(t);
  proxy.next(refused(503, { 'retry-after': '1' }), refused(429, { 'retry-after': '1' }), refused(502));
  const { room } = await mediarooms.rooms.create({ roomId: 'late' });
  assert.equal(room.id, 'late');
  const [first, second, third] = proxy.asked.map(({ at }) => at);
  assert.equal(proxy.asked.length, 4);
  assert.ok((second ?? 0) - (first ?? 0) >= 990 && (third ?? 0) - (second ?? 0) >= 990);
  assert.equal(new Set(proxy.asked.map(({ body }) => JSON.parse(body).externalId)).size, 1);
});

test('a creation with a lost response is executed once', async (t) => {
  const { mediarooms, proxy } = await start(t);
  proxy.next('lose', 'half', 'lose');
  const { room } = await mediarooms.rooms.create({ maxPeers: 2 });
  assert.equal(proxy.asked.length, 4);
  proxy.next('lose');
  const { peer, token } = await mediarooms.peers.add(room.id);
  proxy.next('lose');
  const again = await mediarooms.peers.add(room.id, { externalId: peer.externalId ?? '' });
  assert.equal(again.peer.id, peer.id);
  assert.notEqual(token, '');
  const { rooms } = await mediarooms.rooms.all();
  assert.deepEqual(
    rooms.map(({ id, peers }) => [id, peers.length]),
    [[room.id, 1]],
  );
  proxy.next('lose', 'lose');
  await mediarooms.rooms.delete(room.id);
  assert.deepEqual((await mediarooms.rooms.all()).rooms, []);
});

test('a request that is not idempotent is not retried, unless it was rejected before any effect', async (t) => {
  const { mediarooms, proxy } = await start(t);
  await mediarooms.rooms.create({ roomId: 'one' });
  const before = proxy.asked.length;
  proxy.next('lose');
  await assert.rejects(mediarooms.rooms.sendData('one', 'note', 1), is({ code: 'connection_failed', status: undefined }));
  assert.equal(proxy.asked.length, before + 1);
  proxy.next(refused(503));
  await assert.rejects(mediarooms.rooms.sendData('one', 'note', 1), is({ code: 'http_error', status: 503 }));
  proxy.next(refused(429, { 'retry-after': '0' }));
  await mediarooms.rooms.sendData('one', 'note', 1);
  assert.equal(proxy.asked.length, before + 4);
});

test('a full room is reported immediately', async (t) => {
  const { mediarooms, proxy } = await start(t);
  await mediarooms.rooms.create({ roomId: 'small', maxPeers: 1 });
  await mediarooms.peers.add('small');
  const before = proxy.asked.length;
  await assert.rejects(mediarooms.peers.add('small'), is({ status: 503, code: 'room_full' }));
  assert.equal(proxy.asked.length, before + 1);
});

test('a request ends at its timeout, even before a later Retry-After, and with the signal of its caller', async (t) => {
  const { mediarooms, proxy } = await start(t);
  proxy.next('hang');
  await assert.rejects(mediarooms.rooms.list({}, { timeout: 2_000 }), is({ code: 'timed_out', status: undefined }));
  proxy.next(refused(503, { 'retry-after': '3600' }));
  await assert.rejects(mediarooms.rooms.list(), is({ code: 'http_error', status: 503, retryAfter: 3_600_000 }));
  proxy.next('hang');
  const abort = new AbortController();
  const asking = mediarooms.rooms.list({}, { signal: abort.signal });
  setTimeout(() => abort.abort(), 100);
  await assert.rejects(asking, is({ code: 'aborted', status: undefined }));
  await assert.rejects(mediarooms.rooms.list({}, { signal: AbortSignal.abort() }), is({ code: 'aborted' }));
});

test('a hanging attempt is abandoned for a retry, and a dead address for the next one', async (t) => {
  const { node, proxy } = await start(t);
  proxy.next('hang');
  const patient = new Mediarooms({ url: proxy.url, token: node.token, tryTimeout: 3_000 });
  assert.deepEqual((await patient.rooms.list()).data, []);
  assert.equal(proxy.asked.length, 2);
  const dead = await startFaultyProxy(t, 1);
  dead.next('cut', 'cut', 'cut');
  const both = new Mediarooms({ url: [dead.url, proxy.url], token: node.token });
  assert.deepEqual((await both.rooms.list()).data, []);
  assert.deepEqual((await both.rooms.list()).data, []);
  assert.equal(dead.asked.length, 1, 'later requests use the responsive address');
});

test('a file of a recording is read completely across connection losses, and a deleted one is reported', async (t) => {
  const resources = await makeResources(t);
  const id = 'r-20260101T000000000Z';
  const folder = join(resources, 'recordings', id);
  await mkdir(folder, { recursive: true });
  const bytes = randomBytes(3_000_000);
  await writeFile(join(folder, 'track.mkv'), bytes);
  const time = '2026-01-01T00:00:00.000Z';
  const origin = { peerId: 'p' };
  const track = { trackId: 't', file: 'track.mkv', type: 'video', encoding: 'vp8', origin, metadata: null, offset: 5, duration: 1000 };
  const report = { id, type: 'recording', roomId: 'r', node: 'n', state: 'finished', startTime: time, endTime: time, tracks: [track] };
  await writeFile(join(folder, 'report.json'), JSON.stringify(report));
  const node = await startNode(t, { SVC_COMPONENTS_USED: 'recording', SVC_RESOURCES_BASE_PATH: resources });
  const proxy = await startFaultyProxy(t, node.port);
  const mediarooms = new Mediarooms({ url: proxy.url, token: node.token });
  assert.deepEqual((await mediarooms.recordings.list()).data, [id]);
  assert.deepEqual(await mediarooms.recordings.report(id), report);
  // Compared with the OpenAPI document.
  assert.deepEqual((await apiClient(node.url, node.token).get(`/recording/${id}`)).body, report);
  const before = proxy.asked.length;
  proxy.next('half', refused(503), 'half', 'cut');
  const chunks: Uint8Array[] = [];
  for await (const chunk of mediarooms.recordings.read(id, 'track.mkv')) chunks.push(chunk);
  assert.ok(Buffer.concat(chunks).equals(bytes), 'the file differs');
  const ranges = proxy.asked.slice(before).map(({ headers }) => headers.range);
  assert.equal(ranges.length, 5);
  assert.equal(ranges[0], undefined);
  assert.match(ranges.at(-1) ?? '', /^bytes=\d+-$/);
  const abort = new AbortController();
  await assert.rejects(
    async () => {
      for await (const _ of mediarooms.recordings.read(id, 'track.mkv', { signal: abort.signal })) abort.abort();
    },
    is({ code: 'aborted' }),
  );
  await mediarooms.recordings.delete(id);
  await assert.rejects(mediarooms.recordings.read(id, 'track.mkv').next(), is({ status: 404, code: 'not_found' }));
});
